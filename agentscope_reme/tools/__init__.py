"""File operations within a scope, and the tools agents get."""

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
