"""``key=value`` words, typed by what a job takes; whatever does not fit is named by its key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import formatannotation
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from agentscope_reme.configuration import Configuration, load
from agentscope_reme.configuration.schema import all_keys, is_key
from agentscope_reme.configuration.words import split
from agentscope_reme.errors import BadInput
from agentscope_reme.jobs import Job
from agentscope_reme.model_faults import in_plain_words

_CONFIG: Final = "config"
_WORDS: Final[dict[Any, str]] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was written behind the name of a job: the configuration it is for, and its call."""

    configuration: Configuration
    call: Mapping[str, Any]


def parse(job: Job, words: Sequence[str]) -> Arguments:
    """The typed arguments of a job; everything else it was given is configuration.

    Raises:
        BadInput: a key is unknown, given twice, missing, or its value does not fit.
    """
    given = split(words)
    call = {key: given.pop(key) for key in list(given) if key in job.types}
    unknown = next((key for key in given if key != _CONFIG and not is_key(key)), None)
    if unknown is not None:
        raise BadInput(unknown, f"`{job.name}` takes no such key", _advice(unknown, job))
    missing = [name for name in job.required if name not in call]
    if missing:
        raise BadInput(missing[0], f"`{job.name}` needs this key", f"Add {missing[0]}=...")
    typed = {key: _typed(key, job.types[key], value) for key, value in call.items()}
    return Arguments(load(given, env_file=True), typed)


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
    raise BadInput(f"{key}={value[:80]}", told, f"Give `{key}` as {_in_words(kind)}.")


def _in_words(kind: Any) -> str:
    """What a key takes, for people who do not read annotations."""
    choices = [choice for choice in _choices(kind) or (kind,) if choice is not NoneType]
    return " or ".join(_one_in_words(choice) for choice in choices)


def _one_in_words(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return " or ".join(str(word) for word in get_args(kind))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping in JSON, or @file"
    if isinstance(origin, type) and issubclass(origin, Collection):
        return "a list in JSON, or @file"
    return _WORDS.get(kind) or formatannotation(kind)


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


def _advice(key: str, job: Job) -> str:
    near = difflib.get_close_matches(key, [*job.types, *all_keys()], n=1)
    if near:
        return f"Did you mean {near[0]}?"
    takes = ", ".join(job.types)
    return f"It takes {takes or 'no key of its own'}, and the keys of the configuration."
