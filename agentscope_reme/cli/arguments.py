"""``key=value`` words, typed by what a job takes; whatever does not fit is named by its key."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agentscope_reme.cli.kinds import choices, in_words, is_collection
from agentscope_reme.configuration import Configuration, load
from agentscope_reme.configuration.schema import all_keys, is_key
from agentscope_reme.configuration.words import split
from agentscope_reme.errors import BadInput
from agentscope_reme.jobs import Job, meant
from agentscope_reme.model_faults import in_plain_words

_CONFIG: Final = "config"


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
        raise BadInput(unknown, f"`{job.name}` takes no such key", _advice(unknown, job, call))
    missing = [name for name in job.required if name not in call]
    if missing:
        raise BadInput(missing[0], f"`{job.name}` needs this key", f"Add {missing[0]}=...")
    typed = {key: _typed(key, job.types[key], value) for key, value in call.items()}
    return Arguments(load(given, env_file=True), typed)


def _typed(key: str, kind: Any, value: str) -> Any:
    if kind is Any or kind is str or str in choices(kind):
        return value
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    try:
        return adapter.validate_python(_of_json(value))
    except (ValueError, RecursionError) as error:
        fault = error
    if not value.lstrip().startswith(("[", "{")) and not is_collection(kind):
        try:
            return adapter.validate_python(value)  # words such as `rrf` and `yes` are no JSON
        except ValidationError as error:
            fault = error
    told = in_plain_words(fault, "") if isinstance(fault, ValidationError) else str(fault)
    raise BadInput(f"{key}={value[:80]}", told, _remedy(key, kind, value))


def _remedy(key: str, kind: Any, value: str) -> str:
    if is_collection(kind) and Path(value).suffix and "\0" not in value and Path(value).is_file():
        return f"Write {key}=@{value} to take it from that file."
    return f"Give `{key}` as {in_words(kind)}."


def _of_json(value: str) -> Any:
    return json.loads(value, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _advice(key: str, job: Job, given: Collection[str]) -> str:
    likely = meant(key, job, given, [*job.types, *all_keys()])
    if likely is not None:
        return f"Did you mean {likely}?"
    takes = ", ".join(job.types)
    return f"It takes {takes or 'no key of its own'}, and the keys of the configuration."
