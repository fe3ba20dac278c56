"""Events on their way from the task that makes them to whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Generic, TypeVar

from agentscope_reme.errors import ReMeError

E = TypeVar("E")


class Telling(Generic[E]):
    """Lets work in a task of its own tell what happens, one event after the other.

    Who stops listening, or is cancelled, cancels the work and waits for its end.
    """

    def __init__(self) -> None:
        self._events: asyncio.Queue[E | None] = asyncio.Queue()
        self._is_heard = True

    def tell(self, event: E) -> None:
        """Tell something; returns at once."""
        self._events.put_nowait(event)

    async def heard(self) -> None:
        """Wait until whoever listens is done with all that was told; not when nobody does."""
        if self._is_heard:
            await self._events.join()

    async def of(self, work: Coroutine[object, object, None]) -> AsyncGenerator[E, None]:
        """What the work tells, to its end; then its failure, if it had one."""
        task = asyncio.create_task(self._to_its_end(work))
        try:
            while (event := await self._events.get()) is not None:
                yield event
                self._events.task_done()
            await task
        finally:
            self._is_heard = False
            task.cancel()
            with suppress(asyncio.CancelledError, ReMeError):
                await task

    async def _to_its_end(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        finally:
            self._events.put_nowait(None)
