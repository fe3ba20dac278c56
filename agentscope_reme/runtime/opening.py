"""Opened once and closed once, however many callers ask, in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from agentscope_reme.errors import BadInput, Closed


class Opening:
    """The life of a memory: not begun, open, closed, and begun again.

    Args:
        name: what errors name.
        begin: opens it; called again after it failed.
        end: closes it again.
    """

    def __init__(
        self,
        name: str,
        begin: Callable[[], Awaitable[object]],
        end: Callable[[], Awaitable[object]],
    ) -> None:
        self._name: Final = name
        self._begin: Final = begin
        self._end: Final = end
        self._opening: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls need not wait for a start."""
        opening = self._opening
        usable = opening is not None and opening.done() and not _failed(opening)
        return usable and self._closing is None

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or is being closed, and not begun again."""
        return self._closing is not None

    async def start(self) -> None:
        """Open; again does nothing.

        Who is cancelled while waiting gives up the wait, not the start. After `close` it can be
        started again, also after one that failed: that is told to whoever closed it.

        Raises:
            BadInput: it belongs to another event loop.
        """
        closing = self._closing
        if closing is not None:
            if not closing.done():  # one of an earlier event loop cannot be waited for here
                self._require_this_loop(closing)
                await asyncio.wait({closing})
            if self._closing is closing:  # else another caller has begun anew meanwhile
                self._closing = self._opening = None
        if self._opening is None or _failed(self._opening):
            self._opening = asyncio.create_task(self._open(), name="start of a memory")
        self._require_this_loop(self._opening)
        await asyncio.shield(self._opening)

    async def ready(self) -> None:
        """Open when nobody has yet.

        Raises:
            Closed: it was closed.
        """
        self.refuse_closed()
        await self.start()

    async def close(self) -> None:
        """Close what was opened; again does nothing.

        Raises:
            BadInput: it belongs to another event loop.
        """
        if self._opening is None:
            return
        self._require_this_loop(self._opening)
        if self._closing is None:
            self._closing = asyncio.create_task(
                self._close(self._opening), name="close of a memory"
            )
        await asyncio.shield(self._closing)

    def refuse_closed(self) -> None:
        """Let pass what was not closed.

        Raises:
            Closed: it was.
        """
        if self._closing is not None:
            raise Closed(
                self._name,
                "the memory was closed",
                "Call `start()` to use it again, or open a new one.",
            )

    async def _open(self) -> None:
        await self._begin()

    async def _close(self, opening: asyncio.Task[None]) -> None:
        await asyncio.wait({opening})
        if not _failed(opening):
            await self._end()

    def _require_this_loop(self, task: asyncio.Task[None]) -> None:
        if task.get_loop() is not asyncio.get_running_loop():
            raise BadInput(
                self._name,
                "the memory was started in another event loop",
                "Use one `asyncio.run` for its whole life, or open a new one.",
            )


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
