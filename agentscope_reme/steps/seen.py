"""What one tool context was already shown, so that a second search brings something new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

_MOST_CONTEXTS: Final = 1024


class SeenChunks:
    """Chunk ids by tool context, forgotten after a while.

    Args:
        ttl_seconds: how long a chunk counts as shown.
    """

    def __init__(self, ttl_seconds: float) -> None:
        self._ttl = ttl_seconds
        self._contexts: OrderedDict[str, dict[str, float]] = OrderedDict()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, tool_context_id: str) -> asyncio.Lock:
        """Held by a search, so that a second one in the same context sees what it showed."""
        return self._turns.setdefault(tool_context_id, asyncio.Lock())

    def known(self, tool_context_id: str, now: float) -> frozenset[str]:
        """Chunk ids shown to the context within the time limit; `now` is monotonic seconds."""
        return frozenset(self._fresh(tool_context_id, now))

    def add(self, tool_context_id: str, chunk_ids: Iterable[str], now: float) -> None:
        """Remember what was just shown; the oldest contexts make room."""
        shown = self._fresh(tool_context_id, now) | dict.fromkeys(chunk_ids, now)
        self._contexts[tool_context_id] = shown
        self._contexts.move_to_end(tool_context_id)
        while len(self._contexts) > _MOST_CONTEXTS:
            self._contexts.popitem(last=False)

    def _fresh(self, tool_context_id: str, now: float) -> dict[str, float]:
        shown = self._contexts.get(tool_context_id, {})
        return {chunk: at for chunk, at in shown.items() if now - at < self._ttl}
