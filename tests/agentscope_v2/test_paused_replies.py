"""A reply that waits for the user is recorded when it goes on, wherever that happens."""

from __future__ import annotations

from typing import Any

import agentscope.event
import pytest
from agentscope.agent import Agent
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import Base64Source, DataBlock, TextBlock, UserMsg

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.testing import ToolCall
from tests.agentscope_v2.agents import (
    PIXEL,
    Weather,
    make_agent,
    saved_and_loaded,
    script_of,
    user,
)
from tests.agentscope_v2.memory_service import InMemoryService


def asking_agent(memory: InMemoryService, *steps: Any, **options: Any) -> Agent:
    return make_agent(
        steps, middlewares=[ReMeMemoryMiddleware(memory)], tools=[Weather(ask=True)], **options
    )


async def parked(agent: Agent, question: Any) -> RequireUserConfirmEvent:
    events = [event async for event in agent.reply_stream(question)]
    (asked,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    return asked


def verdict(asked: RequireUserConfirmEvent, *, confirmed: bool) -> UserConfirmResultEvent:
    results = [ConfirmResult(confirmed=confirmed, tool_call=call) for call in asked.tool_calls]
    return UserConfirmResultEvent(reply_id=asked.reply_id, confirm_results=results)


async def test_the_question_is_safe_while_the_reply_waits(memory: InMemoryService) -> None:
    agent = asking_agent(memory, ToolCall("weather"))
    await parked(agent, user("Weather?"))
    assert memory.said("s1") == [("user", "Weather?")]
    assert memory.distilled_after == [False]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_the_answer_is_recorded_once_after_the_resume(
    memory: InMemoryService, confirmed: bool
) -> None:
    agent = asking_agent(memory, ToolCall("weather"), "That was it.")
    asked = await parked(agent, user("Weather?"))
    await agent.reply(verdict(asked, confirmed=confirmed))
    assert memory.said("s1") == [("user", "Weather?"), ("assistant", "That was it.")]
    answer = memory.log("s1")[1]
    assert [b.type for b in answer.blocks] == ["tool_call", "tool_result", "text"]
    assert "waiting" not in str(memory.sessions)


async def test_another_process_may_finish_the_reply(memory: InMemoryService) -> None:
    memory.known["tea"] = "tea: green"
    first = asking_agent(memory, ToolCall("weather"))
    image = DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"))
    asked = await parked(first, UserMsg("Ann", [TextBlock(text="tea weather?"), image]))
    second = asking_agent(memory, "Sunny.", state=saved_and_loaded(first.state))
    await second.reply(verdict(asked, confirmed=True))
    assert memory.said("s1") == [("user", "tea weather?"), ("assistant", "Sunny.")]
    assert [b.data for _, b in memory.log("s1")[0].images()] == [PIXEL]
    prompt = script_of(second).requests[0].messages
    assert [m.name for m in prompt] == ["system", "memory", "Ann", "Friday"]


async def test_steps_before_the_pause_are_kept(memory: InMemoryService) -> None:
    agent = make_agent(
        [ToolCall("remember", {"text": "tea green"}), ToolCall("weather"), "Done."],
        middlewares=[ReMeMemoryMiddleware(memory)],
        tools=[Weather(ask=True)],
    )
    asked = await parked(agent, user("Go."))
    await agent.reply(verdict(asked, confirmed=True))
    answer = memory.log("s1")[1]
    assert [b.type for b in answer.blocks] == [*(["tool_call", "tool_result"] * 2), "text"]


async def test_a_turn_the_user_gives_up_is_recorded(memory: InMemoryService) -> None:
    """By an interrupt event where the release knows one, by a refusal elsewhere."""
    agent = asking_agent(memory, ToolCall("weather"), "As you wish.")
    asked = await parked(agent, user("Weather?"))
    interrupt = getattr(agentscope.event, "UserInterruptEvent", None)
    given_up = interrupt(reply_id=asked.reply_id) if interrupt else None
    await agent.reply(given_up or verdict(asked, confirmed=False))
    roles = [message.role for message in memory.log("s1")]
    assert roles == ["user", "assistant"]
    assert [b.type for b in memory.log("s1")[1].blocks][:2] == ["tool_call", "tool_result"]
