"""A memory that opens late, or never, costs a reply no more than the deadline of recall."""

from __future__ import annotations

import asyncio

import pytest

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.runtime import starting
from agentscope_reme.settings import Settings
from agentscope_reme.testing import Request
from tests.agentscope_v2.agents import make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


class SlowMemory(InMemoryService):
    def __init__(self) -> None:
        super().__init__()
        self.limits = Settings(recall_deadline_ms=20)
        self.known["tea"] = "tea: green"
        self.may_open = asyncio.Event()
        self.starts = 0

    async def start(self) -> None:
        self.starts += not self.may_open.is_set()
        await self.may_open.wait()


@pytest.fixture
async def slow() -> SlowMemory:
    return SlowMemory()


async def test_recall_gives_up_and_the_turn_is_saved_once_it_is_open(slow: SlowMemory) -> None:
    def answer(request: Request) -> str:
        slow.may_open.set()  # only now: the model was asked while memory was still opening
        return "Green." if "tea: green" in request.text else "No idea."

    agent = make_agent([answer, answer], middlewares=[ReMeMemoryMiddleware(slow)])
    await agent.reply(user("tea?"))
    assert slow.said("s1") == [("user", "tea?"), ("assistant", "No idea.")]
    assert script_of(agent).requests[0].tool_names == ["memory_search", "remember"]

    await agent.reply(user("tea again?"))
    assert slow.said("s1")[-1] == ("assistant", "Green.")
    assert slow.starts == 1


@pytest.mark.parametrize("mode", ["both", "static", "agent", "off"])
async def test_a_start_that_hangs_ends_no_reply(
    slow: SlowMemory, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "START_PATIENCE_SECONDS", 0.05)
    middleware = ReMeMemoryMiddleware(slow, mode=mode)  # type: ignore[arg-type]
    agent = make_agent(["One.", "Two.", "Three."], middlewares=[middleware])
    async with asyncio.timeout(5):
        assert (await agent.reply(user("a"))).get_text_content() == "One."
        assert (await agent.reply(user("b"))).get_text_content() == "Two."
    assert slow.sessions == {}
    assert "middleware.record" in {where for where, _ in slow.failures}

    slow.may_open.set()
    await agent.reply(user("c"))
    assert [text for _, text in slow.said("s1")] == ["a", "One.", "b", "Two.", "c", "Three."]
    assert slow.starts == 1
