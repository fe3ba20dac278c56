"""``key=value`` words, typed by what a job takes; whatever does not fit is named by its key."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agentscope_reme.cli.jobs import Job
from agentscope_reme.errors import BadInput
from agentscope_reme.settings import DOTTED_KEYS, Settings

_SETTINGS: Final = "settings."
_OF_THE_MEMORY: Final = {
    "workspace_dir": str,
    "user": str,
    "language": str,
    "timezone": str,
}
"""What every job takes: which memory it works in."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was written behind the name of a job, for `ReMe` and for its call."""

    memory: Mapping[str, Any]
    settings: Settings
    call: Mapping[str, Any]


def parse(job: Job, words: Sequence[str]) -> Arguments:
    """The typed arguments of a job.

    A value is text, JSON where the argument is a list or a mapping, ``@file`` for what a file
    holds, or ``-`` for standard input.

    Raises:
        BadInput: a key is unknown, given twice, missing, or its value does not fit.
    """
    given = _split(words)
    memory = {key: given.pop(key) for key in _OF_THE_MEMORY if key in given}
    dotted = {key: given.pop(key) for key in list(given) if _is_setting(key)}
    unknown = next((key for key in given if key not in job.types), None)
    if unknown is not None:
        raise BadInput(unknown, f"`{job.name}` takes no such key", _advice(unknown, job))
    missing = [name for name in job.required if name not in given]
    if missing:
        raise BadInput(missing[0], f"`{job.name}` needs this key", f"Add {missing[0]}=...")
    settings = {key.removeprefix(_SETTINGS): _setting(key, value) for key, value in dotted.items()}
    settings.setdefault("watch", "false")  # nobody edits while one job runs
    typed = {key: _typed(key, job.types[key], value) for key, value in given.items()}
    return Arguments(memory, Settings.from_dotted(settings), typed)


def _split(words: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(word, "not of the form key=value", "Write limit=5, for example.")
        if key in given:
            raise BadInput(key, "this key is given twice", "Keep one of them.")
        given[key] = _content(key, value)
    return given


def _content(key: str, value: str) -> str:
    try:
        if value == "-":
            return sys.stdin.read()
        if value.startswith("@"):
            return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{key}={value}", f"cannot be read: {error}", "Check the file.") from error
    return value


def _typed(key: str, kind: Any, value: str) -> Any:
    if kind is Any or str in getattr(kind, "__args__", (kind,)):
        return value
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    try:
        return adapter.validate_json(value)
    except ValidationError:
        pass  # words such as `rrf` and `yes` are no JSON
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise BadInput(f"{key}={value[:80]}", fault, f"Give `{key}` as {kind}.") from error


def _is_setting(key: str) -> bool:
    return key.startswith(_SETTINGS) or key in DOTTED_KEYS


def _setting(key: str, value: str) -> Any:
    if not value.startswith(("{", "[")):
        return value  # `Settings` understands numbers and truth values as words
    try:
        return json.loads(value)
    except ValueError as error:
        raise BadInput(f"{key}={value[:80]}", f"no JSON: {error}", "Check its quotes.") from error


def _advice(key: str, job: Job) -> str:
    known = [*job.types, *_OF_THE_MEMORY, *(f"{_SETTINGS}{name}" for name in Settings.model_fields)]
    near = difflib.get_close_matches(key, known, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"It takes {', '.join([*job.types, *_OF_THE_MEMORY])} and settings.<name>."
