"""Interrupted and failed replies are recorded as far as they came."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from agentscope.agent import Agent
from agentscope.event import ReplyEndEvent, TextBlockDeltaEvent
from agentscope.message import Msg
from agentscope.middleware import MiddlewareBase

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.testing import Request, ToolCall
from tests.agentscope_v2.agents import Weather, make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


class Pause:
    """A step that never comes to an end."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def __call__(self, _: Request) -> str:
        self.reached.set()
        await asyncio.Event().wait()
        return "never said"


async def interrupted(agent: Agent, question: Msg, pause: Pause) -> None:
    """Cancel the reply; newer releases answer with a message, older ones raise."""
    reply = asyncio.create_task(agent.reply(question))
    await pause.reached.wait()
    reply.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reply


@pytest.mark.parametrize("stream", [False, True])
async def test_an_interrupted_turn_keeps_its_question(
    memory: InMemoryService, stream: bool
) -> None:
    pause = Pause()
    model = ScriptedChatModel([pause, "Welcome back."], stream=stream)
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)])
    await interrupted(agent, user("first"), pause)
    assert memory.said("s1") == [("user", "first")]
    await agent.reply(user("second"))
    assert [text for _, text in memory.said("s1")] == ["first", "second", "Welcome back."]


async def test_steps_before_an_interruption_are_kept(memory: InMemoryService) -> None:
    pause = Pause()
    agent = make_agent(
        [ToolCall("weather"), pause], middlewares=[ReMeMemoryMiddleware(memory)], tools=[Weather()]
    )
    await interrupted(agent, user("Weather?"), pause)
    asked, answer = memory.log("s1")
    assert asked.text == "Weather?"
    assert [b.type for b in answer.blocks] == ["tool_call", "tool_result"]
    assert "interruption" not in str(memory.sessions)


async def test_a_model_error_keeps_what_was_said(memory: InMemoryService) -> None:
    agent = make_agent(
        [ToolCall("weather"), ConnectionError("down"), "Sunny."],
        middlewares=[ReMeMemoryMiddleware(memory)],
        tools=[Weather()],
    )
    with pytest.raises(ConnectionError, match="down"):
        await agent.reply(user("Weather?"))
    assert [m.role for m in memory.log("s1")] == ["user", "assistant"]
    await agent.reply(user("Again?"))
    assert [m.text for m in memory.log("s1")] == ["Weather?", "", "Again?", "Sunny."]


async def test_a_turn_whose_recording_failed_is_caught_up(memory: InMemoryService) -> None:
    agent = make_agent(
        [ConnectionError("down"), "Here."], middlewares=[ReMeMemoryMiddleware(memory)]
    )
    memory.failing = {"record": OSError("disk full")}
    with pytest.raises(ConnectionError):
        await agent.reply(user("first"))
    memory.failing = {}
    await agent.reply(user("second"))
    assert [text for _, text in memory.said("s1")] == ["first", "second", "Here."]


class OnceMore(MiddlewareBase):
    """Keeps the first end of a reply to itself; newer releases then begin another round."""

    async def on_reply(self, agent: Agent, input_kwargs: Any, next_handler: Any) -> Any:
        kept = False
        async for item in next_handler(**input_kwargs):
            if isinstance(item, ReplyEndEvent) and not kept:
                kept = True
                continue
            yield item


async def test_a_round_that_another_middleware_forced_is_recorded_when_it_fails(
    memory: InMemoryService,
) -> None:
    agent = make_agent(
        ["First.", ToolCall("weather"), ConnectionError("down")],
        middlewares=[OnceMore(), ReMeMemoryMiddleware(memory)],
        tools=[Weather()],
    )
    with contextlib.suppress(ConnectionError):
        await agent.reply(user("Weather?"))
    forced = len(script_of(agent).requests) > 1
    kinds = [block.type for block in memory.log("s1")[1].blocks]
    assert kinds == ["text", *["tool_call", "tool_result"] * forced]


async def test_a_refused_input_is_not_recorded(memory: InMemoryService) -> None:
    agent = make_agent(["Hi."], middlewares=[ReMeMemoryMiddleware(memory)])
    with pytest.raises(ValueError, match="Invalid message"):
        await agent.reply(Msg(name="system", role="system", content=[]))
    assert memory.sessions == {}


async def test_a_listener_that_goes_away_loses_nothing(memory: InMemoryService) -> None:
    model = ScriptedChatModel([ToolCall("weather"), "Sunny all day."], stream=True)
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)], tools=[Weather()])
    stream: Any = agent.reply_stream(user("Weather?"))
    async with contextlib.aclosing(stream) as events:
        async for event in events:
            if isinstance(event, TextBlockDeltaEvent):
                break
    # AgentScope closes the generators inside when they are collected; the loop does it then.
    await asyncio.wait_for(memory.recorded.wait(), timeout=10)
    assert [m.role for m in memory.log("s1")] == ["user", "assistant"]
