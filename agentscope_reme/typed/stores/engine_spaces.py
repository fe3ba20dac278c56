"""Which vector spaces a database has, and the vectors in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import Condition, short_hash
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

    def open(self) -> None:
        """Make the catalogue."""
        self._ask(self._ask.engine.ensure, self._catalogue, None)
        self._widths.clear()

    def names(self) -> list[str]:
        """The spaces that have or had vectors."""
        self._widths.clear()
        for records in self._ask.scan(self._catalogue, ()):
            for record in records:
                entry = json.loads(record.body)
                self._widths[str(entry["space_id"])] = int(entry["width"])
        return sorted(self._widths)

    def width(self, space_id: str) -> int | None:
        """Numbers per vector of a space; ``None`` when nobody ever wrote one."""
        if space_id not in self._widths:
            self.names()
        return self._widths.get(space_id)

    def begin(self, space_id: str, width: int) -> None:
        """Let a space that has no vectors take some of this width."""
        self._ask(self._ask.engine.ensure, self._collection(space_id, width), width)
        body = json.dumps({"space_id": space_id, "width": width})
        entry = Record(short_hash(space_id) * 2, body, {"n_width": float(width)})
        self._ask.put(self._catalogue, [entry])
        self._widths[space_id] = width

    def put(self, space_id: str, records: Sequence[Record]) -> None:
        """Store vectors of the width of the space."""
        if records:
            self._ask.put(self._known(space_id), records)

    def fetch(self, space_id: str, keys: Sequence[str]) -> Mapping[str, Record]:
        """The vectors with these keys, by key."""
        return self._ask.fetch(self._known(space_id), keys, with_vectors=True)

    def delete(self, space_id: str, keys: Sequence[str]) -> None:
        """Remove vectors."""
        self._ask.delete(self._known(space_id), keys)

    def nearest(
        self, space_id: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> Sequence[Near]:
        """The nearest vectors that meet every condition, best first."""
        nearest = self._ask.engine.nearest
        return self._ask(nearest, self._known(space_id), vector, limit, conditions)

    def _known(self, space_id: str) -> str:
        return self._collection(space_id, self.width(space_id) or 0)

    def _collection(self, space_id: str, width: int) -> str:
        return f"{self._prefix}-{short_hash(space_id)}-{width}"
