"""AgentScope 2.x in a few lines: an agent that remembers.

pip install 'agentscope-reme[v2]'
DASHSCOPE_API_KEY=... python examples/quickstart_v2.py
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from agentscope.agent import Agent
from agentscope.credential import DashScopeCredential
from agentscope.message import UserMsg
from agentscope.model import DashScopeChatModel
from agentscope.tool import Toolkit
from pydantic import SecretStr

from agentscope_reme import ReMe


async def talk(model: Any, workspace: str = ".reme") -> str:
    """Tell the agent something, then ask a new agent about it."""
    async with ReMe(workspace, chat_model=model) as reme:
        first = Agent("Friday", "You are helpful.", model, toolkit=Toolkit())
        reme.attach(first, session_id="monday")
        await first.reply(UserMsg("user", "My green tea needs water of 75 degrees."))
        await reme.auto_memory(session_id="monday")

        second = Agent("Friday", "You are helpful.", model, toolkit=Toolkit())
        await reme.register_tools(second.toolkit, read_only=True)
        reme.attach(second, session_id="tuesday")
        reply = await second.reply(UserMsg("user", "How hot should the water for my tea be?"))
        return str(reply.get_text_content())


if __name__ == "__main__":
    if not (api_key := os.environ.get("DASHSCOPE_API_KEY")):
        raise SystemExit("Set DASHSCOPE_API_KEY, or try it without a key: make demo")
    qwen = DashScopeChatModel(DashScopeCredential(api_key=SecretStr(api_key)), "qwen-plus")
    print(asyncio.run(talk(qwen)))
