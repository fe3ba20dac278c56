"""Puts together what file, environment and command line say, the nearer the stronger."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agentscope_reme.configuration.given import Given, Layer, Plain, dotted, overlaid
from agentscope_reme.configuration.given import Path as KeyPath
from agentscope_reme.configuration.schema import (
    is_heading,
    known,
    nested,
    refusal,
    takes_json,
)
from agentscope_reme.configuration.sections import (
    COMMAND_LINE,
    Configuration,
    with_origins,
)
from agentscope_reme.configuration.variables import Variables, dotenv
from agentscope_reme.errors import BadInput
from agentscope_reme.settings import Settings, why_refused

FILE: Final = "reme.yaml"
"""Read where it lies in the current directory, unless ``config=`` names another."""

_DOTENV: Final = ".env"


def load(
    words: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    built_in: str = "default",
    env_file: bool = False,
) -> Configuration:
    """The configuration: command line over environment over ``.env`` over file over default.

    Nothing is written, ``os.environ`` neither.

    Args:
        words: dotted keys as they were written behind the command, such as
            ``{"llm.model_name": "m"}``; ``config`` names a file, ``cli`` or ``default``.
        environ: what to read instead of the environment.
        folder: what to take for the current directory.
        built_in: what holds when there is neither ``config`` nor a ``reme.yaml``.
        env_file: whether ``./.env`` is read; only the command line asks for it.

    Raises:
        BadInput: a key is unknown or its value does not fit, a file is missing or broken, a
            variable is not set. The message names key, file and line, never a secret.
    """
    given = dict(words or {})
    home = Path.cwd() if folder is None else Path(folder)
    variables = Variables(
        os.environ if environ is None else environ, dotenv(home / _DOTENV) if env_file else {}
    )
    written = _checked(_file_layer(given.pop("config", None), home, built_in))
    values = overlaid(
        {} if ("embedding", "backend") in written else variables.documented_defaults(),
        written,
        variables.layer(),
        _checked({tuple(key.split(".")): _written(key, value) for key, value in given.items()}),
    )
    return _validated(
        {
            path: variables.replaced(one) if written.get(path) is one else one
            for path, one in values.items()
        }
    )


def _file_layer(config: Any, home: Path, built_in: str) -> Layer:
    if config is None:
        config = FILE if (home / FILE).exists() else built_in
        if config == "default":
            return {}
    from agentscope_reme.configuration.reading import read  # YAML costs 10 ms

    return read(str(config), home)


def _written(key: str, value: Any) -> Given:
    if not isinstance(value, str):
        return Given(value, COMMAND_LINE)
    if not value.startswith(("{", "[")) or not takes_json(key):
        return Given(Plain(value), COMMAND_LINE)
    try:
        return Given(json.loads(value), COMMAND_LINE)
    except (ValueError, RecursionError) as error:
        # Without the value: options of stores and models hold keys.
        raise BadInput(key, f"no JSON: {error}", "Check its quotes.") from error


def _checked(layer: Layer) -> dict[KeyPath, Given]:
    found: dict[KeyPath, Given] = {}
    for path, given in layer.items():
        if is_heading(path, given):
            continue
        short = known(path, given)
        if short in found:
            raise BadInput(
                dotted(path),
                f"given under two names ({found[short].origin}, {given.origin})",
                "Use one of them.",
            )
        found[short] = given
    return found


def _validated(values: Mapping[KeyPath, Given]) -> Configuration:
    origins = {dotted(path): given.origin for path, given in values.items()}
    tree = nested(values)
    tree["settings"] = _settings(tree.get("settings", {}), origins)
    try:
        made = Configuration(**tree)
    except ValidationError as error:
        raise refusal(error, origins) from None  # its text repeats values, perhaps secrets
    return with_origins(made, origins)


def _settings(tree: dict[str, Any], origins: Mapping[str, str]) -> Settings:
    try:
        return Settings(**tree)
    except BadInput as error:
        cause = error.__cause__
        if not isinstance(cause, ValidationError):
            raise
        key = "settings." + ".".join(map(str, cause.errors()[0]["loc"]))
        origin = next((origins[one] for one in origins if key.startswith(one)), "")
        raise BadInput(
            key, f"it does not fit: {why_refused(cause)} ({origin})", f"Correct `{key}`."
        ) from None
