"""A memory starts once; who waits for it may give up, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.runtime import starting
from agentscope_reme.runtime.starting import is_open, start_soon, started


class Gate:
    """A memory that opens when a test says so."""

    def __init__(self) -> None:
        self.starts = 0
        self.cancelled = 0
        self.may_open = asyncio.Event()
        self.error: Exception | None = None
        self.failures: list[tuple[str, BaseException]] = []

    async def start(self) -> None:
        self.starts += 1
        try:
            await self.may_open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error

    def report_failure(self, where: str, error: BaseException) -> None:
        self.failures.append((where, error))


async def a_few_rounds() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def gate() -> Any:
    return Gate()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_PATIENCE_SECONDS", 0.02)


async def test_an_open_memory_is_not_waited_for(gate: Any) -> None:
    gate.may_open.set()
    assert await is_open(gate)
    await started(gate)
    assert gate.starts == 2  # starting an open memory does nothing, so it is simply asked


async def test_a_deadline_ends_the_wait_and_not_the_start(gate: Any) -> None:
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await started(gate)
    assert not await is_open(gate)
    gate.may_open.set()
    await started(gate)
    assert (gate.starts, gate.cancelled) == (1, 0)


async def test_a_start_that_hangs_is_waited_for_once(gate: Any, impatient: None) -> None:
    with pytest.raises(StorageFailed, match="not open after"):
        await started(gate)
    with pytest.raises(StorageFailed):
        async with asyncio.timeout(0.01):
            await started(gate)
    gate.may_open.set()
    await a_few_rounds()
    await started(gate)
    assert (gate.starts, gate.cancelled) == (2, 0)  # the second found it open


async def test_who_waits_gets_the_failure_and_the_next_call_tries_again(gate: Any) -> None:
    gate.error = OSError("read-only")
    gate.may_open.set()
    for _ in range(2):
        with pytest.raises(OSError, match="read-only"):
            await started(gate)
    with pytest.raises(OSError, match="read-only"):
        await is_open(gate)
    assert (gate.starts, gate.failures) == (3, [])


async def test_a_failure_nobody_waits_for_is_reported(gate: Any) -> None:
    gate.error = OSError("read-only")
    start_soon(gate)
    assert not await is_open(gate)
    gate.may_open.set()
    await a_few_rounds()
    assert gate.failures == [("start", gate.error)]


def test_every_event_loop_has_its_own_start() -> None:
    async def open_it(gate: Any) -> None:
        gate.may_open = asyncio.Event()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await started(gate)

    gate = asyncio.run(_made())
    asyncio.run(open_it(gate))
    asyncio.run(open_it(gate))
    assert gate.starts == 2


async def _made() -> Any:
    return Gate()
