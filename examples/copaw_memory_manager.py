"""A CoPaw-style host on AgentScope 1.x: its memory manager inherits `ReMeCopaw`.

pip install 'agentscope-reme[v1]'
DASHSCOPE_API_KEY=... python examples/copaw_memory_manager.py
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

from agentscope_reme import ReMeCopaw
from agentscope_reme.hooks import MemoryCompactionHook


class MemoryManager(ReMeCopaw):
    """Sets what the host decides; everything else is inherited."""

    def __init__(self, working_dir: str, model: Any, formatter: Any, window: int) -> None:
        super().__init__(
            working_dir=working_dir,
            chat_model=model,
            formatter=formatter,
            token_counter=None,  # an AgentScope counter; sizes are estimated without one
            toolkit=Toolkit(),
            max_input_length=window,
            memory_compact_ratio=0.7,
            language="",
        )


async def talk(model: Any, formatter: Any, said: list[str], folder: str, window: int) -> str:
    """Hold a conversation; what leaves the window is noted in memory/YYYY-MM-DD.md."""
    async with MemoryManager(folder, model, formatter, window) as manager:
        toolkit = Toolkit()
        toolkit.register_tool_function(manager.memory_search)
        agent = ReActAgent("Friday", "You are helpful.", model, formatter, toolkit=toolkit)
        agent.memory = manager.get_in_memory_memory()
        agent.register_instance_hook("pre_reasoning", "compact", MemoryCompactionHook(manager))
        for text in said:
            reply = await agent(Msg("user", text, "user"))
        print(await manager.await_summary_tasks())
        print(await agent.memory.get_history_str())
        return str(reply.get_text_content())


if __name__ == "__main__":
    if not (api_key := os.environ.get("DASHSCOPE_API_KEY")):
        raise SystemExit("Set DASHSCOPE_API_KEY, or try it without a key: make demo")
    qwen = DashScopeChatModel("qwen-plus", api_key=api_key)
    words = ["My green tea needs water of 75 degrees.", "How hot should it be?"]
    print(asyncio.run(talk(qwen, DashScopeChatFormatter(), words, ".reme", 128_000)))
