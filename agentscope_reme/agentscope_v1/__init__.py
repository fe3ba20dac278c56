"""AgentScope 1.x: memory classes, toolkit, model ports and message converters.

Import this package only where AgentScope 1.x is installed; `agentscope_reme` does so by itself.
"""

from __future__ import annotations

from agentscope_reme.agentscope_v1.formatter import ReMeFormatter
from agentscope_reme.agentscope_v1.long_term_memory import ReMeLongTermMemory
from agentscope_reme.agentscope_v1.memory import ReMeMemory
from agentscope_reme.agentscope_v1.messages import from_neutral, to_neutral
from agentscope_reme.agentscope_v1.ports import agent_port, chat_port, embedding_port
from agentscope_reme.agentscope_v1.toolkit import ReMeToolkit
from agentscope_reme.agentscope_v1.tools import register_tools

__all__ = [
    "ReMeFormatter",
    "ReMeLongTermMemory",
    "ReMeMemory",
    "ReMeToolkit",
    "agent_port",
    "chat_port",
    "embedding_port",
    "from_neutral",
    "register_tools",
    "to_neutral",
]
