"""A real agent over a real socket: a long talk is compacted, noted, and found after a restart."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit

from agentscope_reme.hooks import MemoryCompactionHook
from tests.copaw.conftest import DAY, TODAY, Open
from tests.loopback.script import Reply, Request, ToolCall
from tests.loopback.server import LoopbackProvider

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECKPOINT = "## Goal\nTea for Mei.\n\n## Progress\nTalked.\n\n## Next Steps\n1. Go on."
FACT = "Mei takes her green tea at 75 degrees."


def answer(request: Request) -> Reply:
    """Plays the compacting model, the summarizing model and the host's own agent."""
    first, last = request.texts[0], request.texts[-1]
    if "checkpoint" in first.casefold():
        return Reply(CHECKPOINT)
    if first.startswith("You keep the notes"):
        if request.messages[-1]["role"] == "tool":
            return Reply("Noted the tea.")
        path = re.search(r"`(memory/[\d-]+\.md)`", "".join(request.texts))
        assert path is not None
        noted = {"path": path[1], "content": f"# Notes\n\n- {FACT}\n"}
        return Reply(tool_calls=(ToolCall("write", noted),))
    if "What about Mei's tea" in last:
        return Reply(tool_calls=(ToolCall("memory_search", {"query": "Mei green tea"}),))
    return Reply("75 degrees." if FACT in last else "Understood. " + "word " * 60)


def model_of(provider: LoopbackProvider) -> OpenAIChatModel:
    options: dict[str, Any] = {"base_url": provider.openai_url, "max_retries": 0}
    return OpenAIChatModel("gpt", api_key="k", stream=False, client_kwargs=options)


def said(count: int) -> list[str]:
    return [FACT, *(f"Chapter {n}: " + "many words " * 60 for n in range(count))]


async def test_a_long_talk_is_noted_and_found_by_the_next_process(
    open_copaw: Open, provider: LoopbackProvider
) -> None:
    provider.respond_with(answer)
    model = model_of(provider)
    options: dict[str, Any] = {"max_input_length": 1500}
    async with open_copaw(model, **options) as copaw:
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
        agent.memory = copaw.get_in_memory_memory()
        agent.register_instance_hook("pre_reasoning", "compact", MemoryCompactionHook(copaw))
        for text in said(8):
            await agent(Msg("user", text, "user"))
        told = await copaw.await_summary_tasks()
        assert "Summary task completed: Noted the tea." in told
        assert "failed" not in told
        assert agent.memory.get_compressed_summary().startswith(CHECKPOINT)
        assert len(await agent.memory.get_memory()) < len(agent.memory.content)
        state = agent.memory.state_dict()
        prompts = [r for r in provider.chats if r.texts[0] == "You help."]
        assert FACT not in "".join(prompts[-1].texts)
        assert "Chapter 7" in "".join(prompts[-1].texts)
    place = copaw.working_path / TODAY
    assert place.read_text() == f"# Notes\n\n- {FACT}\n"

    async with open_copaw(model, **options) as again:
        window = again.get_in_memory_memory()
        window.load_state_dict(json.loads(json.dumps(state)))
        toolkit = Toolkit()
        toolkit.register_tool_function(again.memory_search)
        agent = ReActAgent(
            "Friday", "You help.", model, OpenAIChatFormatter(), toolkit=toolkit, memory=window
        )
        reply = await agent(Msg("user", "What about Mei's tea?", "user"))
        assert reply.get_text_content() == "75 degrees."
        assert (await again.status()).failures == {}


async def test_what_is_compacted_is_archived_whole(
    open_copaw: Open, provider: LoopbackProvider
) -> None:
    provider.respond_with(answer)
    model = model_of(provider)
    async with open_copaw(model, max_input_length=1500) as copaw:
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
        agent.memory = copaw.get_in_memory_memory()
        hook = MemoryCompactionHook(copaw, session_id="monday")
        agent.register_instance_hook("pre_reasoning", "compact", hook)
        for text in said(6):
            await agent(Msg("user", text, "user"))
        kept = copaw.working_path / "session" / "agentscope" / "monday.jsonl"
        assert FACT in kept.read_text()


async def test_a_model_that_fails_to_compact_costs_neither_window_nor_summary(
    open_copaw: Open, provider: LoopbackProvider
) -> None:
    def broken(request: Request) -> Reply:
        if "checkpoint" in request.texts[0].casefold():
            return Reply(status=500, message="down")
        return answer(request)

    provider.respond_with(broken)
    model = model_of(provider)
    async with open_copaw(model, max_input_length=1500) as copaw:
        window = copaw.get_in_memory_memory()
        await window.update_compressed_summary("OLD")
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), memory=window)
        await window.add([Msg("user", text, "user") for text in said(8)])
        before = len(await window.get_memory())
        await MemoryCompactionHook(copaw)(agent, {})
        assert len(await window.get_memory()) == before
        assert window.get_compressed_summary() == "OLD"
        assert copaw.summary_tasks == []
        assert "hook.compaction" in (await copaw.status()).failures


async def test_a_host_with_a_memory_of_agentscope_keeps_its_window_small(
    open_copaw: Open, provider: LoopbackProvider
) -> None:
    provider.respond_with(answer)
    model = model_of(provider)
    async with open_copaw(model, max_input_length=1500) as copaw:
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
        assert isinstance(agent.memory, InMemoryMemory)
        agent.register_instance_hook("pre_reasoning", "compact", MemoryCompactionHook(copaw))
        for text in said(6):
            await agent(Msg("user", text, "user"))
        await copaw.await_summary_tasks()
        assert FACT in (copaw.memory_path / f"{DAY}.md").read_text()


@pytest.fixture
def example() -> Iterator[Any]:
    sys.path.insert(0, str(EXAMPLES))
    import copaw_memory_manager

    yield copaw_memory_manager
    sys.path.remove(str(EXAMPLES))


async def test_the_example_runs_and_stays_short(
    example: Any, provider: LoopbackProvider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.respond_with(answer)
    model = model_of(provider)
    formatter = OpenAIChatFormatter()
    await example.talk(model, formatter, said(8), str(tmp_path), 1500)
    today = datetime.now().astimezone().date().isoformat()
    assert FACT in (tmp_path / "memory" / f"{today}.md").read_text()
    shown = capsys.readouterr().out
    assert "Summary task completed" in shown
    assert "**Conversation History**" in shown
    question = ["What about Mei's tea?"]
    assert await example.talk(model, formatter, question, str(tmp_path), 128_000) == "75 degrees."
    assert len((EXAMPLES / "copaw_memory_manager.py").read_text().splitlines()) < 60


def test_the_example_without_a_key_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    with pytest.raises(SystemExit, match=r"DASHSCOPE_API_KEY.*make demo"):
        runpy.run_path(str(EXAMPLES / "copaw_memory_manager.py"), run_name="__main__")
