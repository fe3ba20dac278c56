"""AgentScope 1.x in a few lines: an agent that remembers.

pip install 'agentscope-reme[v1]'
DASHSCOPE_API_KEY=... python examples/quickstart_v1.py
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter
from agentscope.message import Msg
from agentscope.model import DashScopeChatModel
from agentscope.tool import Toolkit

from agentscope_reme import ReMe


async def talk(model: Any, formatter: Any, workspace: str = ".reme") -> str:
    """Tell the agent something, then ask a new agent about it."""
    async with ReMe(workspace, chat_model=model, formatter=formatter) as reme:
        first = ReActAgent("Friday", "You are helpful.", model, formatter)
        reme.attach(first, session_id="monday")
        await first(Msg("user", "My green tea needs water of 75 degrees.", "user"))
        await reme.auto_memory(session_id="monday")

        toolkit = Toolkit()
        reme.register_tools(toolkit, read_only=True)
        second = ReActAgent("Friday", "You are helpful.", model, formatter, toolkit=toolkit)
        reme.attach(second, session_id="tuesday")
        reply = await second(Msg("user", "How hot should the water for my tea be?", "user"))
        return str(reply.get_text_content())


if __name__ == "__main__":
    if not (api_key := os.environ.get("DASHSCOPE_API_KEY")):
        raise SystemExit("Set DASHSCOPE_API_KEY, or try it without a key: make demo")
    qwen = DashScopeChatModel("qwen-plus", api_key=api_key)
    print(asyncio.run(talk(qwen, DashScopeChatFormatter())))
