"""Memory nodes in one SQLite file; their vectors are searched exactly, in memory.

The file is the truth and several processes may share it. What is in memory follows it: every write
leaves the numbers of the nodes it touched in ``changes``, and every search first takes over those
that are new, its own and those of others alike.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from agentscope_reme.store.vectors import Floats, Vector
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, NodeFilter
from agentscope_reme.typed.stores.base import EVERY_NODE, BaseVectorStore, Missing, Nodes
from agentscope_reme.typed.stores.checks import (
    check_space,
    check_widths,
    checked_puts,
    checked_vectors,
    matching_vector,
)
from agentscope_reme.typed.stores.conditions import clamped, is_text
from agentscope_reme.typed.stores.local_database import LocalDatabase
from agentscope_reme.typed.stores.local_spaces import (
    LoadedSpaces,
    drop_vectors,
    note_changes,
    space_number,
    vector_key,
    width_of,
    write_vectors,
)
from agentscope_reme.typed.stores.local_statements import (
    COLUMNS,
    condition,
    node_of,
    order,
    write_node,
)
from agentscope_reme.typed.stores.ranking import ranked
from agentscope_reme.typed.stores.salvage import bring_over
from agentscope_reme.typed.stores.set_aside import Salvage

_AT_ONCE: Final = 500
"""SQLite takes some thousand values in a statement, older ones 999."""
_NAMES: Final = ", ".join(COLUMNS)


class LocalVectorStore(BaseVectorStore):
    """A store in a folder, without a server.

    Args:
        folder: where ``memories.db`` stands; made when missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self._database: Final = LocalDatabase(Path(folder).absolute())
        self._loaded: Final = LoadedSpaces()
        self._lock: Final = threading.RLock()

    def open(self) -> None:
        """Open the file, or make it; a damaged one is set aside, and saved what can be read.

        Raises:
            StorageFailed: it cannot be written.
        """
        with self._lock:
            self._loaded.forget()
            self._database.open(bring_over)

    @property
    def set_aside(self) -> Sequence[str]:
        """The damaged files beside the one in use."""
        return self._database.set_aside

    @property
    def salvaged(self) -> Mapping[str, Salvage]:
        """What became of the memories in the damaged files, by their names."""
        return self._database.salvaged

    def close(self) -> None:
        """Let go of the file and of the vectors in memory; it can be opened again."""
        with self._lock:
            self._database.close()
            self._loaded.forget()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction: what is written inside is stored whole when it ends, or not at all."""
        with self._lock:
            try:
                with self._database.writing():
                    yield
            except BaseException:  # searches inside may have loaded what is not stored now
                self._loaded.forget()
                raise

    def put(
        self,
        nodes: Sequence[MemoryNode],
        *,
        space_id: str = "",
        vectors: Mapping[str, Vector] | None = None,
    ) -> None:
        """Store nodes and their vectors in one transaction."""
        wanted, ready = checked_puts(nodes, space_id, vectors)
        if not wanted:
            return
        with self._lock, self._database.writing() as connection:
            check_widths(space_id, ready, width_of(connection, space_id))
            texts = _texts_of(connection, list(wanted))
            numbers = {node.memory_id: write_node(connection, node) for node in wanted.values()}
            changed = [
                number
                for memory_id, number in numbers.items()
                if texts.get(memory_id, "") != wanted[memory_id].embedded_text
            ]
            drop_vectors(connection, changed)
            write_vectors(connection, space_id, [(numbers[key], ready[key]) for key in ready])
            note_changes(connection, numbers.values())

    def delete(self, memory_ids: Sequence[str]) -> list[str]:
        """Forget nodes; their text is overwritten on the disk."""
        with self._lock:
            with self._database.writing() as connection:
                found = _numbers_of(connection, memory_ids)
                _forget(connection, list(found.values()))
            if found:
                self._database.scrub()
        return [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in found]

    def get(self, memory_ids: Sequence[str]) -> list[MemoryNode]:
        """The nodes with these ids, in this order."""
        with self._lock, self._database.reading() as connection:
            found = _nodes(connection, "memory_id", memory_ids)
        nodes = {node.memory_id: node for node in found}
        return [nodes[memory_id] for memory_id in memory_ids if memory_id in nodes]

    def search(
        self, vector: Vector, *, space_id: str, limit: int, where: NodeFilter
    ) -> list[FoundNode]:
        """The nodes most similar by cosine, from one state of the file."""
        check_space(space_id)
        conditions, values = condition(where)
        with self._lock, self._database.reading() as connection:
            width = width_of(connection, space_id)
            wanted = matching_vector(vector, space_id, width)
            if limit < 1 or width is None:
                return []
            nodes = None
            if where.equal or where.between:
                rows = connection.execute(f"SELECT number FROM nodes WHERE {conditions}", values)
                nodes = np.fromiter((number for (number,) in rows), np.int64)
            numbers, scores = self._loaded.nearest(
                connection, space_id, wanted, limit, where, nodes
            )
            return _found(connection, numbers.tolist(), scores, limit)

    def list(
        self,
        where: NodeFilter,
        *,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        """Nodes by a field or metadata key."""
        conditions, values = condition(where)
        join, by, keys = order(sort_key, reverse=reverse)
        names = ", ".join(f"nodes.{name}" for name in COLUMNS)
        most = clamped(limit)
        with self._lock, self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {names} FROM nodes {join} WHERE {conditions} {by} LIMIT ?",
                [*keys, *values, -1 if most is None else most],
            )
            return [node_of(row) for row in rows]

    def words(self, where: NodeFilter) -> dict[str, str]:
        """What nodes are found by without a vector; no node is made."""
        conditions, values = condition(where)
        _, by, _ = order(None, reverse=True)
        with self._lock, self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT memory_id, when_to_use || char(10) || content FROM nodes "
                f"WHERE {conditions} {by}",
                values,
            )
            return dict(rows.fetchall())

    def count(self, where: NodeFilter) -> int:
        """How many nodes there are."""
        conditions, values = condition(where)
        with self._lock, self._database.reading() as connection:
            rows = connection.execute(f"SELECT COUNT(*) FROM nodes WHERE {conditions}", values)
            return int(rows.fetchone()[0])

    def clear(self, where: NodeFilter) -> int:
        """Forget every node that is meant; their text is overwritten on the disk."""
        conditions, values = condition(where)
        with self._lock:
            with self._database.writing() as connection:
                rows = connection.execute(f"SELECT number FROM nodes WHERE {conditions}", values)
                numbers = [number for (number,) in rows]
                _forget(connection, numbers)
            if numbers:
                self._database.scrub()
        return len(numbers)

    def missing_vectors(self, space_id: str, limit: int, where: NodeFilter = EVERY_NODE) -> Missing:
        """Those of the nodes without a vector in this space, as ``(memory_id, embedded text)``."""
        check_space(space_id)
        conditions, values = condition(where)
        with self._lock, self._database.reading() as connection:
            if _is_complete(connection, space_id):
                return []
            rows = connection.execute(
                f"SELECT memory_id, when_to_use, content FROM nodes WHERE {conditions} AND "
                "NOT EXISTS (SELECT 1 FROM vectors WHERE key = ? + nodes.number) "
                "ORDER BY number LIMIT ?",
                (*values, vector_key(space_number(connection, space_id), 0), clamped(limit)),
            )
            return [(memory_id, when or content) for memory_id, when, content in rows]

    def put_vectors(self, space_id: str, texts: Mapping[str, tuple[str, Vector]]) -> None:
        """Give nodes that still say the same their vectors, in one transaction."""
        ready = checked_vectors(space_id, {key: vector for key, (_, vector) in texts.items()})
        if not ready:
            return
        with self._lock, self._database.writing() as connection:
            check_widths(space_id, ready, width_of(connection, space_id))
            now = _texts_of(connection, list(texts))
            numbers = _numbers_of(connection, list(texts))
            kept = [key for key, (text, _) in texts.items() if now.get(key) == text]
            write_vectors(connection, space_id, [(numbers[key], ready[key]) for key in kept])
            note_changes(connection, [numbers[key] for key in kept])

    def vectors(self, space_id: str, memory_ids: Sequence[str]) -> dict[str, Floats]:
        """The normalised vectors of nodes in a space; those without one are left out."""
        check_space(space_id)
        found: dict[str, Floats] = {}
        with self._lock, self._database.reading() as connection:
            space = space_number(connection, space_id)
            for memory_id, number in _numbers_of(connection, memory_ids).items():
                row = connection.execute(
                    "SELECT vector FROM vectors WHERE key = ?", (vector_key(space, number),)
                ).fetchone()
                if row is not None:
                    found[memory_id] = np.frombuffer(row[0], np.float32)
        return found

    def pages(self, size: int = 500) -> Iterator[Nodes]:
        """Every node, in the order they came."""
        last = 0
        while True:
            with self._lock, self._database.reading() as connection:
                rows = connection.execute(
                    f"SELECT {_NAMES}, number FROM nodes WHERE number > ? ORDER BY number LIMIT ?",
                    (last, size),
                ).fetchall()
            if not rows:
                return
            last = rows[-1][-1]
            yield [node_of(row[:-1]) for row in rows]

    def spaces(self) -> dict[str, int]:
        """How many vectors each space has, the space that was written last first."""
        with self._lock, self._database.reading() as connection:
            rows = connection.execute(
                "SELECT space_id, vectors FROM spaces WHERE vectors > 0 "
                "ORDER BY written DESC, number DESC"
            )
            return dict(rows.fetchall())


def _forget(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    drop_vectors(connection, numbers)
    connection.executemany("DELETE FROM nodes WHERE number = ?", [(n,) for n in numbers])
    note_changes(connection, numbers)


def _found(
    connection: sqlite3.Connection, numbers: Sequence[int], scores: Floats, limit: int
) -> list[FoundNode]:
    """The best of the candidates; only theirs is read in full."""
    ids: dict[int, str] = dict(_select(connection, "number, memory_id", "number", numbers))
    best = ranked(((ids[n], s) for n, s in zip(numbers, scores.tolist(), strict=True)), limit)
    nodes = {node.memory_id: node for node in _nodes(connection, "memory_id", [*dict(best)])}
    return [FoundNode(nodes[memory_id], similarity) for memory_id, similarity in best]


def _nodes(
    connection: sqlite3.Connection, column: str, values: Sequence[str]
) -> Iterator[MemoryNode]:
    return map(node_of, _select(connection, _NAMES, column, values))


def _numbers_of(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> dict[str, int]:
    return dict(_select(connection, "memory_id, number", "memory_id", memory_ids))


def _texts_of(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> dict[str, str]:
    """What nodes say so far, as far as their vectors are concerned."""
    rows = _select(connection, "memory_id, when_to_use, content", "memory_id", memory_ids)
    return {memory_id: when or content for memory_id, when, content in rows}


def _select(
    connection: sqlite3.Connection, names: str, column: str, values: Sequence[str] | Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    known = [value for value in values if isinstance(value, int) or is_text(value)]
    for start in range(0, len(known), _AT_ONCE):
        wanted = known[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(wanted))
        yield from connection.execute(
            f"SELECT {names} FROM nodes WHERE {column} IN ({marks})", wanted
        )


def _is_complete(connection: sqlite3.Connection, space_id: str) -> bool:
    """Whether every node has a vector; known without looking at them."""
    row = connection.execute(
        "SELECT vectors = (SELECT COUNT(*) FROM nodes) FROM spaces WHERE space_id = ?", (space_id,)
    ).fetchone()
    return row is not None and bool(row[0])
