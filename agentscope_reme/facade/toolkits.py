"""Memory tools for an agent: which of them, and into which toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentscope_reme.agentscope_line import installed_line, require_line
from agentscope_reme.errors import BadInput
from agentscope_reme.ports import Tool


def chosen(tools: Sequence[Tool], include: Sequence[str] | None, read_only: bool) -> list[Tool]:
    """Those of the tools that are wanted.

    Args:
        tools: all there are.
        include: only these names; all of them without it.
        read_only: only tools that change nothing.

    Raises:
        BadInput: `include` is no list of names, or names a tool that does not exist.
    """
    if include is not None and not (
        isinstance(include, list | tuple | set | frozenset)
        and all(isinstance(name, str) for name in include)
    ):
        raise BadInput(include, "`include` must be a list of names", "Pass a list of strings.")
    known = {tool.name for tool in tools}
    wanted = known if include is None else set(include)
    if unknown := sorted(wanted - known):
        raise BadInput(unknown, "no such tools", f"Choose among {sorted(known)}.")
    return [tool for tool in tools if tool.name in wanted and (tool.read_only or not read_only)]


def register(toolkit: Any, tools: Sequence[Tool], *, instead: str) -> Any:
    """Give a toolkit of the installed AgentScope some tools; an awaitable on 2.x.

    Args:
        toolkit: of the installed line.
        tools: what it shall hold.
        instead: the call to use where no AgentScope is installed.

    Raises:
        BadInput: this is no toolkit.
        ImportError: no AgentScope is installed.
    """
    if installed_line() == 2:
        from agentscope_reme.agentscope_v2 import tools as second

        second.refuse_other_toolkit(toolkit)
        return second.register_tools(toolkit, tools)
    require_line(1, "register_tools", instead)
    from agentscope_reme.agentscope_v1 import tools as first

    return first.register_tools(toolkit, tools)
