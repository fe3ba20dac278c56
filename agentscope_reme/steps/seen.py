"""What one tool context was already shown, so that a second search brings something new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

_MOST_CONTEXTS: Final = 1024


class SeenChunks:
    """Chunk ids by tool context, forgotten after a while.

    Args:
        ttl_seconds: how long a chunk counts as shown.
    """

    def __init__(self, ttl_seconds: float) -> None:
        self._ttl = ttl_seconds
        self._contexts: OrderedDict[str, dict[str, float]] = OrderedDict()

    def known(self, tool_context_id: str, now: float) -> frozenset[str]:
        """Chunk ids shown to the context within the time limit; `now` is monotonic seconds."""
        shown = self._contexts.get(tool_context_id, {})
        return frozenset(chunk for chunk, at in shown.items() if now - at < self._ttl)

    def add(self, tool_context_id: str, chunk_ids: Iterable[str], now: float) -> None:
        """Remember what was just shown; the oldest contexts make room."""
        shown = self._contexts.setdefault(tool_context_id, {})
        shown.update(dict.fromkeys(chunk_ids, now))
        self._contexts.move_to_end(tool_context_id)
        while len(self._contexts) > _MOST_CONTEXTS:
            self._contexts.popitem(last=False)
