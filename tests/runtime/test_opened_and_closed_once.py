"""A memory is opened once and closed once, however many callers ask at the same moment."""

from __future__ import annotations

import asyncio

import pytest

from agentscope_reme.errors import BadInput, Closed
from agentscope_reme.runtime.opening import Opening


class Memory:
    """Counts how often it is opened and closed; its end waits for a test."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.may_end = asyncio.Event()
        self.faults: list[OSError] = []
        self.life = Opening("memory", self.begin, self.end)

    async def begin(self) -> None:
        self.begun += 1

    async def end(self) -> None:
        await self.may_end.wait()
        if self.faults:
            raise self.faults.pop()
        self.ended += 1


async def test_those_who_start_it_while_it_closes_open_it_once() -> None:
    memory = Memory()
    await asyncio.gather(memory.life.start(), memory.life.start())
    assert memory.begun == 1
    closing = asyncio.gather(memory.life.close(), memory.life.close())
    starting = asyncio.gather(*(memory.life.start() for _ in range(3)))
    await asyncio.sleep(0)
    assert not memory.life.is_open
    memory.may_end.set()
    await closing
    await starting
    assert (memory.begun, memory.ended) == (2, 1)
    assert memory.life.is_open


async def test_a_close_that_failed_is_told_once_and_keeps_no_start_from_opening() -> None:
    memory = Memory()
    memory.may_end.set()
    memory.faults.append(OSError("the disk is full"))
    await memory.life.start()
    with pytest.raises(OSError, match="full"):
        await memory.life.close()
    await memory.life.start()
    assert memory.life.is_open
    await memory.life.close()
    assert (memory.begun, memory.ended) == (2, 1)


def test_what_was_closed_in_one_event_loop_opens_in_another() -> None:
    memory = Memory()
    memory.may_end.set()

    async def used() -> None:
        await memory.life.start()
        await memory.life.close()

    asyncio.run(used())
    asyncio.run(used())
    assert (memory.begun, memory.ended) == (2, 2)


async def test_once_closed_it_is_not_opened_by_a_mere_call() -> None:
    memory = Memory()
    memory.may_end.set()
    await memory.life.close()  # nothing to close
    await memory.life.ready()
    await memory.life.close()
    with pytest.raises(Closed, match="start"):
        await memory.life.ready()


def test_a_close_in_another_loop_is_not_waited_for() -> None:
    memory = Memory()
    other = asyncio.new_event_loop()
    other.run_until_complete(memory.life.start())
    closing = other.create_task(memory.life.close())
    other.run_until_complete(asyncio.sleep(0))

    async def start_here() -> None:
        async with asyncio.timeout(10):
            await memory.life.start()

    with pytest.raises(BadInput, match="another event loop"):
        asyncio.run(start_here())
    memory.may_end.set()
    other.run_until_complete(closing)
    other.close()
