"""What compaction leaves in a window is understood by the formatters of all providers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agentscope.formatter
import pytest
from agentscope.message import Msg

from agentscope_reme import ReMe, ReMeMemory, Settings
from agentscope_reme.hooks import MemoryCompactionHook
from tests.agentscope_v1.list_memory import PIXEL
from tests.window.parts import LONG, Writer, answer, call, friday, talk

FORMATTERS = [
    "AnthropicChatFormatter",
    "DashScopeChatFormatter",
    "DeepSeekChatFormatter",
    "GeminiChatFormatter",
    "OllamaChatFormatter",
    "OpenAIChatFormatter",
]


@pytest.mark.parametrize("name", FORMATTERS)
async def test_summary_notes_and_pointers_are_in_the_prompt(name: str, tmp_path: Path) -> None:
    quiet = Settings(watch=False, fsync=False)
    image: dict[str, Any] = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }
    async with ReMe(tmp_path, chat_model=Writer(), settings=quiet) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        await agent.memory.add(Msg("user", "live", "user"))
        await agent.memory.add([call(1), Msg("user", "wait", "user"), answer(1, "late")])
        shown = [{"type": "text", "text": LONG * 40}, image]
        await agent.memory.add([call(2, path="a"), answer(2, shown)])
        await MemoryCompactionHook(reme, 600)(agent, {})

        formatter = getattr(agentscope.formatter, name)()
        prompt = str(await formatter.format(await agent.memory.get_memory()))

    assert "previous-summary" in prompt
    assert "tool_result/" in prompt
    assert "(shell answered: late)" in prompt
    assert PIXEL not in prompt
    assert json.dumps("omitted") not in prompt
