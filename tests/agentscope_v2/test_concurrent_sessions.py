"""One middleware serves many sessions at once and mixes nothing."""

from __future__ import annotations

import asyncio

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.testing import Request, ToolCall
from tests.agentscope_v2.agents import Weather, make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


async def test_two_replies_interleave_without_meeting(memory: InMemoryService) -> None:
    memory.known = {"tea": "tea: green", "bus": "bus: number 7"}
    middleware = ReMeMemoryMiddleware(memory)
    barrier = asyncio.Barrier(2)

    async def together(_: Request) -> ToolCall:
        await barrier.wait()
        return ToolCall("weather")

    async def reply(session: str, question: str, answer: str) -> str:
        agent = make_agent(
            [together, answer], middlewares=[middleware], tools=[Weather()], session_id=session
        )
        await agent.reply(user(question))
        return "".join(request.text for request in script_of(agent).requests)

    tea, bus = await asyncio.gather(
        reply("s1", "tea?", "Green."), reply("s2", "bus?", "Number seven.")
    )
    assert "tea: green" in tea
    assert "bus: number 7" not in tea
    assert "bus: number 7" in bus
    assert [m.text for m in memory.log("s1")] == ["tea?", "Green."]
    assert [m.text for m in memory.log("s2")] == ["bus?", "Number seven."]


async def test_many_turns_of_many_sessions_are_all_recorded_once(memory: InMemoryService) -> None:
    middleware = ReMeMemoryMiddleware(memory)

    async def converse(session: str) -> None:
        answers = [f"{session} answer {n}" for n in range(3)]
        agent = make_agent(answers, middlewares=[middleware], session_id=session)
        for n in range(3):
            await agent.reply(user(f"{session} question {n}"))

    sessions = [f"s{n}" for n in range(8)]
    await asyncio.gather(*(converse(session) for session in sessions))
    for session in sessions:
        texts = [m.text for m in memory.log(session)]
        assert texts == [
            f"{session} {kind} {n}" for n in range(3) for kind in ("question", "answer")
        ]
    assert memory.calls["record"] == 24
