"""What was said is recorded once, in full, before a reply announces its end."""

from __future__ import annotations

import base64
import inspect
import json
from pathlib import Path

import pytest
from agentscope.agent import Agent
from agentscope.event import ReplyEndEvent
from agentscope.formatter import DeepSeekChatFormatter
from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    URLSource,
    UserMsg,
)
from pydantic import BaseModel

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.messages import DataBlock as Data
from agentscope_reme.messages import ToolCallBlock, ToolResultBlock
from agentscope_reme.testing import Request, Text, ToolCall
from tests.agentscope_v2.agents import (
    PIXEL,
    Weather,
    make_agent,
    saved_and_loaded,
    script_of,
    user,
)
from tests.agentscope_v2.memory_service import InMemoryService

both = pytest.mark.parametrize("stream", [False, True])


def picture(number: int = 0) -> DataBlock:
    return DataBlock(source=Base64Source(data=f"{PIXEL}{number}", media_type="image/png"))


@both
async def test_a_turn_is_durable_before_its_end_is_announced(
    memory: InMemoryService, stream: bool
) -> None:
    model = ScriptedChatModel(["Hello Ann."], stream=stream)
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)])
    question = user("Hello")
    async for event in agent.reply_stream(question):
        if isinstance(event, ReplyEndEvent):
            assert memory.said("s1") == [("user", "Hello"), ("assistant", "Hello Ann.")]
            assert [m.id for m in memory.log("s1")] == [question.id, event.reply_id]
            assert [m.name for m in memory.log("s1")] == ["Ann", "Friday"]
            break
    else:
        pytest.fail("the reply never ended")
    assert memory.distilled_after == [True]


@both
async def test_all_steps_of_a_reply_are_one_message(memory: InMemoryService, stream: bool) -> None:
    model = ScriptedChatModel(
        [
            [ToolCall("weather", {"city": "Rome"}), ToolCall("weather", {"city": "Oslo"})],
            Text("Both sunny.", thinking="easy"),
        ],
        stream=stream,
    )
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)], tools=[Weather()])
    await agent.reply(user("Weather?"))
    answer = memory.log("s1")[1]
    assert answer.id == agent.state.reply_id
    assert [b.type for b in answer.blocks] == [
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "text",
    ]
    assert ToolCallBlock(id="call-1", name="weather", input='{"city": "Rome"}') in answer.blocks
    assert answer.text == "Both sunny."


