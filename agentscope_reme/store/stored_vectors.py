"""Vectors by text hash in the index database, and the search over them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Final

from agentscope_reme.store.chunk_kinds import AS_PICTURE, AS_TEXT
from agentscope_reme.store.passage_rows import Living, PassageRows
from agentscope_reme.store.postings import Bools
from agentscope_reme.store.stored_files import unpack_text
from agentscope_reme.store.vector_index import Kind, VectorIndex
from agentscope_reme.store.vector_spaces import newest_table, spaces, table_for, table_of
from agentscope_reme.store.vectors import Floats, Vector, hash_bytes, normalised, packed, readable
from agentscope_reme.workspace import PICTURE_SUFFIXES

_AT_ONCE: Final = 500
"""SQLite takes some thousand values in a statement, older ones 999."""
_BYTES_PER_NUMBER: Final = 2
_SAMPLED: Final = 16
_NAMED_AS_PICTURES: Final = " OR ".join(f"path LIKE '%{s}'" for s in sorted(PICTURE_SUFFIXES))
"""Few files are: the chunks of the others need not be looked at."""


class StoredVectors:
    """The vectors of the embedding spaces there are; one of them is loaded by the first search.

    Args:
        kind: how they are compared; see `VectorIndex`.
    """

    def __init__(self, kind: Kind = "auto") -> None:
        self._kind: Final = kind
        self._wanted: str | None = None
        self._table: str | None = None
        self._index: VectorIndex | None = None
        self._passages: PassageRows | None = None
        self._damaged: list[tuple[bytes, object]] = []

    def forget(self) -> None:
        """Drop what is in memory: the database holds something else now."""
        self._index = self._passages = None

    def chunks_changed(self) -> None:
        """Look up anew which chunks there are."""
        if self._passages is not None:
            self._passages.changed()

    def missing(
        self, connection: sqlite3.Connection, space_id: str, limit: int
    ) -> list[tuple[str, str]]:
        """``(text hash, text)`` of passages without a vector in this space."""
        table = table_of(connection, space_id)
        known = f"AND text_hash NOT IN (SELECT text_hash FROM {table})" if table else ""
        rows = connection.execute(
            "SELECT text_hash, text FROM chunks WHERE slot IN (SELECT MIN(slot) FROM chunks "
            f"WHERE searchable = {AS_TEXT} {known} GROUP BY text_hash) ORDER BY slot LIMIT ?",
            (limit,),
        )
        return [(key.hex(), unpack_text(text)) for key, text in rows]

    def missing_pictures(
        self, connection: sqlite3.Connection, space_id: str, limit: int
    ) -> list[tuple[str, str, str]]:
        """``(text hash, path, content hash)`` of pictures without a vector in this space."""
        table = table_of(connection, space_id)
        known = f"AND text_hash NOT IN (SELECT text_hash FROM {table})" if table else ""
        rows = connection.execute(
            "SELECT text_hash, MIN(path), content_hash FROM files CROSS JOIN chunks "
            f"ON file_id = files.id WHERE ({_NAMED_AS_PICTURES}) AND searchable = {AS_PICTURE} "
            f"{known} GROUP BY text_hash ORDER BY slot LIMIT ?",
            (limit,),
        )
        return [(key.hex(), path, content) for key, path, content in rows]

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
        width = _usual_width(connection, known) if known else None
        ready = {}
        for key, vector in vectors.items():
            ready[hash_bytes(key)] = array = normalised(vector, width)
            width = len(array)
        texts = known_texts(connection, list(vectors))
        if not texts:
            return set()
        table = table_for(connection, space_id)
        ready = {key: array for key, array in ready.items() if key.hex() in texts}
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?)",
            [(key, packed(array)) for key, array in ready.items()],
        )
        connection.execute(
            "INSERT INTO meta VALUES ('vectors_version', 1) "
            "ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )
        self._take(ready, table, is_new_space=known is None)
        return texts

    def holds(self, connection: sqlite3.Connection, space_id: str) -> bool:
        """Whether there are vectors of this space."""
        return table_of(connection, space_id) is not None

    def spaces(self, connection: sqlite3.Connection) -> list[str]:
        """The names of the spaces there are, the one that was written last before the other."""
        return spaces(connection)

    def count(self, connection: sqlite3.Connection, space_id: str) -> tuple[int, int]:
        """Texts of passages with a vector in a space, and texts without."""
        return count_texts(connection, table_of(connection, space_id))

    def count_pictures(self, connection: sqlite3.Connection, space_id: str) -> tuple[int, int]:
        """Pictures with a vector in a space, and pictures without."""
        return count_texts(connection, table_of(connection, space_id), AS_PICTURE)

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
        living: Living,
    ) -> list[tuple[float, int, int]]:
        """The nearest chunks as ``(cosine, file number, slot)``, ties included, in no order.

        Args:
            connection: the index database.
            vector: what to compare with.
            limit: how many are wanted.
            allowed: by file number, whether its chunks may be answered.
            living: tells which searchable chunks there are.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """
        index, passages = self._loaded(connection)
        if not len(index) or limit < 1:
            return []
        slots, owners, rows = passages.placed(connection, living)
        if allowed is not None:
            keep = allowed[owners]
            slots, owners, rows = slots[keep], owners[keep], rows[keep]
        best, scores = index.nearest(normalised(vector, index.width), rows, limit)
        return list(zip(scores.tolist(), owners[best].tolist(), slots[best].tolist(), strict=True))

    @property
    def has_damaged(self) -> bool:
        """Whether the last search found vectors that cannot be what was written."""
        return bool(self._damaged)

    def drop_damaged(self, connection: sqlite3.Connection) -> int:
        """Let those count as missing, inside the caller's transaction.

        Returns:
            How many there were, but for those somebody replaced meanwhile.
        """
        query = f"DELETE FROM {self._table} WHERE text_hash = ? AND vector IS ?"
        found, self._damaged = self._damaged, []
        return connection.executemany(query, found).rowcount

    def _loaded(self, connection: sqlite3.Connection) -> tuple[VectorIndex, PassageRows]:
        wanted = self._wanted
        table = newest_table(connection) if wanted is None else table_of(connection, wanted)
        if self._index is None or self._passages is None or table != self._table:
            self._index, self._table = VectorIndex(self._kind), table
            if table is not None:
                self._damaged = _load(connection, table, self._index)
            self._passages = PassageRows(self._index)
        return self._index, self._passages

    def _take(self, ready: Mapping[bytes, Floats], table: str, *, is_new_space: bool) -> None:
        """Know the vectors just written as well, when those of their space are in memory."""
        if self._index is None or table != self._table:
            return
        if is_new_space or len(ready) > len(self._index):
            self.forget()
            return
        self._index.put(ready)
        if self._passages is not None:
            self._passages.arrived(ready)


def known_texts(connection: sqlite3.Connection, keys: Sequence[str]) -> set[str]:
    """Those of some text hashes that a chunk has."""
    found: set[str] = set()
    for start in range(0, len(keys), _AT_ONCE):
        wanted = [hash_bytes(key) for key in keys[start : start + _AT_ONCE]]
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


def count_texts(
    connection: sqlite3.Connection, table: str | None, kind: int = AS_TEXT
) -> tuple[int, int]:
    """Texts of a kind with a vector in a table, and texts without; ``None`` has none at all."""
    texts = f"(SELECT DISTINCT text_hash FROM chunks WHERE searchable = {kind})"
    if table is None:
        return 0, int(connection.execute(f"SELECT COUNT(*) FROM {texts}").fetchone()[0])
    total, done = connection.execute(
        f"SELECT COUNT(*), COUNT({table}.text_hash) FROM {texts} "
        f"LEFT JOIN {table} USING (text_hash)"
    ).fetchone()
    return done, total - done


def _load(
    connection: sqlite3.Connection, table: str, index: VectorIndex
) -> list[tuple[bytes, object]]:
    """Read a table into an empty index; the rows that are damaged are left out and returned."""
    rows = connection.execute(f"SELECT text_hash, vector FROM {table}").fetchall()
    if not rows:
        return []
    keys, blobs = zip(*rows, strict=True)
    sound, halves = readable(blobs)
    if len(halves):
        index.load(list(compress(keys, sound)), halves)
    return [row for row, is_sound in zip(rows, sound, strict=True) if not is_sound]


def _usual_width(connection: sqlite3.Connection, table: str) -> int | None:
    """Numbers per vector, as most of some have them: one may be damaged."""
    row = connection.execute(
        f"SELECT LENGTH(vector) AS size FROM (SELECT vector FROM {table} LIMIT {_SAMPLED}) "
        f"WHERE TYPEOF(vector) = 'blob' AND size > 0 AND size % {_BYTES_PER_NUMBER} = 0 "
        "GROUP BY size ORDER BY COUNT(*) DESC LIMIT 1"
    ).fetchone()
    return None if row is None else int(row[0]) // _BYTES_PER_NUMBER
