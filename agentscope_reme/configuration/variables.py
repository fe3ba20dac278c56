"""``${VAR}`` and ``${VAR:-default}``, the variables that configure by themselves, and ``.env``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentscope_reme.configuration.given import Given, Layer, Plain
from agentscope_reme.configuration.given import Path as KeyPath
from agentscope_reme.errors import BadInput

_BY_THEMSELVES: Final = {
    "EMBEDDING_MODEL_NAME": ("embedding", "model_name"),
    "EMBEDDING_API_KEY": ("embedding", "api_key"),
    "EMBEDDING_BASE_URL": ("embedding", "base_url"),
    "EMBEDDING_DIMENSIONS": ("embedding", "dimensions"),
    "REME_LLM_BACKEND": ("llm", "backend"),
    "REME_LLM_MODEL_NAME": ("llm", "model_name"),
    "REME_LLM_API_KEY": ("llm", "api_key"),
    "REME_LLM_BASE_URL": ("llm", "base_url"),
    "REME_EMBEDDING_BACKEND": ("embedding", "backend"),
    "REME_EMBEDDING_MODEL_NAME": ("embedding", "model_name"),
    "REME_EMBEDDING_API_KEY": ("embedding", "api_key"),
    "REME_EMBEDDING_BASE_URL": ("embedding", "base_url"),
    "REME_EMBEDDING_DIMENSIONS": ("embedding", "dimensions"),
    "TAVILY_API_KEY": ("chat", "tavily_api_key"),
    "TAVILY_BASE_URL": ("chat", "tavily_base_url"),
}
"""Variables and what they set; where two set the same, the later line wins."""

_EMBEDDING_SERVICE: Final = "https://dashscope.aliyuncs.com/compatible-mode/v1"

_REFERENCE: Final = re.compile(
    r"\$\$|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<broken>\$\{)"
)
_LINE: Final = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*
        (?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^'"].*?)?)
        \s*(?:(?<=\s)\#.*)?""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Variables:
    """The environment, and below it what a ``.env`` says.

    Attributes:
        environ: the environment; it wins.
        lines: by name, what the file says and in which line.
    """

    environ: Mapping[str, str]
    lines: Mapping[str, Given] = field(default_factory=dict)

    def find(self, name: str) -> Given | None:
        """A variable that is set, be it empty."""
        if name in self.environ:
            return Given(self.environ[name], f"environment variable {name}")
        line = self.lines.get(name)
        return Given(line.value, f"{line.origin} ({name})") if line else None

    def layer(self) -> Layer:
        """What the variables that configure by themselves say; empty ones say nothing."""
        found: dict[KeyPath, Given] = {}
        for name, path in _BY_THEMSELVES.items():
            given = self.find(name)
            if given is not None and given.value.strip():
                found[path] = Given(given.value.strip(), given.origin)
        return found

    def documented_defaults(self) -> Layer:
        """What the documents promise of variables that are set; anything else said is stronger."""
        given = self.find("EMBEDDING_API_KEY")
        if given is None or not given.value.strip():
            return {}
        return {
            ("embedding", "base_url"): Given(_EMBEDDING_SERVICE, "default of EMBEDDING_BASE_URL")
        }

    def replaced(self, given: Given) -> Given:
        """A value of a file with its references replaced; ``$$`` is a dollar sign.

        Raises:
            BadInput: a variable is not set and has no default, or a reference is broken.
        """
        used: list[str] = []
        value = self._replaced(given.value, given.origin, used)
        origin = f"{given.origin} ({', '.join(used)})" if used else given.origin
        return Given(value, origin)

    def _replaced(self, value: Any, origin: str, used: list[str]) -> Any:
        match value:
            case Plain(text):
                return Plain(self._text(text, origin, used))
            case str():
                return self._text(value, origin, used)
            case list():
                return [self._replaced(item, origin, used) for item in value]
            case dict():
                return {key: self._replaced(item, origin, used) for key, item in value.items()}
            case _:
                return value

    def _text(self, text: str, origin: str, used: list[str]) -> str:
        return _REFERENCE.sub(lambda match: self._reference(match, origin, used), text)

    def _reference(self, match: re.Match[str], origin: str, used: list[str]) -> str:
        if match["broken"]:
            raise BadInput(  # without the text around it: that may be a key
                "${", f"a broken reference ({origin})", "Write ${NAME:-default}, or $$."
            )
        name, default = match["name"], match["default"]
        if name is None:
            return "$"
        given = self.find(name)
        if given is not None and (given.value or default is None):
            used.append(given.origin)
            return str(given.value)
        if default is None:
            raise BadInput(
                f"${{{name}}}",
                f"the variable is not set ({origin})",
                f"Set {name}, or write ${{{name}:-default}}.",
            )
        return default


def dotenv(file: Path) -> Mapping[str, Given]:
    """The lines of a ``.env``, by the name of their variable; nothing when there is no file.

    ``NAME=value``, ``export NAME=value``, quotes of both kinds, comments behind ``#``.

    Raises:
        BadInput: it cannot be read, or a line is none of these.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            str(file), f"cannot be read: {error}", "Make it a text file in UTF-8."
        ) from error
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        match = _LINE.fullmatch(written)
        if match is None:
            raise BadInput(  # without the line: it may hold a key
                f"{file.name}:{number}", "not of the form NAME=value", "Correct the line."
            )
        found[match["name"]] = Given(_value(match), f"{file.name}:{number}")
    return found


def _value(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), match["double"])
    bare = match["bare"] or ""
    return "" if bare.startswith("#") else bare
