"""Memory tools that are put over a toolkit's own and taken off again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1.tools import register_tools
from agentscope_reme.ports import Tool


class ToolLayer:
    """The tools one call put into a toolkit.

    Several layers may lie over each other, and may be removed in any order: under each name the
    newest that is left is what the agent runs, and below all of them what the toolkit had itself.

    Args:
        toolkit: the toolkit of an agent, or of several.
        tools: what to offer; see `register_tools`.

    Attributes:
        names: the names that now run this layer's tools.
    """

    def __init__(self, toolkit: Toolkit, tools: Sequence[Tool]) -> None:
        self._toolkit = toolkit
        before = {tool.name: toolkit.tools.get(tool.name) for tool in tools}
        self.names = register_tools(toolkit, tools)
        self._entries = {name: toolkit.tools[name] for name in self.names}
        stacks = _stacks.setdefault(toolkit, {})
        for name, entry in self._entries.items():
            stack = stacks.setdefault(name, [])
            if not stack or stack[-1] is not before[name]:
                stack[:] = [before[name]]  # the application changed the tool since the last layer
            stack.append(entry)

    def remove(self) -> None:
        """Take the tools off; calling it again does nothing."""
        stacks = _stacks.get(self._toolkit, {})
        for name, entry in self._entries.items():
            stack = [kept for kept in stacks.get(name, [None]) if kept is not entry] or [None]
            stacks[name] = stack
            if self._toolkit.tools.get(name) is entry:
                self._toolkit.remove_tool_function(name)
                if stack[-1] is not None:
                    self._toolkit.tools[name] = stack[-1]
        self._entries = {}
        self.names = []


# For each toolkit and name: what stood there before the first layer (or None), then the layers.
_stacks: WeakKeyDictionary[Toolkit, dict[str, list[Any]]] = WeakKeyDictionary()
