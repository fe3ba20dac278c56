"""A host's toolkit functions as tools of a background run, which has a toolkit of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from agentscope.message import Msg, ToolUseBlock
from agentscope.tool import Toolkit
from pydantic import BaseModel, ConfigDict

from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.messages import DataBlock, TextBlock
from agentscope_reme.ports import Tool, ToolOutput


def with_host_tools(own: Sequence[Tool], toolkit: Toolkit | None) -> list[Tool]:
    """Our tools, then the active functions of a host's toolkit under names we do not use.

    The toolkit itself is not touched: the host's agent may be using it at this moment.
    """
    taken = {tool.name for tool in own}
    schemas = toolkit.get_json_schemas() if toolkit is not None else []
    found = [_host_tool(toolkit, schema["function"]) for schema in schemas]
    return [*own, *(tool for tool in found if tool.name not in taken)]


class _AnyArguments(BaseModel):
    """Whatever the model wrote; the host's function checks it."""

    model_config = ConfigDict(extra="allow")


def _host_tool(toolkit: Any, function: Mapping[str, Any]) -> Tool:
    name = str(function["name"])

    async def call(arguments: BaseModel) -> ToolOutput:
        given = dict(arguments.model_extra or {})
        use = ToolUseBlock(type="tool_use", id=uuid4().hex, name=name, input=given)
        try:
            answers = [answer async for answer in await toolkit.call_tool_function(use)]
        except Exception as error:  # noqa: BLE001 - a host's function: the run goes on without it
            return ToolOutput(f"{name} failed: {type(error).__name__}: {error}", success=False)
        return _output(answers[-1] if answers else None)

    return Tool(name, str(function.get("description") or ""), _arguments(name, function), call)


def _arguments(name: str, function: Mapping[str, Any]) -> type[BaseModel]:
    given = dict(function.get("parameters") or {"type": "object"})

    def as_given(schema: dict[str, Any]) -> None:
        schema.clear()
        schema.update(given)

    config = ConfigDict(extra="allow", json_schema_extra=as_given)
    return type(f"{name}Arguments", (_AnyArguments,), {"model_config": config})


def _output(response: Any) -> ToolOutput:
    """What a response says; chunks of 1.x accumulate, so the last one says everything."""
    blocks = () if response is None else to_neutral(Msg("tool", response.content, "user")).blocks
    seen = tuple(block for block in blocks if isinstance(block, TextBlock | DataBlock))
    text = "\n".join(block.text for block in seen if isinstance(block, TextBlock))
    return ToolOutput(text, tuple(block for block in seen if isinstance(block, DataBlock)))
