"""Which vector spaces a database has, and the vectors in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import Condition, short_hash
from agentscope_reme.typed.stores.base import KEPT_SPACES
from agentscope_reme.typed.stores.engine import Asking, Near, Record


class EngineSpaces:
    """A catalogue of spaces, and a collection for each.

    Args:
        ask: the database.
        prefix: begins the names of the collections.
    """

    def __init__(self, ask: Asking, prefix: str) -> None:
        self._ask = ask
        self._prefix = prefix
        self._catalogue = f"{prefix}-spaces"
        self._widths: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._made: dict[str, int] = {}  # what a space was written as when its collection was seen

    def open(self) -> None:
        """Make the catalogue."""
        self._ask(self._ask.engine.ensure, self._catalogue, None)
        self._widths.clear()

    def names(self) -> list[str]:
        """The spaces that have or had vectors, the one that was written last first."""
        self._widths.clear()
        self._written.clear()
        for records in self._ask.scan(self._catalogue, ()):
            for record in records:
                entry = json.loads(record.body)
                self._widths[str(entry["space_id"])] = int(entry["width"])
                self._written[str(entry["space_id"])] = int(entry.get("written", 0))
        return self._last_first()

    def width(self, space_id: str) -> int | None:
        """Numbers per vector of a space; ``None`` when nobody ever wrote one."""
        if space_id not in self._widths:
            self.names()
        return self._widths.get(space_id)

    def turn_to(self, space_id: str, width: int) -> list[str]:
        """Let a space be the one that was written last; one without vectors takes another width.

        Returns:
            The spaces there are then, as `names` tells them; the catalogue is read once.
        """
        names, earlier = self.names(), self._widths.get(space_id)
        is_last = earlier == width and names[0] == space_id
        written = max(self._written.values(), default=0) + (not is_last)
        if self._made.get(space_id) != written:
            self._ask(self._ask.engine.ensure, self._collection(space_id, width), width)
            self._made[space_id] = written
        if is_last:
            return names
        body = json.dumps({"space_id": space_id, "width": width, "written": written})
        entry = Record(_entry_key(space_id), body, {"n_width": float(width)})
        self._ask.put(self._catalogue, [entry])
        self._widths[space_id], self._written[space_id] = width, written
        if earlier not in (None, width):
            self._ask(self._ask.engine.drop, self._collection(space_id, earlier or 0))
        return self._last_first()

    def drop(self, space_id: str) -> None:
        """Remove a space. Should it end half-way, the catalogue still names it."""
        self._ask(self._ask.engine.drop, self._known(space_id))
        self._ask.delete(self._catalogue, [_entry_key(space_id)])
        self._widths.pop(space_id, None)

    def put(self, space_id: str, records: Sequence[Record]) -> None:
        """Store vectors of the width of the space."""
        if records:
            self._ask.put(self._known(space_id), records)

    def fetch(self, space_id: str, keys: Sequence[str]) -> Mapping[str, Record]:
        """The vectors with these keys, by key; none in a dropped space."""
        try:
            return self._ask.fetch(self._known(space_id), keys, with_vectors=True)
        except StorageFailed:
            if space_id in self.names()[:KEPT_SPACES]:
                raise
            return {}

    def delete(self, space_id: str, keys: Sequence[str]) -> None:
        """Remove vectors."""
        self._ask.delete(self._known(space_id), keys)

    def nearest(
        self, space_id: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> Sequence[Near]:
        """The nearest vectors that meet every condition, best first; none in a dropped space."""
        nearest = self._ask.engine.nearest
        try:
            return self._ask(nearest, self._known(space_id), vector, limit, conditions)
        except StorageFailed:
            if space_id in self.names()[:KEPT_SPACES]:
                raise
            return []

    def _last_first(self) -> list[str]:
        return sorted(self._widths, key=lambda name: (-self._written[name], name))

    def _known(self, space_id: str) -> str:
        return self._collection(space_id, self.width(space_id) or 0)

    def _collection(self, space_id: str, width: int) -> str:
        return f"{self._prefix}-{short_hash(space_id)}-{width}"


def _entry_key(space_id: str) -> str:
    return short_hash(space_id) * 2
