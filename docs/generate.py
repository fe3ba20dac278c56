"""Writes `docs/settings.md` and `docs/api.md`; run it when a call, a result or a setting changes.

Calls and results are read from the source, not imported: the pages are the same on both AgentScope
lines, and without any.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from agentscope_reme.settings import Settings

DOCS: Final = Path(__file__).resolve().parent
PACKAGE: Final = DOCS.parent / "agentscope_reme"
_SOURCES: Final = (
    *("reme.py", "vector_reme.py", "facade/*.py", "copaw/*.py"),
    *("results/*.py", "schema.py", "typed/nodes.py"),
)
_NOTE: Final = "<!-- written by docs/generate.py -->"
_UNITS: Final = {  # by how the name of a setting ends
    "forget_after_days": "days, by layer",
    **{"_bytes": "bytes", "_byte_size": "bytes", "_vectors": "vectors", "_num": "images"},
    **{"_ms": "milliseconds", "_seconds": "seconds", "_hours": "hours", "_days": "days"},
    **{"_tokens": "estimated tokens", "_threshold": "estimated tokens", "_turns": "replies"},
    **{"_iters": "model calls", "_calls": "model calls", "_at": "`HH:MM`", "_helpers": "processes"},
}

_Call = ast.FunctionDef | ast.AsyncFunctionDef


def pages() -> dict[str, str]:
    """The pages by file name."""
    return {"settings.md": _settings_page(), "api.md": _Reference().page()}


def _settings_page() -> str:
    [body] = [node.body for node in _parsed("settings.py").body if isinstance(node, ast.ClassDef)]
    told = {
        ast.unparse(field.target): ast.literal_eval(text.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }
    rows = [
        *("# Settings", "", _NOTE, ""),
        "`ReMe(..., settings=Settings(recall_budget_tokens=800))`. Unknown names are refused.",
        "A changed value takes effect at the next start.",
        *("", "| name | default | unit | meaning |", "|---|---|---|---|"),
    ]
    for name, field in Settings.model_fields.items():
        default = repr(field.get_default(call_default_factory=True))
        unit = next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")
        rows.append(f"| `{name}` | `{default}` | {unit} | {_plain(told[name])} |")
    return "\n".join([*rows, ""])


class _Reference:
    def __init__(self) -> None:
        self._heading: dict[str, str] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._mentioned: list[str] = []
        for pattern in _SOURCES:
            for place in sorted(PACKAGE.glob(pattern)):
                tree = _parsed(place)
                for node in tree.body:
                    if isinstance(node, ast.ClassDef):
                        self._classes[node.name] = node
                        self._heading[node.name] = re.split("[:.]", _sentence(tree))[0]

    def page(self) -> str:
        rows = ["# Calls and results", "", _NOTE, ""]
        rows += ["Arguments and errors: `help(ReMe.search)`. Every `...Result` has `success: bool`"]
        rows += ["and `answer: str`, which alone tells what happened, and the fields below.", ""]
        for facade in ("ReMe", "ReMeCopaw", "VectorReMe"):
            rows += [f"## {facade}", "", _sentence(self._classes[facade]), "", *self._calls(facade)]
        rows += ["## Results", ""]
        for name in self._mentioned:  # which grows: results are made of others
            rows += self._result(name)
        return "\n".join(rows)

    def _ancestors(self, name: str) -> list[str]:
        bases = self._classes[name].bases if name in self._classes else []
        found = [name, *(one for base in bases for one in self._ancestors(ast.unparse(base)))]
        return list(dict.fromkeys(found))

    def _calls(self, facade: str) -> Iterator[str]:
        seen: set[str] = set()
        for owner in filter(self._classes.__contains__, self._ancestors(facade)):
            nodes = [node for node in self._classes[owner].body if isinstance(node, _Call)]
            calls = [node for node in nodes if _is_public(node) and node.name not in seen]
            if calls and owner != facade:
                yield from (f"### {self._heading[owner]}", "")
            for call in calls:
                seen.add(call.name)
                said = _sentence(call) or f"Each argument: `help({facade})`."
                yield f"- `{_signature(call, facade)}`<br>{said}"
                self._mention(call.returns)
            yield from [""] * bool(calls)

    def _result(self, name: str) -> Iterator[str]:
        yield from (f"### {name}", "", _sentence(self._classes[name]), "")
        fields = [node for node in self._classes[name].body if isinstance(node, ast.AnnAssign)]
        own = [f"`{ast.unparse(one.target)}: {ast.unparse(one.annotation)}`" for one in fields]
        for field in fields:
            self._mention(field.annotation)
        above = self._ancestors(name)[1]
        more = [f"and those of `{above}`"] if above.endswith("Result") and above != "Result" else []
        yield from (", ".join(own + more), "")

    def _mention(self, annotation: ast.expr | None) -> None:
        for name in re.findall(r"\w+", ast.unparse(annotation) if annotation else ""):
            known = name in self._classes and "BaseModel" in self._ancestors(name)
            if known and name not in ("Result", *self._mentioned):
                self._mentioned.append(name)


_MODULES: Final = re.compile(r"\b(?:agentscope_reme|context)\.(?=[A-Z])")
"""Before names in annotations: readers import them from the package."""


def _signature(call: _Call, facade: str) -> str:
    given = re.sub(r"^self(, )?", "", re.sub(r"(?<=[\w\]])=", " = ", ast.unparse(call.args)))
    given = _MODULES.sub("", given)
    returned = _MODULES.sub("", ast.unparse(call.returns)) if call.returns else "Any"
    if call.name == "__init__":
        return f"{facade}({given})"
    if any(ast.unparse(mark) == "property" for mark in call.decorator_list):
        return f"{call.name}: {returned}"
    return f"{'await ' * isinstance(call, ast.AsyncFunctionDef)}{call.name}({given}) -> {returned}"


def _is_public(call: _Call) -> bool:
    marks = [ast.unparse(mark) for mark in call.decorator_list]
    repeated = any(mark == "overload" or mark.endswith(".setter") for mark in marks)
    return call.name == "__init__" or not (call.name.startswith("_") or repeated)


def _sentence(node: ast.Module | ast.ClassDef | _Call) -> str:
    text = (ast.get_docstring(node) or "").partition("\n\n")[0]
    found = re.match(r".*?[.!?](?=\s|$)", text, flags=re.S)
    return _plain(found[0] if found else text)


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def _parsed(place: str | Path) -> ast.Module:
    return ast.parse((PACKAGE / place).read_text("utf-8"))


if __name__ == "__main__":
    for page, words in pages().items():
        (DOCS / page).write_text(words, encoding="utf-8")
