"""The contract of `BaseVectorStore` over any `Engine`.

One collection holds the nodes; they are the truth. One for each space holds vectors, with what
they are filtered by and a fingerprint of the text they are of. What a search finds there is
compared with the node, so that a vector that was left behind is no answer. Engines know no
transactions over several collections, therefore:

- a node says in which spaces it has a vector, and stops saying so before that vector changes;
- it says so again once the vector is there. A crash in between leaves a node whose vector is
  missing, which `missing_vectors` tells, never one that has the wrong one.

Whoever changes anything holds a lock, in a file of the memory's folder. Processes on several
machines, or with several folders, do not see each other's lock: two of them that change one node at
the same moment may leave the older change, or a node without a usable vector until it is put again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.store.vectors import Floats, Vector
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, NodeFilter
from agentscope_reme.typed.stores.attributes import (
    AnyOf,
    Condition,
    NoneOf,
    asked,
    presence,
)
from agentscope_reme.typed.stores.base import (
    EVERY_NODE,
    KEPT_SPACES,
    BaseVectorStore,
    Missing,
    Nodes,
)
from agentscope_reme.typed.stores.checks import (
    check_space,
    check_widths,
    checked_puts,
    checked_vectors,
    matching_vector,
)
from agentscope_reme.typed.stores.conditions import clamped, matches, sort_nodes
from agentscope_reme.typed.stores.engine import AT_ONCE, Asking, Engine, Record
from agentscope_reme.typed.stores.engine_spaces import EngineSpaces
from agentscope_reme.typed.stores.node_records import (
    NodeChange,
    fingerprint,
    key_of,
    node_of,
    vector_record,
)
from agentscope_reme.typed.stores.ranking import ROUNDING, ranked
from agentscope_reme.typed.stores.turns import Turns

_MORE_THAN_WANTED: Final = 8
_WIDER: Final = 4
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")


class EngineStore(BaseVectorStore):
    """A store in a database.

    Args:
        engine: the database.
        collection: begins the names of its collections there.
        folder: where processes on this machine wait for each other; made when missing.

    Raises:
        BadInput: not every engine takes that name.
    """

    def __init__(self, engine: Engine, collection: str, folder: Path) -> None:
        if not _NAME.fullmatch(collection):
            raise BadInput(
                collection,
                "not every database takes this as a name",
                "Use up to 61 lower case letters, digits, `_` and `-`.",
            )
        self._ask: Final = Asking(engine)
        self._nodes: Final = f"{collection}-nodes"
        self._spaces: Final = EngineSpaces(self._ask, collection)
        self._lock: Final = threading.RLock()
        self._turns: Final = Turns(folder / f"{engine.name.lower()}-{collection}.lock")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep every other thread, and every other process with this folder, from changing it."""
        with self._lock, self._turns.taken():
            yield

    def open(self) -> None:
        """Connect, and make what is missing.

        Raises:
            StorageFailed: the database cannot be reached, or refuses.
        """
        with self._lock:
            self._ask(self._ask.engine.open)
            self._ask(self._ask.engine.ensure, self._nodes, None)
            self._spaces.open()

    def close(self) -> None:
        """Let go; it can be opened again."""
        with self._lock:
            self._ask(self._ask.engine.close)

    def put(
        self,
        nodes: Sequence[MemoryNode],
        *,
        space_id: str = "",
        vectors: Mapping[str, Vector] | None = None,
    ) -> None:
        """Store nodes and their vectors; after a failure, what was acknowledged before stands."""
        wanted, ready = checked_puts(nodes, space_id, vectors)
        if not wanted:
            return
        with self.changing():
            spaces = self._settle_width(space_id, ready)
            old = self._ask.fetch(self._nodes, [key_of(memory_id) for memory_id in wanted])
            changes = [
                NodeChange(node, old.get(key_of(node.memory_id))) for node in wanted.values()
            ]
            for change in changes:
                change.vector = ready.get(change.node.memory_id)
            for space in spaces:
                self._follow(space, changes, is_given=space == space_id)
            self._ask.put(self._nodes, [change.record for change in changes])

    def delete(self, memory_ids: Sequence[str]) -> list[str]:
        """Forget nodes, then their vectors."""
        with self.changing():
            keys = {key_of(memory_id): memory_id for memory_id in memory_ids}
            found = self._ask.fetch(self._nodes, list(keys))
            self._forget([*found.values()])
        return [memory_id for key, memory_id in keys.items() if key in found]

    def get(self, memory_ids: Sequence[str]) -> list[MemoryNode]:
        """The nodes with these ids, in this order."""
        keys = [key_of(memory_id) for memory_id in memory_ids]
        found = self._ask.fetch(self._nodes, list(dict.fromkeys(keys)))
        return [node_of(found[key]) for key in keys if key in found]

    def search(
        self, vector: Vector, *, space_id: str, limit: int, where: NodeFilter
    ) -> list[FoundNode]:
        """The nodes most similar by cosine; more are asked for until none is lacking."""
        check_space(space_id)
        asks = asked(where)
        wanted = matching_vector(vector, space_id, self._width(space_id, len(vector)))
        if limit < 1 or asks.nothing or self._spaces.width(space_id) != len(wanted):
            return []
        count = limit + _MORE_THAN_WANTED
        while True:
            hits = self._spaces.nearest(space_id, wanted, count, asks.conditions)
            nodes = self._current({hit.key: hit.body for hit in hits}, where)
            scored = [(nodes[h.key].memory_id, h.cosine) for h in hits if h.key in nodes]
            best = ranked(scored, limit)
            if len(hits) < count:
                break
            if len(best) == limit and hits[-1].cosine < best[-1][1] - 2 * ROUNDING:
                break
            count *= _WIDER
        by_id = {node.memory_id: node for node in nodes.values()}
        return [FoundNode(by_id[memory_id], cosine) for memory_id, cosine in best]

    def list(
        self,
        where: NodeFilter,
        *,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        """Nodes by a field or metadata key; all that are meant are read, and sorted here."""
        return sort_nodes(self._meant(where), sort_key, reverse=reverse, limit=limit)

    def count(self, where: NodeFilter) -> int:
        """How many nodes there are."""
        asks = asked(where)
        if asks.nothing:
            return 0
        if asks.exact:
            return self._ask(self._ask.engine.count, self._nodes, asks.conditions)
        return sum(1 for _ in self._meant(where))

    def clear(self, where: NodeFilter) -> int:
        """Forget every node that is meant."""
        with self.changing():
            return len(self.delete([node.memory_id for node in self._meant(where)]))

    def missing_vectors(self, space_id: str, limit: int, where: NodeFilter = EVERY_NODE) -> Missing:
        """Those of the nodes without a vector in this space, as ``(memory_id, embedded text)``."""
        check_space(space_id)
        found: Missing = []
        most = clamped(limit) or 0
        for node in self._meant(where, NoneOf(presence(space_id))):
            if len(found) >= most:
                break
            found.append((node.memory_id, node.embedded_text))
        return found[:most]

    def put_vectors(self, space_id: str, texts: Mapping[str, tuple[str, Vector]]) -> None:
        """Give nodes that still say the same their vectors."""
        ready = checked_vectors(space_id, {key: vector for key, (_, vector) in texts.items()})
        if not ready:
            return
        with self.changing():
            self._settle_width(space_id, ready)
            found = self._ask.fetch(self._nodes, [key_of(memory_id) for memory_id in texts])
            nodes = [node_of(record) for record in found.values()]
            same = [node for node in nodes if node.embedded_text == texts[node.memory_id][0]]
            keys = [key_of(node.memory_id) for node in same]
            self._ask.flag(self._nodes, keys, presence(space_id), False)
            self._spaces.put(
                space_id, [vector_record(node, ready[node.memory_id]) for node in same]
            )
            self._ask.flag(self._nodes, keys, presence(space_id), True)

    def vectors(self, space_id: str, memory_ids: Sequence[str]) -> dict[str, Floats]:
        """The normalised vectors of nodes in a space; those without one are left out."""
        check_space(space_id)
        if self._spaces.width(space_id) is None:
            return {}
        rows = self._spaces.fetch(space_id, [key_of(memory_id) for memory_id in memory_ids])
        nodes = self._current({key: row.body for key, row in rows.items()}, NodeFilter())
        return {
            nodes[key].memory_id: row.vector
            for key, row in rows.items()
            if key in nodes and row.vector is not None
        }

    def pages(self, size: int = AT_ONCE) -> Iterator[Nodes]:
        """Every node."""
        for records in self._ask.scan(self._nodes, (), size):
            yield [node_of(record) for record in records]

    def spaces(self) -> dict[str, int]:
        """How many vectors each space has, the space that was written last first."""
        counts = {name: self._vectors_in(name) for name in self._spaces.names()}
        return {name: count for name, count in counts.items() if count}

    def _meant(self, where: NodeFilter, *more: Condition) -> Iterator[MemoryNode]:
        asks = asked(where)
        if asks.nothing:
            return
        for records in self._ask.scan(self._nodes, [*asks.conditions, *more]):
            yield from (node for node in map(node_of, records) if matches(node, where))

    def _current(self, fingerprints: Mapping[str, str], where: NodeFilter) -> dict[str, MemoryNode]:
        """Those nodes, by key, that are meant and still say what their vectors were made of."""
        found = self._ask.fetch(self._nodes, list(fingerprints))
        nodes = {key: node_of(record) for key, record in found.items()}
        return {
            key: node
            for key, node in nodes.items()
            if fingerprint(node) == fingerprints[key] and matches(node, where)
        }

    def _forget(self, records: Sequence[Record]) -> None:
        self._ask.delete(self._nodes, [record.key for record in records])
        for space in self._spaces.names():
            held = [record.key for record in records if record.attributes.get(presence(space))]
            self._spaces.delete(space, held)

    def _vectors_in(self, space_id: str) -> int:
        is_there = AnyOf(presence(space_id), (True,))
        return self._ask(self._ask.engine.count, self._nodes, [is_there])

    def _width(self, space_id: str, wanted: int) -> int | None:
        """The width of a space that has vectors; it is asked for once it is not as wanted."""
        width = self._spaces.width(space_id)
        if width in (None, wanted):
            return width
        self._spaces.names()
        return self._spaces.width(space_id) if self._vectors_in(space_id) else None

    def _settle_width(self, space_id: str, ready: Mapping[str, Floats]) -> Sequence[str]:
        """Make sure that a space takes these vectors, and is one of those that are kept: these."""
        if not ready:
            return self._spaces.names()
        width = len(next(iter(ready.values())))
        check_widths(space_id, ready, self._width(space_id, width))
        names = self._spaces.turn_to(space_id, width)
        for old in names[KEPT_SPACES:]:
            self._drop_space(old)
        return names[:KEPT_SPACES]

    def _drop_space(self, space_id: str) -> None:
        """Remove the vectors of a space; no node says any more that it has one there."""
        flag = presence(space_id)
        pages = self._ask.scan(self._nodes, [AnyOf(flag, (True,))])
        keys = [record.key for records in pages for record in records]
        self._ask.flag(self._nodes, keys, flag, False)
        self._spaces.drop(space_id)

    def _follow(self, space: str, changes: Sequence[NodeChange], *, is_given: bool) -> None:
        """Bring the vectors of one space in line with changed nodes."""
        flag = presence(space)
        vectors = {c.key: c.vector for c in changes if is_given and c.vector is not None}
        held = [change for change in changes if change.held(flag)]
        touched = [
            change
            for change in held
            if change.key in vectors or not (change.keeps_text and change.keeps_attributes)
        ]
        self._ask.flag(self._nodes, [change.key for change in touched], flag, False)
        kept = [c.key for c in touched if c.keeps_text and c.key not in vectors]
        rows = self._spaces.fetch(space, kept)
        vectors.update({k: row.vector for k, row in rows.items() if row.vector is not None})
        lost = [change.key for change in touched if change.key not in vectors]
        self._spaces.delete(space, lost)
        has_new = [change for change in changes if change.key in vectors]
        self._spaces.put(space, [vector_record(c.node, vectors[c.key]) for c in has_new])
        for change in {*held, *has_new}.difference(c for c in touched if c.key in lost):
            change.present.add(flag)
