"""The vector spaces of the local store: their rows in the file, and their copies in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryType, NodeFilter
from agentscope_reme.typed.stores.base import KEPT_SPACES
from agentscope_reme.typed.stores.local_database import NODE_BITS
from agentscope_reme.typed.stores.matrix import NodeMatrix, Numbers

KEPT_CHANGES: Final = 20_000
"""A process that is further behind loads its vectors anew, which then is quicker."""
_MOST_LOADED: Final = 2
_NODE_MASK: Final = (1 << NODE_BITS) - 1
_TYPE_CODES: Final = {str(memory_type): code for code, memory_type in enumerate(MemoryType)}


class LoadedSpaces:
    """Copies in memory of the spaces that were searched last.

    Every method is called inside a transaction, so that what is in memory is one state of the file.
    """

    def __init__(self) -> None:
        self._matrices: dict[str, NodeMatrix] = {}
        self._targets: dict[str, int] = {}
        self._revision = 0

    def forget(self) -> None:
        """Drop what is in memory."""
        self._matrices.clear()
        self._targets.clear()

    def nearest(
        self,
        connection: sqlite3.Connection,
        space_id: str,
        vector: Floats,
        limit: int,
        where: NodeFilter,
        nodes: Numbers | None,
    ) -> tuple[Numbers, Floats]:
        """The nearest nodes with their cosines, ties included.

        Args:
            connection: the file.
            space_id: a space that exists.
            vector: normalised, of the width of the space.
            limit: at least one.
            where: types and targets are looked at.
            nodes: the nodes that meet the other conditions; ``None`` when there are none.
        """
        self._catch_up(connection)
        matrix = self._matrices.pop(space_id, None)
        if matrix is None or matrix.width != len(vector):
            matrix = self._load(connection, space_id, len(vector))
        self._matrices[space_id] = matrix  # the last one is the one used last
        while len(self._matrices) > _MOST_LOADED:
            del self._matrices[next(iter(self._matrices))]
        types = None if where.types is None else [_TYPE_CODES[name] for name in where.types]
        targets = None
        if where.targets is not None:
            targets = [self._targets.get(name, -1) for name in where.targets]
        return matrix.nearest(vector, limit, types=types, targets=targets, nodes=nodes)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        first, last = connection.execute(
            "SELECT MIN(revision), MAX(revision) FROM changes"
        ).fetchone()
        if last is None or last == self._revision:
            return
        if first > self._revision + 1:
            self._matrices.clear()
        if self._matrices:
            changed = connection.execute(
                "SELECT DISTINCT node FROM changes WHERE revision > ?", (self._revision,)
            )
            for (node,) in changed.fetchall():
                self._refresh(connection, node)
        self._revision = last

    def _refresh(self, connection: sqlite3.Connection, node: int) -> None:
        kind = connection.execute(
            "SELECT memory_type, memory_target FROM nodes WHERE number = ?", (node,)
        ).fetchone()
        for space_id, matrix in list(self._matrices.items()):
            blob = None if kind is None else _vector(connection, space_id, node)
            if blob is None:
                matrix.remove(node)
            elif len(blob) != 4 * matrix.width:
                del self._matrices[space_id]  # emptied, then begun with another width
            else:
                self._place(matrix, node, kind[0], kind[1], blob)

    def _load(self, connection: sqlite3.Connection, space_id: str, width: int) -> NodeMatrix:
        number, vectors = connection.execute(
            "SELECT number, vectors FROM spaces WHERE space_id = ?", (space_id,)
        ).fetchone()
        matrix = NodeMatrix(width, vectors)
        rows = connection.execute(
            "SELECT nodes.number, memory_type, memory_target, vector FROM vectors "
            f"JOIN nodes ON nodes.number = vectors.key & {_NODE_MASK} "
            "WHERE vectors.key BETWEEN ? AND ?",
            (vector_key(number, 0), vector_key(number, _NODE_MASK)),
        )
        for node, memory_type, target, blob in rows:
            self._place(matrix, node, memory_type, target, blob)
        return matrix

    def _place(
        self, matrix: NodeMatrix, node: int, memory_type: str, target: str, blob: bytes
    ) -> None:
        code = self._targets.setdefault(target, len(self._targets))
        matrix.put(node, _TYPE_CODES[memory_type], code, np.frombuffer(blob, np.float32))


def space_number(connection: sqlite3.Connection, space_id: str) -> int:
    """The number of a space; 0 when there is none of that name."""
    row = connection.execute("SELECT number FROM spaces WHERE space_id = ?", (space_id,)).fetchone()
    return 0 if row is None else int(row[0])


def width_of(connection: sqlite3.Connection, space_id: str) -> int | None:
    """Numbers per vector of a space; ``None`` while it has none."""
    row = connection.execute(
        "SELECT width FROM spaces WHERE space_id = ? AND vectors > 0", (space_id,)
    ).fetchone()
    return None if row is None else int(row[0])


def write_vectors(
    connection: sqlite3.Connection, space_id: str, vectors: Sequence[tuple[int, Floats]]
) -> None:
    """Store normalised vectors of the width of the space, inside the caller's transaction.

    Args:
        connection: the file.
        space_id: made when missing; an empty one takes the width of these.
        vectors: by node number.
    """
    if not vectors:
        return
    connection.execute(
        "INSERT INTO spaces (space_id, width) VALUES (?, ?) "
        "ON CONFLICT (space_id) DO UPDATE SET width = excluded.width",
        (space_id, len(vectors[0][1])),
    )
    number = space_number(connection, space_id)
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET vector = excluded.vector",
        [(vector_key(number, node), vector.tobytes()) for node, vector in vectors],
    )
    _is_the_last_written(connection, number)


def _is_the_last_written(connection: sqlite3.Connection, space: int) -> None:
    """Keep this space and those that were written before it; the others go with their vectors."""
    last = connection.execute("SELECT MAX(written) FROM spaces").fetchone()[0]
    connection.execute(
        "UPDATE spaces SET written = ? WHERE number = ? AND (written < ? OR written = 0)",
        (last + 1, space, last),
    )
    old = connection.execute(
        "SELECT number FROM spaces ORDER BY written DESC, number DESC LIMIT -1 OFFSET ?",
        (KEPT_SPACES,),
    ).fetchall()
    for (number,) in old:
        connection.execute("DELETE FROM spaces WHERE number = ?", (number,))
        connection.execute(
            "DELETE FROM vectors WHERE key BETWEEN ? AND ?",
            (vector_key(number, 0), vector_key(number, _NODE_MASK)),
        )


def drop_vectors(connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
    """Remove the vectors of nodes from every space, inside the caller's transaction."""
    numbers = [number for (number,) in connection.execute("SELECT number FROM spaces")]
    connection.executemany(
        "DELETE FROM vectors WHERE key = ?",
        [(vector_key(number, node),) for node in nodes for number in numbers],
    )


def note_changes(connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
    """Tell every process which nodes to look at again."""
    connection.executemany("INSERT INTO changes (node) VALUES (?)", [(node,) for node in nodes])
    last = connection.execute("SELECT MAX(revision) FROM changes").fetchone()[0]
    if last is not None:
        connection.execute("DELETE FROM changes WHERE revision <= ?", (last - KEPT_CHANGES,))


def vector_key(space: int, node: int) -> int:
    """Where the vector of a node stands."""
    return space << NODE_BITS | node


def _vector(connection: sqlite3.Connection, space_id: str, node: int) -> bytes | None:
    number = space_number(connection, space_id)
    row = connection.execute(
        "SELECT vector FROM vectors WHERE key = ?", (vector_key(number, node),)
    ).fetchone()
    return None if row is None else bytes(row[0])
