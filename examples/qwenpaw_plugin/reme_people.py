"""One open memory for each person an agent talks with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentscope_reme import ReMe


@dataclass(slots=True)
class _Open:
    reme: ReMe
    callers: int = 0


class People:
    """Opens a person's `ReMe` when it is first needed and closes the one idle longest.

    All of them belong to the event loop that uses them: `ReMe` refuses any other.

    Args:
        make: a memory for a person, not started; ``None`` stands for the agent itself.
        most_open: how many are kept open while nobody uses them.

    Attributes:
        seen: whose memory was used so far.
    """

    def __init__(self, make: Callable[[str | None], ReMe], most_open: int) -> None:
        self._make = make
        self._most_open = most_open
        self.seen: set[str | None] = set()
        self._open: dict[str | None, _Open] = {}  # the one used last stands last

    @asynccontextmanager
    async def memory_of(self, person: str | None) -> AsyncIterator[ReMe]:
        """The started memory of a person; it stays open at least as long as the block."""
        entry = self._open.pop(person, None) or _Open(self._make(person))
        self._open[person] = entry
        self.seen.add(person)
        entry.callers += 1
        try:
            await entry.reme.start()
            yield entry.reme
        finally:
            entry.callers -= 1
            await self._close_idle()

    async def close(self) -> None:
        """Close every memory, one in use as soon as its last caller is done.

        What was not distilled yet stays pending in the files.
        """
        self._most_open = 0
        await self._close_idle()

    async def _close_idle(self) -> None:
        idle = [person for person, entry in self._open.items() if not entry.callers]
        surplus = idle[: max(0, len(self._open) - self._most_open)]
        await asyncio.gather(*(self._open.pop(person).reme.close() for person in surplus))
