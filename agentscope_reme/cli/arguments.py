"""``key=value`` words, typed by what a job takes; whatever does not fit is named by its key."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import formatannotation
from pathlib import Path
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from agentscope_reme.cli.jobs import Job
from agentscope_reme.errors import BadInput
from agentscope_reme.model_faults import in_plain_words
from agentscope_reme.settings import DOTTED_KEYS, Settings

_SETTINGS: Final = "settings."
_STANDARD_INPUT: Final = "-"
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
    holds, or ``-`` for standard input. ``@@text`` is the text ``@text``.

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
        given[key] = value
    if [value for value in given.values() if value == _STANDARD_INPUT][1:]:
        raise BadInput("-", "standard input can be read once only", "Use @file for the others.")
    return {key: _content(key, value) for key, value in given.items()}


def _content(key: str, value: str) -> str:
    if value.startswith("@@"):
        return value[1:]
    try:
        if value == _STANDARD_INPUT:
            return _standard_input().decode("utf-8")
        if value.startswith("@"):
            return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or no path at all
        advice = "Check it; for a text that begins with @ write @@."
        raise BadInput(f"{key}={value}", f"cannot be read: {error}", advice) from error
    return value


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def _typed(key: str, kind: Any, value: str) -> Any:
    if kind is Any or kind is str or str in _choices(kind):
        return value
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    try:
        return adapter.validate_python(_of_json(value))
    except (ValueError, RecursionError) as error:
        fault = error
    if not value.lstrip().startswith(("[", "{")) and not _is_collection(kind):
        try:
            return adapter.validate_python(value)  # words such as `rrf` and `yes` are no JSON
        except ValidationError as error:
            fault = error
    told = in_plain_words(fault, "value") if isinstance(fault, ValidationError) else str(fault)
    raise BadInput(f"{key}={value[:80]}", told, f"Give `{key}` as {formatannotation(kind)}.")


def _of_json(value: str) -> Any:
    return json.loads(value, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _choices(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; a list of texts is none of them."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


def _is_collection(kind: Any) -> bool:
    found = [get_origin(choice) for choice in (_choices(kind) or (kind,))]
    return any(isinstance(one, type) and issubclass(one, Collection) for one in found)


def _is_setting(key: str) -> bool:
    return key.startswith(_SETTINGS) or key in DOTTED_KEYS


def _setting(key: str, value: str) -> Any:
    if not value.startswith(("{", "[")):
        return value  # `Settings` understands numbers and truth values as words
    try:
        return _of_json(value)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{key}={value[:80]}", f"no JSON: {error}", "Check its quotes.") from error


def _advice(key: str, job: Job) -> str:
    known = [*job.types, *_OF_THE_MEMORY, *(f"{_SETTINGS}{name}" for name in Settings.model_fields)]
    near = difflib.get_close_matches(key, known, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"It takes {', '.join([*job.types, *_OF_THE_MEMORY])} and settings.<name>."
