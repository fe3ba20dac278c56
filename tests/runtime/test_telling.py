"""Events reach whoever listens in order; who goes away stops the work."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agentscope_reme.errors import ModelFailed
from agentscope_reme.runtime.telling import Telling


async def test_work_waits_until_it_was_heard() -> None:
    telling: Telling[int] = Telling()
    order: list[str] = []

    async def work() -> None:
        for number in range(3):
            telling.tell(number)
            await telling.heard()
            order.append(f"after {number}")

    async for number in telling.of(work()):
        order += [f"heard {number}"]
    assert order == [f"{what} {n}" for n in range(3) for what in ("heard", "after")]


async def test_a_failure_comes_behind_what_was_told() -> None:
    telling: Telling[str] = Telling()

    async def work() -> None:
        telling.tell("so far")
        raise ModelFailed("m", "it failed", "Retry.")

    events = telling.of(work())
    assert await anext(events) == "so far"
    with pytest.raises(ModelFailed, match="it failed"):
        await anext(events)


@pytest.mark.parametrize("waits", [True, False])
async def test_who_stops_listening_stops_the_work(waits: bool) -> None:
    telling: Telling[int] = Telling()
    ended = asyncio.Event()

    async def work() -> None:
        try:
            telling.tell(1)
            if waits:
                await telling.heard()
            await asyncio.Event().wait()
        finally:
            telling.tell(2)
            await telling.heard()  # nobody is there to hear it
            ended.set()

    async with aclosing(telling.of(work())) as events:
        async for _ in events:
            break
    assert ended.is_set()
    assert len(asyncio.all_tasks()) == 1
