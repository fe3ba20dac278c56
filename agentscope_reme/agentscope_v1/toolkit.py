"""A 1.x toolkit that comes with the memory tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1.tools import register_tools
from agentscope_reme.ports import MemoryService


class ReMeToolkit(Toolkit):
    """`Toolkit` with memory search, reading and writing registered.

    It may be shared by several agents with one long-term memory: registering the same bound
    function again does nothing, where `Toolkit` would raise.

    Args:
        reme: the memory the tools work on.
        include: names of the tools to offer; all of them without it.
        read_only: leave out every tool that changes something.
        kwargs: passed on to `Toolkit`.
    """

    def __init__(
        self,
        reme: MemoryService,
        *,
        include: Sequence[str] | None = None,
        read_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.memory_tools = register_tools(self, reme.tools(include=include, read_only=read_only))
        """The names of the memory tools in this toolkit."""

    def register_tool_function(self, tool_func: Any, *args: Any, **kwargs: Any) -> None:
        """Register a function as `Toolkit` does; the same one under the same name only once."""
        name = kwargs.get("func_name") or getattr(tool_func, "__name__", None)
        present = self.tools.get(name) if name else None
        if present is not None and present.original_func == tool_func:
            return
        super().register_tool_function(tool_func, *args, **kwargs)
