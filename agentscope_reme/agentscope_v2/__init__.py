"""AgentScope 2.x: middleware, tools, model ports and message conversion."""

from __future__ import annotations

from agentscope_reme.agentscope_line import require_line

require_line(2, "agentscope_reme.agentscope_v2", "agentscope_reme.agentscope_v1")

from agentscope_reme.agentscope_v2.attach import Attachment, attach_v2
from agentscope_reme.agentscope_v2.formatter import ReMeFormatter
from agentscope_reme.agentscope_v2.messages import from_neutral, to_neutral
from agentscope_reme.agentscope_v2.middleware import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.offloader import ReMeOffloader
from agentscope_reme.agentscope_v2.ports import agent_port, chat_port, embedding_port
from agentscope_reme.agentscope_v2.tools import as_toolbase, register_tools

__all__ = [
    "Attachment",
    "ReMeFormatter",
    "ReMeMemoryMiddleware",
    "ReMeOffloader",
    "agent_port",
    "as_toolbase",
    "attach_v2",
    "chat_port",
    "embedding_port",
    "from_neutral",
    "register_tools",
    "to_neutral",
]
