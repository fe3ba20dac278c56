"""With `record_every_turns` a model reads several turns at once, and none is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import Request, ScriptedChatModel, ToolCall
from tests.stories.agents import make_agent, say

Open = Callable[..., ReMe]
EVERY_THIRD = Settings(watch=False, fsync=False, record_every_turns=3)
NOTHING = "Nothing to record."


async def without_flushing(reme: ReMe) -> None:
    """Wait for what was submitted; `drain` would submit what waits as well."""
    worker = reme._engine._distiller
    assert worker is not None
    assert await worker.drain(30)


def turn(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "role": "user", "content": f"turn {number}", **fields}


async def test_two_replies_wait_and_the_third_brings_all_of_them(open_memory: Open) -> None:
    memory_model = ScriptedChatModel([NOTHING])
    async with open_memory(memory_model, settings=EVERY_THIRD) as reme:
        agent = make_agent(ScriptedChatModel(["ok"] * 3))
        reme.attach(agent, session_id="s", recall="off")
        for number in range(2):
            await say(agent, f"question {number}")
            status = await reme.status()
            assert (status.pending_sessions, status.queued_jobs) == (["s"], 0)
        assert memory_model.requests == []
        await say(agent, "question 2")
        await reme.drain()
        assert (await reme.status()).pending_sessions == []
    (asked,) = memory_model.requests
    assert all(f"question {number}" in asked.text for number in range(3))


async def test_what_waits_is_distilled_at_the_close(open_memory: Open) -> None:
    model = ScriptedChatModel([NOTHING] * 2)
    async with open_memory(model, settings=EVERY_THIRD) as reme:
        await reme.record("a", [turn(1)])
        await reme.record("b", [turn(2)])
        assert model.requests == []
    model.assert_exhausted()
    async with open_memory() as reme:
        assert (await reme.status()).pending_sessions == []


async def test_draining_distils_what_waits(open_memory: Open) -> None:
    model = ScriptedChatModel([NOTHING])
    async with open_memory(model, settings=EVERY_THIRD) as reme:
        await reme.record("a", [turn(1)])
        assert await reme.drain()
        model.assert_exhausted()
        assert await reme.drain()


async def test_one_session_can_be_flushed_before_its_window_shrinks(open_memory: Open) -> None:
    model = ScriptedChatModel([NOTHING])
    async with open_memory(model, settings=EVERY_THIRD) as reme:
        reme.flush_soon("a")  # nothing waits
        await reme.record("a", [turn(1)])
        await reme.record("b", [turn(2)])
        reme.flush_soon("a")
        assert (await reme.status()).queued_jobs == 1
        await without_flushing(reme)
        assert (await reme.status()).pending_sessions == ["b"]
        model.assert_exhausted()
        model.script.add(NOTHING)  # for the close
    reme.flush_soon("a")  # closed: nothing happens


async def test_a_session_that_counts_its_turns_is_not_caught_up_early(open_memory: Open) -> None:
    model = ScriptedChatModel([NOTHING])
    async with open_memory(model, settings=EVERY_THIRD) as reme:
        await reme.record("waits", [turn(0)])
        for number in (1, 2, 3):
            await reme.record("full", [turn(number)])
        await without_flushing(reme)
        assert (await reme.status()).pending_sessions == ["waits"]
        model.script.add(NOTHING)


async def test_a_model_that_hangs_holds_no_close_longer_than_its_deadline(
    open_memory: Open,
) -> None:
    asked = asyncio.Event()

    async def hang(_: Request) -> str:
        asked.set()
        await asyncio.Event().wait()
        return NOTHING

    settings = Settings(watch=False, fsync=False, close_drain_seconds=0.05)
    async with open_memory(ScriptedChatModel([hang]), settings=settings) as reme:
        await reme.record("s", [turn(1)])
        await asked.wait()
        assert (await reme.status()).queued_jobs == 1
    async with open_memory() as reme:
        assert (await reme.status()).pending_sessions == ["s"]


async def test_what_is_distilled_is_what_was_said_when_it_was_recorded(open_memory: Open) -> None:
    model = ScriptedChatModel([NOTHING])
    message = turn(1)
    async with open_memory(model) as reme:
        await reme.record("s", [message])
        message["content"] = "something else"
        await reme.drain()
    assert "turn 1" in model.requests[0].text
    assert "something else" not in model.requests[0].text


async def test_a_message_of_an_agent_changed_later_is_distilled_as_it_was(
    open_memory: Open,
) -> None:
    memory_model = ScriptedChatModel([NOTHING])
    async with open_memory(memory_model) as reme:
        agent = make_agent(ScriptedChatModel(["ok"]))
        reme.attach(agent, session_id="s", recall="off")
        await say(agent, "as it was said")
        context = agent.memory.content if installed_line() == 1 else agent.state.context
        for entry in context:
            (entry[0] if installed_line() == 1 else entry).content = []
        await reme.drain()
    assert "as it was said" in memory_model.requests[0].text


async def test_a_session_no_provider_takes_is_left_after_three_vain_tries(
    open_memory: Open,
) -> None:
    def answer(request: Request) -> Any:
        return ValueError("content filter") if "poison" in request.text else NOTHING

    model = ScriptedChatModel([answer] * 20)
    async with open_memory(model) as reme:
        await reme.record("poison", [turn(0, content="poison")])
        await reme.drain()
        for number in range(1, 8):
            await reme.record(f"s{number}", [turn(number)])
            await reme.drain()
        assert (await reme.status()).pending_sessions == ["poison"]
    tries = sum("poison" in request.text for request in model.requests)
    assert tries == 1 + 3


async def test_cards_know_their_tags_or_why_they_have_none(open_memory: Open) -> None:
    def write(name: str, tags: Any) -> ToolCall:
        card = {"name": name, "description": "d", "content": "c"}
        return ToolCall("daily_write", card | ({"metadata": {"memory_tags": tags}} if tags else {}))

    model = ScriptedChatModel(
        [write("a", ["Tea"]), "ok", write("b", None), "ok", write("c", [{"x": "!!"}]), "ok"]
    )
    async with open_memory(model) as reme:
        results = [await reme.auto_memory([turn(n)], session_id=s) for n, s in enumerate("abc")]
    assert [(r.success, r.pending) for r in results] == [(True, False)] * 3
    assert [r.tags for r in results[:2]] == [["tea"], []]
    assert [[failure.item for failure in r.auto_tag] for r in results[:2]] == [
        [],
        ["daily/2026-06-20/b.md"],
    ]
    assert len(results[2].tags) <= 3
