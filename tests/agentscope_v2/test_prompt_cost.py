"""What the middleware adds to prompts: nothing that changes a prefix, and little beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import ToolCall
from tests.agentscope_v2.agents import Weather, make_agent, script_of, user

SEARCH_AND_FILES = [
    "memory_search",
    "read",
    "read_image",
    "write",
    "edit",
    "delete",
    "move",
    "list",
]


@pytest.fixture
async def reme(tmp_path: Path) -> AsyncIterator[ReMe]:
    async with ReMe(tmp_path / "memory", settings=Settings(watch=False, fsync=False)) as opened:
        await opened.write("digest/wiki/tea.md", "Ann likes gyokuro tea.", name="Tea")
        yield opened


def shown(messages: Any) -> list[str]:
    return [f"{m.name}: {m.get_text_content()}" for m in messages]


async def test_the_system_prompt_never_changes(reme: ReMe) -> None:
    agent = make_agent(
        ["One.", ToolCall("weather"), "Two.", "Three."],
        tools=[Weather()],
        middlewares=[reme.middleware()],
    )
    for question in ("Which gyokuro tea?", "Hm?", "Which tea again?"):
        await agent.reply(user(question))
    systems = {request.messages[0].get_text_content() for request in script_of(agent).requests}
    assert systems == {"You help."}


async def test_within_a_reply_each_prompt_begins_with_the_one_before(reme: ReMe) -> None:
    steps = [ToolCall("weather", id="c1"), ToolCall("weather", id="c2"), "Gyokuro."]
    agent = make_agent(steps, tools=[Weather()], middlewares=[reme.middleware()])
    await agent.reply(user("Which gyokuro tea?"))
    first, second, third = (shown(request.messages) for request in script_of(agent).requests)
    assert any(line.startswith("memory:") for line in first)
    assert second[: len(first)] == first
    assert third[: len(first)] == first


async def test_a_question_about_nothing_known_adds_no_message(reme: ReMe) -> None:
    agent = make_agent(["Four."], middlewares=[reme.middleware()])
    await agent.reply(user("What is two plus two?"))
    assert [m.name for m in script_of(agent).requests[0].messages] == ["system", "Ann"]


async def test_both_kinds_of_recall_come_with_the_tools_most_agents_use(reme: ReMe) -> None:
    names = {}
    for mode in ("both", "agent"):
        agent = make_agent(["Hi."], middlewares=[reme.middleware(mode=mode)])
        await agent.reply(user("Hello."))
        names[mode] = script_of(agent).requests[0].tool_names
        tools = script_of(agent).requests[0].tools
        assert len(json.dumps(tools)) / 4 < {"both": 1250, "agent": 2000}[mode]
    assert names["both"] == SEARCH_AND_FILES
    assert names["agent"] == [tool.name for tool in reme.tools()]


async def test_every_tool_can_be_asked_for(reme: ReMe) -> None:
    wanted = ["memory_search", "daily_write", "frontmatter_update"]
    agent = make_agent(["Hi."], middlewares=[reme.middleware(include=wanted)])
    await agent.reply(user("Hello."))
    assert set(script_of(agent).requests[0].tool_names) == set(wanted)


async def test_tools_are_made_once_for_a_memory(reme: ReMe) -> None:
    first, again = reme.tools(), reme.tools()
    assert [a is b for a, b in zip(first, again, strict=True)] == [True] * len(first)
    schema = first[0].json_schema()
    schema["properties"].clear()
    assert first[0].json_schema()["properties"]


async def test_a_card_is_written_for_the_session_the_agent_is_in(reme: ReMe) -> None:
    card = {"name": "tea", "description": "Tea.", "content": "Gyokuro.", "session_id": "forged"}
    agent = make_agent(
        [ToolCall("daily_write", card), "Done."],
        middlewares=[reme.middleware(mode="agent")],
        session_id="mine",
    )
    await agent.reply(user("Note it."))
    (daily,) = [t for t in script_of(agent).requests[0].tools if "daily_write" in json.dumps(t)]
    assert "session_id" not in json.dumps(daily)
    cards = list((reme.workspace.root / "daily").rglob("tea.md"))
    text = cards[0].read_text()
    assert "mine" in text
    assert "forged" not in text
