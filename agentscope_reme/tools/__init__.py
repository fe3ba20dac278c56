"""File operations within a scope, and the tools agents get."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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

_HOMES: Final = {
    "AGENT": "scope",
    "OWNER": "scope",
    "FileOperations": "file_operations",
    "Scope": "scope",
    "card_scope": "scope",
    "file_tools": "agent_tools",
    "search_tool": "agent_tools",
}


def __getattr__(name: str) -> Any:
    # Late, so that who only redacts does not load what agents get.
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
