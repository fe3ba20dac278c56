"""What a compression drops was archived in full and recorded, and nothing is recorded twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from agentscope.agent import Agent
from agentscope.message import Base64Source, DataBlock, TextBlock
from agentscope.tool import ToolChunk

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.messages import DataBlock as Data
from agentscope_reme.messages import Message, ToolResultBlock
from agentscope_reme.testing import Request, Structured, ToolCall
from tests.agentscope_v2.agents import PIXEL, Weather, make_agent, saved_and_loaded, user
from tests.agentscope_v2.memory_service import InMemoryService

WINDOW = 400  # tokens of about four bytes; compression starts at 80 %
LONG = "word " * 120


def play(*answers: Any) -> Any:
    """Steps that give the answers in order and a summary whenever one is asked for."""
    left = list(answers)

    def step(request: Request) -> Any:
        if request.output is not None:
            return Structured(dict.fromkeys(request.output["properties"], "so far"))
        return left.pop(0)

    return [step] * (len(answers) * 3)


def small_agent(memory: InMemoryService, *answers: Any, **options: Any) -> Agent:
    kept = {what: options.pop(what, True) for what in ("record", "compact")}
    middleware = ReMeMemoryMiddleware(memory, mode="off", **kept)
    model = ScriptedChatModel(play(*answers), context_size=options.pop("window", WINDOW))
    return make_agent(model, middlewares=[middleware], **options)


def blocks_of(messages: list[Message]) -> Counter[str]:
    return Counter(block.model_dump_json() for message in messages for block in message.blocks)


async def test_dropped_turns_are_archived_and_recorded_once(memory: InMemoryService) -> None:
    agent = small_agent(memory, f"one {LONG}", "two")
    await agent.reply(user(f"first {LONG}"))
    assert memory.archives == {}
    await agent.reply(user(f"second {LONG}"))
    assert agent.state.summary
    archived = [m.text.split()[0] for m in memory.archives["s1"].values()]
    assert archived[:2] == ["first", "one"]
    recorded = [m.text.split()[0] for m in memory.log("s1")]
    assert recorded == ["first", "one", "second", "two"]
    assert "so far" not in str(memory.sessions)
    assert memory.distilled_after == [True, False, True]


async def test_who_wants_nothing_recorded_gets_nothing_archived(memory: InMemoryService) -> None:
    agent = small_agent(memory, f"one {LONG}", "two", record=False)
    await agent.reply(user(f"first {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert agent.state.summary
    assert (memory.sessions, memory.archives) == ({}, {})


async def test_a_reply_cut_in_the_middle_loses_no_step(memory: InMemoryService) -> None:
    steps = [ToolCall("weather", {"city": f"C{n}"}) for n in range(6)]
    agent = small_agent(
        memory, *steps, "All sunny.", tools=[Weather(answer=f"sunny {LONG}")], window=800
    )
    await agent.reply(user("Weather everywhere?"))
    assert agent.state.summary
    log = memory.log("s1")
    kinds = Counter(block.type for message in log for block in message.blocks)
    assert kinds == {"text": 2, "tool_call": 6, "tool_result": 6}
    assert max(blocks_of(log).values()) == 1
    assert log[-1].text == "All sunny."
    outputs = [
        block
        for message in memory.archives["s1"].values()
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]
    assert outputs
    assert all(LONG.strip() in part.text for block in outputs for part in block.output)  # type: ignore[union-attr]


async def test_a_restart_between_compressions_repeats_nothing(memory: InMemoryService) -> None:
    agent = small_agent(memory, f"one {LONG}")
    await agent.reply(user(f"first {LONG}"))
    for number in ("second", "third", "fourth"):
        agent = small_agent(memory, f"{number} answer {LONG}", state=saved_and_loaded(agent.state))
        await agent.reply(user(f"{number} {LONG}"))
    assert len(memory.log("s1")) == 8
    assert max(blocks_of(memory.log("s1")).values()) == 1
    assert max(blocks_of(list(memory.archives["s1"].values())).values()) == 1


async def test_a_compression_by_hand_is_distilled_too(memory: InMemoryService) -> None:
    agent = small_agent(memory, "unused")
    await agent.observe([user(f"first {LONG}"), user(f"second {LONG}"), user(f"third {LONG}")])
    await agent.compress_context()
    assert memory.archives["s1"]
    assert [m.text.split()[0] for m in memory.log("s1")] == ["first", "second", "third"]
    assert memory.distilled_after == [True]


async def test_a_failing_archive_costs_neither_reply_nor_record(memory: InMemoryService) -> None:
    memory.failing = {"archive": OSError("disk full")}
    agent = small_agent(memory, f"one {LONG}", "two")
    await agent.reply(user(f"first {LONG}"))
    final = await agent.reply(user(f"second {LONG}"))
    assert final.get_text_content() == "two"
    assert {where for where, _ in memory.failures} == {"middleware.archive"}
    assert [m.text.split()[0] for m in memory.log("s1")] == ["first", "one", "second", "two"]


async def test_archiving_can_be_switched_off(memory: InMemoryService) -> None:
    agent = small_agent(memory, f"one {LONG}", "two", compact=False)
    await agent.reply(user(f"first {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert agent.state.summary
    assert memory.archives == {}


class Camera(Weather):
    """Takes a new picture each time."""

    taken = 0

    async def call(self, *args: Any, **kwargs: Any) -> ToolChunk:
        self.taken += 1
        source = Base64Source(data=f"{PIXEL}{self.taken}", media_type="image/png")
        return ToolChunk(content=[TextBlock(text="click"), DataBlock(source=source)])


@pytest.mark.parametrize("pictures", [4, 8])
async def test_no_picture_of_a_tool_is_lost(memory: InMemoryService, pictures: int) -> None:
    """Newer releases keep only the last images of a context, on any window."""
    steps = [ToolCall("weather")] * pictures
    agent = small_agent(memory, *steps, "Done.", tools=[Camera()], window=100_000)
    await agent.reply(user("Take pictures."))
    in_context = agent.state.model_dump_json()
    archived = {
        part.data
        for message in memory.archives.get("s1", {}).values()
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
        for part in block.output
        if isinstance(part, Data)
    }
    for number in range(1, pictures + 1):
        assert f'"{PIXEL}{number}"' in in_context or f"{PIXEL}{number}" in archived
