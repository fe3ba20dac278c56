"""Vectors by text hash in the index database, and the search over them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.store.postings import Bools, Ints
from agentscope_reme.store.stored_files import unpack_text
from agentscope_reme.store.vectors import VectorIndex, best_rows, from_bytes, normalised


class StoredVectors:
    """The vectors of one embedding space; loaded into memory by the first search."""

    def __init__(self) -> None:
        self._index: VectorIndex | None = None
        self._chunks: tuple[Ints, Ints, Ints] | None = None

    def forget(self) -> None:
        """Drop what is in memory: the database holds something else now."""
        self._index = None
        self._chunks = None

    def chunks_changed(self) -> None:
        """Look up anew which chunks there are."""
        self._chunks = None

    def missing(
        self, connection: sqlite3.Connection, space_id: str, limit: int
    ) -> list[tuple[str, str]]:
        """``(text hash, text)`` of searchable chunks without a vector in this space."""
        known = (
            ""
            if space_of(connection) != space_id
            else ("AND text_hash NOT IN (SELECT text_hash FROM vectors)")
        )
        rows = connection.execute(
            "SELECT text_hash, text FROM chunks WHERE slot IN (SELECT MIN(slot) FROM chunks "
            f"WHERE searchable {known} GROUP BY text_hash) ORDER BY slot LIMIT ?",
            (limit,),
        )
        return [(key.hex(), unpack_text(text)) for key, text in rows]

    def put(
        self,
        connection: sqlite3.Connection,
        space_id: str,
        vectors: Mapping[str, Sequence[float]],
    ) -> None:
        """Store vectors inside the caller's transaction; those of another space are dropped.

        Raises:
            BadInput: a key is no text hash, or the vectors are not all of one width.
        """
        same_space = space_of(connection) == space_id
        width = _width(connection) if same_space else None
        ready = {}
        for key, vector in vectors.items():
            ready[_hash_bytes(key)] = array = normalised(vector, width)
            width = len(array)
        if not same_space:
            connection.execute("DELETE FROM vectors")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('space_id', ?)", (space_id,))
        connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(key, array.tobytes()) for key, array in ready.items()],
        )
        connection.execute(
            "INSERT INTO meta VALUES ('vectors_version', 1) "
            "ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )
        self.forget()

    def holds(self, connection: sqlite3.Connection, space_id: str) -> bool:
        """Whether the stored vectors are of this space."""
        return space_of(connection) == space_id

    def search(
        self,
        connection: sqlite3.Connection,
        vector: Sequence[float],
        limit: int,
        allowed: Bools | None,
    ) -> list[tuple[float, int, int]]:
        """The nearest chunks as ``(cosine, file number, slot)``, ties included, in no order.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """
        index = self._loaded(connection)
        if not len(index) or limit < 1:
            return []
        slots, owners, rows = self._placed(connection, index)
        if allowed is not None:
            keep = allowed[owners]
            slots, owners, rows = slots[keep], owners[keep], rows[keep]
        scores = index.similarities(normalised(vector, index.width))[rows]
        best = best_rows(scores, limit)
        return list(
            zip(scores[best].tolist(), owners[best].tolist(), slots[best].tolist(), strict=True)
        )

    def _loaded(self, connection: sqlite3.Connection) -> VectorIndex:
        if self._index is None:
            self._index = VectorIndex()
            self._index.put(from_bytes(connection.execute("SELECT * FROM vectors")))
            self._chunks = None
        return self._index

    def _placed(
        self, connection: sqlite3.Connection, index: VectorIndex
    ) -> tuple[Ints, Ints, Ints]:
        if self._chunks is None:
            rows = connection.execute(
                "SELECT slot, file_id, text_hash FROM chunks WHERE searchable"
            )
            placed = [(s, o, r) for s, o, key in rows if (r := index.row(key.hex())) >= 0]
            columns = np.array(placed, np.int64).reshape(-1, 3)
            self._chunks = (columns[:, 0], columns[:, 1], columns[:, 2])
        return self._chunks


def space_of(connection: sqlite3.Connection) -> str | None:
    """The embedding space of the stored vectors."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'space_id'").fetchone()
    return None if row is None else str(row[0])


def count_vectors(connection: sqlite3.Connection) -> tuple[int, int]:
    """Texts with a vector, and texts still without one; none are missing before the first."""
    if space_of(connection) is None:
        return 0, 0
    total, done = connection.execute(
        "SELECT COUNT(*), COUNT(vectors.text_hash) FROM "
        "(SELECT DISTINCT text_hash FROM chunks WHERE searchable) "
        "LEFT JOIN vectors USING (text_hash)"
    ).fetchone()
    return done, total - done


def _width(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT LENGTH(vector) / 4 FROM vectors LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def _hash_bytes(key: str) -> bytes:
    try:
        return bytes.fromhex(key)
    except ValueError as error:
        raise BadInput(
            key, "this is no text hash", "Use the keys `missing_vectors` gave."
        ) from error
