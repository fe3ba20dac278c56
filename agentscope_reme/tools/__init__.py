"""File operations within a scope, and the tools agents get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.tools.agent_tools import file_tools, search_tool
    from agentscope_reme.tools.file_operations import FileOperations
    from agentscope_reme.tools.scope import AGENT, OWNER, Scope, card_scope

__all__ = [
    "AGENT",
    "OWNER",
    "FileOperations",
    "Scope",
    "card_scope",
    "file_tools",
    "search_tool",
]

# Late, so that who only redacts does not load what agents get.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "agent_tools": "file_tools search_tool",
        "file_operations": "FileOperations",
        "scope": "AGENT OWNER Scope card_scope",
    },
)
