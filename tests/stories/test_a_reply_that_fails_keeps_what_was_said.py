"""The model of an agent fails and the memory is closed: what the person said is in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import ScriptedChatModel
from tests.stories.agents import make_agent, say

SAID = "The heron nests in May."


def failing() -> ScriptedChatModel:
    return ScriptedChatModel([ConnectionError("the model is down")])


async def fail(agent: object, text: str = SAID) -> None:
    with pytest.raises(Exception, match="the model is down"):
        await say(agent, text)


async def logged(reme: ReMe) -> list[str]:
    found = await reme.search("heron", limit=5)
    return [hit.text for hit in found.hits]


async def test_it_is_saved_at_the_close(open_memory: Callable[..., ReMe]) -> None:
    agent = make_agent(failing())
    async with open_memory() as reme:
        reme.attach(agent, session_id="s")
        await fail(agent)
    async with open_memory() as reme:
        assert SAID in (await logged(reme))[0]
        assert (await reme.status()).failures == {}


async def test_so_it_is_by_a_memory_that_nobody_started(open_memory: Callable[..., ReMe]) -> None:
    agent, reme = make_agent(failing()), open_memory()
    reme.attach(agent, session_id="s", recall="off")
    await fail(agent)
    await reme.close()
    async with open_memory() as reme:
        assert SAID in (await logged(reme))[0]


async def test_nothing_is_saved_of_an_agent_that_was_detached(
    open_memory: Callable[..., ReMe],
) -> None:
    agent = make_agent(failing())
    async with open_memory() as reme:
        handle = reme.attach(agent, session_id="s")
        handle.detach()
        await fail(agent)
    async with open_memory() as reme:
        assert await logged(reme) == []


async def test_nor_of_one_that_was_detached_between_two_replies(
    open_memory: Callable[..., ReMe],
) -> None:
    agent = make_agent(ScriptedChatModel(["Noted.", ConnectionError("the model is down")]))
    async with open_memory() as reme:
        handle = reme.attach(agent, session_id="s", recall="off")
        await say(agent, "The stork nests in April.")
        handle.detach()
        await fail(agent)
    async with open_memory() as reme:
        assert len((await reme.search("stork")).hits) == 1
        assert await logged(reme) == []


@pytest.mark.skipif(installed_line() != 1, reason="2.x records at the end of the reply")
async def test_a_lock_of_others_delays_no_close_for_long(open_memory: Callable[..., ReMe]) -> None:
    patient = Settings(
        watch=False, fsync=False, record_patience_seconds=60, close_drain_seconds=0.1
    )
    agents = [make_agent(failing()) for _ in range(3)]
    reme = open_memory(settings=patient)
    await reme.start()
    for number, agent in enumerate(agents):
        reme.attach(agent, session_id=f"s{number}", recall="off")
        await fail(agent)
    with FileLock(Path(reme.workspace.locks, "session-s0.lock")):
        before = reme.application.components.failures.counts
        await reme.close()
        assert not reme.is_open
        after = reme.application.components.failures.counts
    assert (before, after) == ({}, {"hook.auto_memory": 1})


@pytest.mark.skipif(installed_line() != 1, reason="2.x records at the end of the reply")
async def test_who_gives_up_waiting_for_a_close_does_not_give_up_the_close(
    open_memory: Callable[..., ReMe],
) -> None:
    patient = Settings(watch=False, fsync=False, record_patience_seconds=60)
    agent, reme = make_agent(failing()), open_memory(settings=patient)
    await reme.start()
    reme.attach(agent, session_id="s", recall="off")
    await fail(agent)
    with FileLock(Path(reme.workspace.locks, "session-s.lock")):
        closing = asyncio.create_task(reme.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()
        await reme.close()
    assert not reme.is_open


@pytest.mark.skipif(installed_line() != 1, reason="2.x records at the end of the reply")
async def test_a_start_while_a_close_saves_opens_it_again(open_memory: Callable[..., ReMe]) -> None:
    agent, reme = make_agent(failing()), open_memory()
    await reme.start()
    reme.attach(agent, session_id="s", recall="off")
    await fail(agent)
    get_memory, saving, may_save = agent.memory.get_memory, asyncio.Event(), asyncio.Event()

    async def slow(*args: object, **kwargs: object) -> object:
        saving.set()
        await may_save.wait()
        return await get_memory(*args, **kwargs)

    agent.memory.get_memory = slow
    closing = asyncio.create_task(reme.close())
    await saving.wait()
    starting = asyncio.create_task(reme.start())
    await asyncio.sleep(0)
    may_save.set()
    await asyncio.gather(closing, starting)
    assert reme.is_open
    assert SAID in (await logged(reme))[0]
    await reme.close()


@pytest.mark.skipif(installed_line() != 1, reason="2.x records at the end of the reply")
async def test_a_window_whose_reading_was_cancelled_leaves_nothing_open(
    open_memory: Callable[..., ReMe],
) -> None:
    agents = [make_agent(failing()) for _ in range(2)]
    reme = open_memory()
    await reme.start()
    for number, agent in enumerate(agents):
        reme.attach(agent, session_id=f"s{number}", recall="off")
        await fail(agent)

    async def cancelled(*_: object, **__: object) -> object:
        raise asyncio.CancelledError

    agents[0].memory.get_memory = cancelled
    await reme.close()
    assert not reme.is_open
    async with open_memory() as reme:
        assert SAID in (await logged(reme))[0]
