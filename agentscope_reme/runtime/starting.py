"""Waiting for a memory to start, without waiting for ever.

A first start reads the whole workspace, which may take longer than a reply may be delayed. So the
start runs in a task of its own: who waits here gives up after a while, the start goes on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.ports import MemoryService

START_PATIENCE_SECONDS: Final = 10.0
"""How old a start may grow before nothing waits for it any more.

Turns are saved on the reply path, so a start that hangs may delay a conversation by this much,
once: later turns are refused at once until it is over. What was not saved stays in the agent's
own memory and is saved with the next turn.
"""


@dataclass(slots=True)
class _Start:
    task: asyncio.Task[object]
    since: float
    waiting: int = 0


_under_way: dict[int, _Start] = {}  # by the id of a memory, which its task keeps alive


def start_soon(reme: MemoryService) -> None:
    """Start the memory, if it is not started, without waiting; a failure is reported to it."""
    if not _says_it_is_open(reme):
        _start_of(reme)


async def started(reme: MemoryService) -> None:
    """Return when the memory has started.

    Who is cancelled here, by a deadline say, gives up the wait and not the start. Nobody waits
    for a start that is older than `START_PATIENCE_SECONDS`.

    Raises:
        StorageFailed: it was not done in time; it goes on.
        ReMeError: it failed; the next call tries again.
    """
    if _says_it_is_open(reme):
        return
    start = _start_of(reme)
    age = asyncio.get_running_loop().time() - start.since
    await _wait(start, max(START_PATIENCE_SECONDS - age, 0.0))
    if not start.task.done() or start.task.cancelled():
        raise StorageFailed(
            "start",
            f"the memory was not open after {START_PATIENCE_SECONDS:g} seconds",
            "It goes on opening; look at its disk when this lasts.",
        )
    await start.task


async def is_open(reme: MemoryService) -> bool:
    """Whether the memory is open already; when not, its start has begun.

    Raises:
        ReMeError: the start failed at once.
    """
    start = _start_of(reme)
    await _wait(start, 0.0)
    if start.task.done() and not start.task.cancelled():
        await start.task
        return True
    return False


def _says_it_is_open(reme: MemoryService) -> bool:
    """Whether it need not be asked to start, which would take a task at every turn."""
    # Not `isinstance`: looking at a protocol's members takes longer than all the rest of it.
    return bool(getattr(reme, "is_open", False))


async def _wait(start: _Start, seconds: float) -> None:
    start.waiting += 1
    try:
        await asyncio.wait({start.task}, timeout=seconds)
    finally:
        start.waiting -= 1


def _start_of(reme: MemoryService) -> _Start:
    loop = asyncio.get_running_loop()
    known = _under_way.get(id(reme))
    if known is not None and known.task.get_loop() is loop and not known.task.done():
        return known
    start = _Start(loop.create_task(reme.start(), name="start of a memory"), loop.time())
    _under_way[id(reme)] = start

    def over(task: asyncio.Task[object]) -> None:
        if _under_way.get(id(reme)) is start:
            del _under_way[id(reme)]
        error = None if task.cancelled() else task.exception()
        if error is not None and not start.waiting:
            reme.report_failure("start", error)

    start.task.add_done_callback(over)
    return start
