"""A function an agent may call, in no framework's form."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from agentscope_reme.messages import DataBlock, TextBlock
from agentscope_reme.model_faults import in_plain_words


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool tells the model: text, and blocks the model can see (images)."""

    text: str
    blocks: tuple[TextBlock | DataBlock, ...] = ()
    success: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """A function an agent may call.

    ``call`` is given with a function of a validated instance of ``args`` that never raises:
    failures are told in words with ``success=False``. The tool's own ``call`` takes what a model
    wrote, a mapping, and checks it first; arguments that do not fit are told in words too.
    """

    name: str
    description: str
    args: type[BaseModel]
    call: Callable[[Any], Awaitable[ToolOutput]]
    read_only: bool = False
    adapted: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What adapters made of it, under names of their own, so that it is made once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "call", _checking(self.name, self.args, self.call))

    def json_schema(self) -> dict[str, Any]:
        """The arguments as a JSON schema object, the way model providers want it; your own copy.

        It holds what a model needs and no more: every word of it is in the prompt of every call.
        """
        schema: dict[str, Any] = json.loads(_schema_of(self.args))
        return schema


@cache
def _schema_of(args: type[BaseModel]) -> str:
    """As text: reading it again is the quickest way to a copy."""
    schema: dict[str, Any] = _without_titles(args.model_json_schema())
    schema.pop("description", None)  # of the Python class; the tool has its own
    schema.setdefault("properties", {})
    return json.dumps(schema)


def _without_titles(schema: Any) -> Any:
    """Without the titles Pydantic makes of names, and without defaults that say nothing."""
    match schema:
        case {"properties": dict(properties), **rest}:
            kept = {name: _without_titles(field) for name, field in properties.items()}
            return {**_without_titles(rest), "properties": kept}
        case dict():
            return {
                key: _without_titles(value)
                for key, value in schema.items()
                if key != "title" and not (key == "default" and value is None)
            }
        case list():
            return [_without_titles(item) for item in schema]
    return schema


def _checking(
    name: str, args: type[BaseModel], work: Callable[[Any], Awaitable[ToolOutput]]
) -> Callable[[Any], Awaitable[ToolOutput]]:
    async def call(arguments: Any) -> ToolOutput:
        try:
            checked = args.model_validate(arguments)
        except ValidationError as error:
            return ToolOutput(_misfit(name, error), success=False)
        return await work(checked)

    return call


def _misfit(name: str, error: ValidationError) -> str:
    """Wrong arguments in words a model can act on: short, whatever it had passed."""
    told = in_plain_words(error, "arguments")
    return f"{name} was not run, its arguments do not fit: {told}. Correct them and call again."
