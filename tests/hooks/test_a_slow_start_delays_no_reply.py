"""A memory that opens late, or never, costs a reply no more than the deadline of recall."""

from __future__ import annotations

import asyncio

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme.agentscope_v1 import ReMeLongTermMemory
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.hooks import attach_v1
from agentscope_reme.runtime import starting
from agentscope_reme.settings import Settings
from agentscope_reme.testing import Request
from agentscope_reme.testing.script import Step
from tests.agentscope_v1.list_memory import ListMemory

TEA = "Tea is served at four."


class SlowMemory(ListMemory):
    def __init__(self) -> None:
        super().__init__([TEA], settings=Settings(recall_deadline_ms=20))
        self.may_open = asyncio.Event()
        self.starts = 0

    async def start(self) -> None:
        self.starts += not self.started
        await self.may_open.wait()
        await super().start()


def friday(service: SlowMemory, kind: str, *steps: Step) -> ReActAgent:
    model = ScriptedChatModel(steps)
    if kind == "long-term memory":
        return ReActAgent(
            "Friday",
            "You help.",
            model,
            OpenAIChatFormatter(),
            long_term_memory=ReMeLongTermMemory(service, "s"),
            long_term_memory_mode="static_control",
        )
    agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
    attach_v1(service, agent, session_id="s")
    return agent


def ask(text: str) -> Msg:
    return Msg("user", text, "user")


kinds = pytest.mark.parametrize("kind", ["hooks", "long-term memory"])


@kinds
async def test_recall_gives_up_and_the_turn_is_saved_once_it_is_open(kind: str) -> None:
    service = SlowMemory()

    def answer(request: Request) -> str:
        service.may_open.set()  # only now: the model was asked while memory was still opening
        return "no idea" if TEA not in request.text else "at four"

    agent = friday(service, kind, answer, answer)
    await agent(ask("When is tea?"))
    assert service.said("s") == ["When is tea?", "no idea"]

    await agent(ask("when is it served?"))
    assert service.said("s")[-1] == "at four"
    assert service.starts == 1


@kinds
async def test_a_start_that_hangs_ends_no_reply(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_PATIENCE_SECONDS", 0.05)
    service = SlowMemory()
    agent = friday(service, kind, "one", "two", "three")
    async with asyncio.timeout(5):
        assert (await agent(ask("a"))).get_text_content() == "one"
        assert (await agent(ask("b"))).get_text_content() == "two"
    assert service.sessions == {}
    assert service.failures

    service.may_open.set()
    await agent(ask("c"))
    assert service.said("s") == ["a", "one", "b", "two", "c", "three"]
    assert service.starts == 1


async def test_history_from_before_is_saved_after_the_reply() -> None:
    service = SlowMemory()
    agent = friday(service, "hooks", lambda _: service.may_open.set() or "one")
    await agent.memory.add(ask("long ago"))

    await agent(ask("a"))

    assert service.said("s") == ["long ago", "a", "one"]
    assert [where for where, _ in service.failures] == ["hook.recall"]
