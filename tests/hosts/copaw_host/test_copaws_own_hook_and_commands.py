"""CoPaw 1.0.2's unmodified compaction hook and slash commands, on our memory manager."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, ToolResultBlock, ToolUseBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit
from copaw.agents.command_handler import CommandHandler
from copaw.agents.hooks.memory_compaction import MemoryCompactionHook
from copaw.agents.memory import BaseMemoryManager
from copaw.agents.tools.memory_search import create_memory_search_tool
from copaw.config.config import load_agent_config, save_agent_config
from copaw_memory import FileMemoryManager

from tests.hosts.host_provider import MODEL, HostProvider, said
from tests.loopback import Reply, Request, ToolCall

pytestmark = pytest.mark.hosts

FACT = "Nadia Okafor keeps the zebra vault runbook."
NOTE = "- Zebra vault: its runbook is kept by Nadia Okafor."
CHECKPOINT = (
    "## Goal\nRun the zebra vault.\n\n## Progress\n### Done\n- [x] The keeper is known.\n\n"
    "## Next Steps\n1. Ask Nadia Okafor."
)


class Scripted:
    """A model that converses, writes checkpoints and notes, or fails at checkpoints."""

    def __init__(self) -> None:
        self.checkpoints: list[Request] = []
        self.prompts: list[Request] = []
        self.broken = False

    def __call__(self, request: Request) -> Reply:
        if "write" in request.tool_names:
            return _notes(request)
        if "## Next Steps" in request.texts[-1]:
            self.checkpoints.append(request)
            failed = Reply(status=500, message="out of order")
            return failed if self.broken else Reply(text=CHECKPOINT)
        self.prompts.append(request)
        return Reply(text="Noted.")


def _notes(request: Request) -> Reply:
    path = re.findall(r"memory/\d{4}-\d{2}-\d{2}\.md", said(request))[0]
    new = "It does not exist yet" in said(request)
    if request.messages[-1]["role"] == "tool" or FACT not in said(request) or not new:
        return Reply(text="[SILENT]")
    return Reply(tool_calls=(ToolCall("write", {"path": path, "content": f"# Notes\n\n{NOTE}\n"}),))


@pytest.fixture
def small_window() -> None:
    """The agent's configuration, with a window that fills up after a few turns."""
    config = load_agent_config("default")
    config.language = "en"
    config.running.max_input_length = 1000  # compacted above 750 tokens
    save_agent_config("default", config)


@pytest.fixture
def model() -> Scripted:
    return Scripted()


@pytest_asyncio.fixture
async def manager(small_window: None, tmp_path: Path) -> AsyncIterator[FileMemoryManager]:
    made = FileMemoryManager(str(tmp_path / "workspace"), "default")
    await made.start()
    yield made
    assert await made.close() is True


@pytest_asyncio.fixture
async def agent(manager: FileMemoryManager, model: Scripted) -> AsyncIterator[ReActAgent]:
    """An agent put together as CoPaw's own agent puts itself together."""
    with HostProvider() as provider:
        provider.respond_with(model)
        chat_model = OpenAIChatModel(
            MODEL,
            api_key="sk-loopback",
            stream=False,
            client_kwargs={"base_url": provider.openai_url, "max_retries": 0},
        )
        made = ReActAgent(
            "Friday", "You help.", chat_model, OpenAIChatFormatter(), toolkit=Toolkit()
        )
        made.memory = manager.get_in_memory_memory()
        manager.chat_model, manager.formatter = made.model, made.formatter
        made.toolkit.register_tool_function(create_memory_search_tool(manager))
        made.register_instance_hook(
            "pre_reasoning", "memory_compact_hook", MemoryCompactionHook(manager).__call__
        )
        made.set_console_output_enabled(False)
        yield made
        await manager.await_summary_tasks()


async def talk(agent: ReActAgent, turns: int, *, first: str = FACT) -> list[str]:
    texts = [f"{first} {'The corridor behind the gate is long. ' * 12}"]
    texts += [f"Remark number {n}: {'the lamps are green tonight. ' * 12}" for n in range(1, turns)]
    for text in texts:
        await agent(Msg("user", text, "user"))
    return texts