async def test_later_turns_add_only_what_is_new(memory: InMemoryService) -> None:
    agent = make_agent(["One.", "Two."], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(user("first"))
    before = dict(memory.sessions["s1"])
    memory.sessions["s1"] = {}
    await agent.reply(user("second"))
    assert memory.said("s1") == [("user", "second"), ("assistant", "Two.")]
    assert len(before) == 2


async def test_progress_survives_a_restart(memory: InMemoryService) -> None:
    first = make_agent(["One."], middlewares=[ReMeMemoryMiddleware(memory)])
    await first.reply(user("first"))
    state = saved_and_loaded(first.state)
    json.dumps(state.middle_context)
    memory.sessions["s1"] = {}
    second = make_agent(["Two."], middlewares=[ReMeMemoryMiddleware(memory)], state=state)
    await second.reply(user("second"))
    assert memory.said("s1") == [("user", "second"), ("assistant", "Two.")]


async def test_progress_somebody_damaged_only_costs_a_resubmission(
    memory: InMemoryService,
) -> None:
    agent = make_agent(["One.", "Two."], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(user("first"))
    agent.state.middle_context["agentscope_reme"] = "gone"
    await agent.reply(user("second"))
    assert [text for _, text in memory.said("s1")] == ["first", "One.", "second", "Two."]


async def test_every_image_is_recorded_although_the_agent_keeps_five(
    memory: InMemoryService,
) -> None:
    agent = make_agent(["Seven."], middlewares=[ReMeMemoryMiddleware(memory, compact=False)])
    await agent.reply(UserMsg("Ann", [TextBlock(text="look"), *map(picture, range(7))]))
    (asked, _) = memory.log("s1")
    assert [b.data for _, b in asked.images()] == [f"{PIXEL}{n}" for n in range(7)]


async def test_a_file_that_is_moved_during_the_reply_is_recorded(
    memory: InMemoryService, tmp_path: Path
) -> None:
    attached = tmp_path / "zebra.png"
    attached.write_bytes(b"a zebra")
    source = URLSource.model_validate({"url": attached.as_uri(), "media_type": "image/png"})

    def move(_: Request) -> str:
        attached.rename(tmp_path / "moved.png")
        return "Moved."

    agent = make_agent([move], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(UserMsg("Ann", [TextBlock(text="Move it."), DataBlock(source=source)]))
    ((_, image),) = memory.log("s1")[0].images()
    assert base64.b64decode(image.data or "") == b"a zebra"


async def test_an_image_the_model_cannot_take_is_recorded(memory: InMemoryService) -> None:
    model = ScriptedChatModel(["I see nothing."], formatter=DeepSeekChatFormatter())
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(UserMsg("Ann", [picture()]))
    assert memory.log("s1")[0].blocks == (Data(media_type="image/png", data=f"{PIXEL}0"),)


async def test_what_others_said_in_between_is_recorded(memory: InMemoryService) -> None:
    agent = make_agent(["Good."], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.observe(AssistantMsg("Bob", "I bring cake."))
    await agent.reply(user("And you?"))
    assert [(m.name, m.text) for m in memory.log("s1")] == [
        ("Bob", "I bring cake."),
        ("Ann", "And you?"),
        ("Friday", "Good."),
    ]


async def test_hints_and_recalled_text_are_never_recorded(memory: InMemoryService) -> None:
    memory.known["tea"] = "tea is green"
    agent = make_agent(
        [ToolCall("memory_search", {"query": "tea"}), "Green."],
        middlewares=[ReMeMemoryMiddleware(memory)],
    )
    pasted = user("<recalled-memory>tea is green</recalled-memory>")
    await agent.observe([pasted, UserMsg("long_term_memory", "tea is green")])
    agent.state.append_context("Friday", [HintBlock(hint="tea is green")])
    await agent.reply(user("What about tea?"))
    recorded = "".join(message.model_dump_json() for message in memory.log("s1"))
    assert "tea is green" not in recorded
    results = [
        block
        for message in memory.log("s1")
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]
    assert [(r.name, r.omitted) for r in results] == [
        ("memory_search", "recalled memory, not recorded again")
    ]


async def test_a_failing_memory_never_costs_a_reply_and_catches_up(
    memory: InMemoryService,
) -> None:
    agent = make_agent(["One.", "Two."], middlewares=[ReMeMemoryMiddleware(memory)])
    memory.failing = {"record": OSError("disk full")}
    assert (await agent.reply(user("first"))).get_text_content() == "One."
    assert [where for where, _ in memory.failures] == ["middleware.record"]
    memory.failing = {}
    await agent.reply(user("second"))
    assert [text for _, text in memory.said("s1")] == ["first", "One.", "second", "Two."]


async def test_a_memory_that_cannot_start_is_reported(memory: InMemoryService) -> None:
    memory.failing = {"start": OSError("read-only")}
    agent = make_agent(["One."], middlewares=[ReMeMemoryMiddleware(memory)])
    assert (await agent.reply(user("first"))).get_text_content() == "One."
    assert {where for where, _ in memory.failures} == {"middleware.recall", "middleware.record"}


async def test_recording_can_be_switched_off(memory: InMemoryService) -> None:
    agent = make_agent(["One."], middlewares=[ReMeMemoryMiddleware(memory, record=False)])
    await agent.reply(user("first"))
    assert memory.sessions == {}


async def test_one_session_for_many_agents(memory: InMemoryService) -> None:
    middleware = ReMeMemoryMiddleware(memory, session_id="team")
    for name in ("A", "B"):
        agent = make_agent([f"{name}."], middlewares=[middleware], session_id=name, name=name)
        await agent.reply(user(f"to {name}"))
    assert list(memory.sessions) == ["team"]
    assert len(memory.log("team")) == 4


class Verdict(BaseModel):
    sure: bool


async def test_a_structured_reply_is_recorded(memory: InMemoryService) -> None:
    """Where the installed release offers structured replies; a plain one elsewhere."""
    offered = "structured_schema" in inspect.signature(Agent.reply).parameters
    options = {"structured_schema": Verdict} if offered else {}
    agent = make_agent(
        [{"sure": True} if offered else "Sure."], middlewares=[ReMeMemoryMiddleware(memory)]
    )
    await agent.reply(user("sure?"), **options)
    assert [m.role for m in memory.log("s1")] == ["user", "assistant"]
    script_of(agent).assert_exhausted()
