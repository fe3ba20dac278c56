"""The main job: one agent talks, another one in a new process answers from memory."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentscope_reme import ReMe
from agentscope_reme.testing import Request, ScriptedChatModel, ToolCall
from tests.stories.agents import make_agent, say, with_memory_tools

WRITE = ToolCall(
    "daily_write",
    {
        "name": "tea-temperature",
        "description": "How hot the tea water must be.",
        "content": "# Tea\n\nMei brews green tea at 75 degrees, not at 80 as said before.\n",
    },
)


async def _first_process(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(ScriptedChatModel([WRITE, "Recorded."])) as reme:
        agent = make_agent(ScriptedChatModel(["75 degrees, noted."]))
        reme.attach(agent, session_id="monday", recall="off")
        await say(agent, "My green tea needs 75 degrees, I was wrong about 80.")
        assert await reme.drain()


async def test_a_new_agent_answers_through_memory_search_with_file_and_lines(
    open_memory: Callable[..., ReMe],
) -> None:
    await _first_process(open_memory)

    def quote(request: Request) -> str:
        place = re.search(r"daily/\d{4}-\d\d-\d\d/tea-temperature\.md:\d+-\d+", request.text)
        assert place is not None
        return f"75 degrees ({place[0]})."

    search = ToolCall("memory_search", {"query": "green tea degrees"})
    model = ScriptedChatModel([search, quote])
    async with open_memory() as reme:
        agent = make_agent(model, toolkit=await with_memory_tools(reme, read_only=True))
        assert "75 degrees (daily/" in await say(agent, "How hot should my tea water be?")
    model.assert_exhausted()
    assert "memory_search" in model.requests[0].tool_names
    assert "write" not in model.requests[0].tool_names


async def test_recall_puts_the_passage_into_the_prompt_of_a_one_step_reply(
    open_memory: Callable[..., ReMe],
) -> None:
    await _first_process(open_memory)
    model = ScriptedChatModel(["75 degrees."])
    async with open_memory() as reme:
        agent = make_agent(model)
        reme.attach(agent, session_id="tuesday")
        await say(agent, "How hot should the water for green tea be?")
        await reme.drain()
        logs = sorted(p.name for p in (reme.workspace.root / "session/dialog").iterdir())
        said = (reme.workspace.root / "session/dialog/tuesday.jsonl").read_text("utf-8")
    prompt = model.requests[0].text
    assert "recalled-memory" in prompt
    assert "tea-temperature.md" in prompt
    assert logs == ["monday.jsonl", "tuesday.jsonl"]
    assert "recalled-memory" not in said
    assert "not at 80 as said before" not in said


async def test_an_agent_tool_never_raises_and_says_what_went_wrong(
    open_memory: Callable[..., ReMe],
) -> None:
    def told(request: Request) -> str:
        assert "climbs out of its folder" in request.text
        return "I cannot read that."

    model = ScriptedChatModel([ToolCall("read", {"path": "../secrets.md"}), told])
    async with open_memory() as reme:
        agent = make_agent(model, toolkit=await with_memory_tools(reme))
        assert await say(agent, "Read ../secrets.md") == "I cannot read that."


async def test_detaching_ends_the_recording(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        agent = make_agent(ScriptedChatModel(["one", "two"]))
        handle = reme.attach(agent, session_id="s")
        await say(agent, "first")
        handle.detach()
        await say(agent, "second")
        log = (reme.workspace.root / "session/dialog/s.jsonl").read_text("utf-8")
    assert "first" in log
    assert "second" not in log


async def test_a_tool_called_before_the_memory_was_started_starts_it(
    open_memory: Callable[..., ReMe],
) -> None:
    reme = open_memory()
    tools = {tool.name: tool for tool in reme.tools()}
    written = await tools["write"].call({"path": "digest/wiki/a.md", "content": "heron"})
    found = await tools["memory_search"].call({"query": "heron"})
    await reme.close()
    assert written.success, written.text
    assert "digest/wiki/a.md:" in found.text