def everything_in(agent: ReActAgent) -> str:
    return json.dumps(agent.memory.state_dict(), ensure_ascii=False)


def test_the_manager_is_what_copaw_asks_for(manager: FileMemoryManager) -> None:
    assert isinstance(manager, BaseMemoryManager)
    assert manager.agent_id == "default"


async def test_the_hook_compacts_and_nothing_that_was_said_is_lost(
    agent: ReActAgent, manager: FileMemoryManager, model: Scripted
) -> None:
    texts = await talk(agent, 12)
    assert model.checkpoints
    assert agent.memory.get_compressed_summary() == CHECKPOINT
    last = model.prompts[-1]
    assert "Ask Nadia Okafor" in said(last)  # the checkpoint stands in the prompt
    assert texts[-1] in said(last)
    assert texts[0] not in said(last)
    assert len(last.messages) < 20
    kept = everything_in(agent)
    assert all(text in kept for text in texts)  # hidden, and still in the saved session
    assert "Summary task completed" in await manager.await_summary_tasks()
    [hit, *_] = json.loads((await manager.memory_search("zebra vault")).content[0]["text"])
    assert NOTE in hit["snippet"]


async def test_a_failing_model_leaves_window_and_summary_as_they_were(
    agent: ReActAgent, model: Scripted
) -> None:
    await talk(agent, 9)
    before = agent.memory.get_compressed_summary()
    hidden = len(agent.memory.content) - len(await agent.memory.get_memory(prepend_summary=False))
    model.broken = True
    asked = len(model.checkpoints)
    texts = await talk(agent, 6, first="The boiler is blue.")
    assert len(model.checkpoints) > asked
    shown = await agent.memory.get_memory(prepend_summary=False)
    assert before == CHECKPOINT
    assert agent.memory.get_compressed_summary() == before
    assert len(agent.memory.content) - len(shown) == hidden
    assert all(text in said(model.prompts[-1]) for text in texts)


async def test_a_large_tool_result_leaves_the_window_and_stays_readable(
    agent: ReActAgent, manager: FileMemoryManager, tmp_path: Path
) -> None:
    long = "\n".join(f"line {n} of the listing" for n in range(4000))
    for number in range(4):
        call = ToolUseBlock(type="tool_use", id=f"c{number}", name="list", input={})
        result = ToolResultBlock(type="tool_result", id=f"c{number}", name="list", output=long)
        await agent.memory.add(Msg("Friday", [call], "assistant"))
        await agent.memory.add(Msg("system", [result], "system"))
    messages = [msg for msg, _ in agent.memory.content]
    await manager.compact_tool_result(
        messages=messages, recent_n=2, old_max_bytes=3000, recent_max_bytes=50000, retention_days=5
    )
    sizes = [len(json.dumps(msg.content)) for msg in messages if msg.role == "system"]
    assert max(sizes[:2]) < 5000
    assert 5000 < min(sizes[2:]) <= max(sizes[2:]) < 60000
    stored = [place.read_text() for place in (tmp_path / "workspace/tool_result").iterdir()]
    assert any(long in text for text in stored)


async def test_copaws_commands_work_on_it(
    agent: ReActAgent, manager: FileMemoryManager, model: Scripted
) -> None:
    commands: Any = CommandHandler(
        agent_name="Friday",
        memory=agent.memory,
        memory_manager=manager,
    )

    async def answer(command: str) -> str:
        return str((await commands.handle_command(command)).get_text_content())

    await agent(Msg("user", FACT, "user"))
    assert "Nadia" in await answer("/history")
    model.broken = True
    with pytest.raises(Exception, match="out of order"):
        await answer("/compact")
    assert FACT in everything_in(agent)
    model.broken = False
    assert "Compact Complete" in await answer("/compact")
    assert CHECKPOINT in await answer("/compact_str")
    assert "Summary Tasks Complete" in await answer("/await_summary")
    await agent(Msg("user", "The boiler is blue.", "user"))
    assert "New Conversation Started" in await answer("/new")
    assert not await agent.memory.get_memory()
    assert "zebra" in (await manager.memory_search("zebra runbook")).content[0]["text"].lower()
