"""Memory tools as AgentScope 2.x takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentscope.message import TextBlock, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision
from agentscope.tool import ToolBase, ToolChunk, Toolkit

from agentscope_reme.agentscope_v2.messages import to_scope_data
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import Tool, ToolOutput

_SESSION: Final = "session_id"
_SELDOM: Final = frozenset(
    {"stat", "frontmatter_read", "frontmatter_update", "frontmatter_delete"}
    | {"daily_list", "daily_write"}
)


class MemoryTool(ToolBase):
    """One memory tool; always allowed, because the tool itself holds the caller's rights.

    Without that decision AgentScope would ask the user before the first memory write and park the
    reply. In AgentScope's ``explore`` mode only read-only tools run.
    """

    def __init__(self, tool: Tool, *, in_its_session: bool = False) -> None:
        super().__init__()
        self.name = tool.name
        self.description = tool.description
        self.input_schema = tool.json_schema()
        self.is_state_injected = in_its_session and _SESSION in self.input_schema["properties"]
        if self.is_state_injected:  # AgentScope says which one it is: a model could name any
            del self.input_schema["properties"][_SESSION]
        self.is_read_only = tool.read_only
        self.is_concurrency_safe = tool.read_only
        self._tool = tool

    async def check_permissions(
        self, tool_input: dict[str, Any], context: PermissionContext
    ) -> PermissionDecision:
        """Allow: what the tool may touch was decided by code when it was made."""
        return PermissionDecision(
            behavior=PermissionBehavior.ALLOW, message=f"{self.name} is a memory tool."
        )

    async def call(self, *args: Any, **kwargs: Any) -> ToolChunk:
        """Run the tool; wrong arguments and failures are told in words, never raised."""
        state = kwargs.pop("_agent_state", None)
        if self.is_state_injected:
            kwargs[_SESSION] = None if state is None else str(state.session_id)
        return _chunk(await self._tool.call(kwargs))


def as_toolbase(tool: Tool, *, in_its_session: bool = False) -> ToolBase:
    """A memory tool for ``Toolkit(tools=[...])`` of AgentScope 2.0.3 and later.

    Args:
        tool: the tool, in no framework's form.
        in_its_session: take a ``session_id`` among its arguments from the state of the agent that
            calls it, instead of from the model.
    """
    return MemoryTool(tool, in_its_session=in_its_session)


def usual(tools: Sequence[Tool]) -> list[Tool]:
    """The tools without those for front matter and single days.

    Where memory is recalled as well, recall and the daily cards do their work, and every tool costs
    about 100 tokens of every prompt.
    """
    return [tool for tool in tools if tool.name not in _SELDOM]


def refuse_other_toolkit(toolkit: object) -> None:
    """Refuse what tools cannot be registered in.

    Raises:
        BadInput: this is no toolkit.
    """
    if not isinstance(toolkit, Toolkit):
        raise BadInput(toolkit, "this is no toolkit", "Pass a `Toolkit` of AgentScope 2.x.")


async def register_tools(toolkit: Toolkit, tools: Sequence[Tool]) -> list[str]:
    """Put memory tools into a toolkit.

    A name the toolkit already has is left alone, so calling this again changes nothing and a
    tool of the application is never replaced.

    Args:
        toolkit: the toolkit of one or several agents.
        tools: the memory tools, as `MemoryService.tools` gives them.

    Returns:
        The names that now run this library's tools, added now or before.

    Raises:
        BadInput: this is no toolkit.
    """
    refuse_other_toolkit(toolkit)
    if not _missing(toolkit, tools):
        return _ours(toolkit, tools)  # at every reply: no MCP server is asked for its tools
    groups = [group.name for group in toolkit.tool_groups]
    schemas = await toolkit.get_tool_schemas(groups)
    taken = {schema["function"]["name"] for schema in schemas}
    # Looked at again after the pause: another agent may share this toolkit.
    for tool in _missing(toolkit, tools):
        if tool.name not in taken:
            await _add(toolkit, _shared(tool))
    return _ours(toolkit, tools)


def _shared(tool: Tool) -> ToolBase:
    """One for all toolkits: an agent service makes a toolkit for every turn."""
    made = tool.adapted.get(__name__)
    if not isinstance(made, MemoryTool):
        made = tool.adapted[__name__] = MemoryTool(tool, in_its_session=True)
    return made


def _ours(toolkit: Toolkit, tools: Sequence[Tool]) -> list[str]:
    present = [tool for group in toolkit.tool_groups for tool in group.tools]
    ours = {tool.name for tool in present if isinstance(tool, MemoryTool)}
    return [tool.name for tool in tools if tool.name in ours]


def _missing(toolkit: Toolkit, tools: Sequence[Tool]) -> list[Tool]:
    present = {tool.name for group in toolkit.tool_groups for tool in group.tools}
    return [tool for tool in tools if tool.name not in present]


async def _add(toolkit: Toolkit, tool: ToolBase) -> None:
    if hasattr(toolkit, "add_tool"):
        await toolkit.add_tool(tool)
        return
    # AgentScope 2.0.3 has no call for it; the first group is the one that is always active.
    basic = toolkit.tool_groups[0]
    basic.tools = [*basic.tools, tool]


def _chunk(output: ToolOutput) -> ToolChunk:
    blocks = [
        to_scope_data(block) if isinstance(block, DataBlock) else TextBlock(text=block.text)
        for block in output.blocks
    ]
    state = ToolResultState.SUCCESS if output.success else ToolResultState.ERROR
    return ToolChunk(content=[TextBlock(text=output.text), *blocks], state=state)
