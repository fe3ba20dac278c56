"""What a job takes and answers, as JSON Schema; and the check that arguments fit."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from agentscope_reme.errors import BadInput
from agentscope_reme.files.yaml_values import MAX_DEPTH
from agentscope_reme.jobs import Job, jobs, meant
from agentscope_reme.model_faults import in_plain_words

_OF_THE_CALLER: Final = {"auto_memory_cc": frozenset({"projects_dir"})}
"""Arguments that name places outside the memory; who asks from elsewhere does not get to choose."""


def takes(job: Job) -> list[str]:
    """The arguments of a job that a service accepts."""
    withheld = _OF_THE_CALLER.get(job.name, frozenset())
    return [name for name in job.types if name not in withheld]


class AsSent(GenerateJsonSchema):
    """Schemas of answers say that every field is there, for none is ever left out."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Whether a field is always there."""
        return self.mode == "serialization" or super().field_is_required(field, total)


@cache
def arguments_of(name: str) -> type[BaseModel]:
    """The arguments of a job as a type; what it does not know it refuses."""
    job = jobs()[name]
    fields: dict[str, Any] = {}
    for key in takes(job):
        default = job.defaults.get(key, ...)
        fields[key] = (job.types[key], Field(default, description=job.described.get(key)))
    title = "".join(part.title() for part in name.split("_")) + "Arguments"
    return create_model(title, __config__=ConfigDict(extra="forbid", strict=True), **fields)


def checked(job: Job, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the call of `ReMe` wants them: those that were given.

    Raises:
        BadInput: one is unknown, missing or does not fit; its key is named.
    """
    unknown = [key for key in arguments if key not in takes(job)]
    if unknown:
        advice = _advice(unknown[0], job, arguments)
        raise BadInput(unknown[0], f"`{job.name}` takes no such key", advice)
    _refuse_no_json(arguments)
    try:
        fitting = arguments_of(job.name).model_validate(dict(arguments))
    except ValidationError as error:
        key = str(error.errors(include_url=False)[0]["loc"][0])
        given = arguments.get(key)
        if key not in arguments:
            raise BadInput(key, f"`{job.name}` needs this key", f"Add `{key}`.") from error
        remedy = f"See what `{job.name}` takes in /openapi.json."
        raise BadInput(given, in_plain_words(error, key), remedy) from error
    return {key: getattr(fitting, key) for key in arguments}


def _refuse_no_json(arguments: Mapping[str, Any]) -> None:
    """Parsers let pass what is no JSON: half characters, NaN, nesting without end."""
    for key, value in arguments.items():
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            reason = f"its value is no JSON: {str(error)[:100]}"
            raise BadInput(key, reason, "Send Unicode text and finite numbers.") from error
        if _depth(value) > MAX_DEPTH:
            raise BadInput(key, f"its value nests deeper than {MAX_DEPTH}", "Send it flatter.")


def _depth(value: Any) -> int:
    """How deep lists and objects nest; counted no further than refused anyway."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1
    return depth


def _advice(key: str, job: Job, given: Collection[str]) -> str:
    likely = meant(key, job, given, takes(job))
    if likely is not None:
        return f"Did you mean {likely}?"
    return f"It takes {', '.join(takes(job)) or 'nothing'}."
