"""Vectors by text hash in the index database, and the search over them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.store.postings import Bools, Ints
from agentscope_reme.store.stored_files import unpack_text
from agentscope_reme.store.vector_spaces import newest_table, spaces, table_for, table_of
from agentscope_reme.store.vectors import Vector, VectorIndex, best_rows, from_bytes, normalised

_AT_ONCE: Final = 500
"""SQLite takes some thousand values in a statement, older ones 999."""


class StoredVectors:
    """The vectors of the embedding spaces there are; one of them is loaded by the first search."""

    def __init__(self) -> None:
        self._wanted: str | None = None
        self._table: str | None = None
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
        table = table_of(connection, space_id)
        known = f"AND text_hash NOT IN (SELECT text_hash FROM {table})" if table else ""
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
        vectors: Mapping[str, Vector],
    ) -> set[str]:
        """Store vectors inside the caller's transaction, apart from those of another space.

        Those of texts no chunk has are dropped.

        Returns:
            The text hashes that were stored.

        Raises:
            BadInput: a key is no text hash, or the vectors are not all of one width.
        """
        known = table_of(connection, space_id)
        width = _width(connection, known) if known else None
        ready = {}
        for key, vector in vectors.items():
            ready[_hash_bytes(key)] = array = normalised(vector, width)
            width = len(array)
        texts = known_texts(connection, list(vectors))
        if not texts:
            return set()
        table = table_for(connection, space_id)
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?)",
            [(key, array.tobytes()) for key, array in ready.items() if key.hex() in texts],
        )
        connection.execute(
            "INSERT INTO meta VALUES ('vectors_version', 1) "
            "ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )
        self.forget()
        return texts

    def holds(self, connection: sqlite3.Connection, space_id: str) -> bool:
        """Whether there are vectors of this space."""
        return table_of(connection, space_id) is not None

    def spaces(self, connection: sqlite3.Connection) -> list[str]:
        """The names of the spaces there are, the one that was written last before the other."""
        return spaces(connection)

    def count(self, connection: sqlite3.Connection, space_id: str) -> tuple[int, int]:
        """Searchable texts with a vector in a space, and texts without."""
        return count_texts(connection, table_of(connection, space_id))

    def turn_to(self, connection: sqlite3.Connection, space_id: str | None) -> bool:
        """Let the next `search` look into a space; ``None`` is the one that was written last.

        Returns:
            Whether there are such vectors.
        """
        self._wanted = space_id
        return space_id is None or self.holds(connection, space_id)

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
        wanted = self._wanted
        table = newest_table(connection) if wanted is None else table_of(connection, wanted)
        if self._index is None or table != self._table:
            self._index, self._table = VectorIndex(), table
            if table is not None:
                self._index.put(from_bytes(connection.execute(f"SELECT * FROM {table}")))
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


def known_texts(connection: sqlite3.Connection, keys: Sequence[str]) -> set[str]:
    """Those of some text hashes that a chunk has."""
    found: set[str] = set()
    for start in range(0, len(keys), _AT_ONCE):
        wanted = [_hash_bytes(key) for key in keys[start : start + _AT_ONCE]]
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT DISTINCT text_hash FROM chunks WHERE text_hash IN ({marks})"
        found.update(key.hex() for (key,) in connection.execute(query, wanted))
    return found


def all_texts(connection: sqlite3.Connection) -> list[bytes]:
    """The hash of every text of a chunk."""
    return [key for (key,) in connection.execute("SELECT DISTINCT text_hash FROM chunks")]


def count_vectors(connection: sqlite3.Connection) -> tuple[int, int]:
    """Texts with a vector, and texts still without one; none are missing before the first.

    Of the space that was written last.
    """
    table = newest_table(connection)
    return (0, 0) if table is None else count_texts(connection, table)


def count_texts(connection: sqlite3.Connection, table: str | None) -> tuple[int, int]:
    """Searchable texts with a vector in a table, and texts without; ``None`` has none at all."""
    texts = "(SELECT DISTINCT text_hash FROM chunks WHERE searchable)"
    if table is None:
        return 0, int(connection.execute(f"SELECT COUNT(*) FROM {texts}").fetchone()[0])
    total, done = connection.execute(
        f"SELECT COUNT(*), COUNT({table}.text_hash) FROM {texts} "
        f"LEFT JOIN {table} USING (text_hash)"
    ).fetchone()
    return done, total - done


def _width(connection: sqlite3.Connection, table: str) -> int | None:
    row = connection.execute(f"SELECT LENGTH(vector) / 4 FROM {table} LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def _hash_bytes(key: str) -> bytes:
    try:
        return bytes.fromhex(key)
    except ValueError as error:
        raise BadInput(
            key, "this is no text hash", "Use the keys `missing_vectors` gave."
        ) from error
