"""Vectors in Chroma, behind the interface of `StoredVectors`.

Which texts have a vector stands in the index database, in the same table as ever but without the
numbers. What is missing, counted, carried over or dropped is asked there, as it always is; only the
search and the numbers are Chroma's.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.chroma_database import ChromaDatabase
from agentscope_reme.store.passage_rows import Living
from agentscope_reme.store.postings import Bools
from agentscope_reme.store.stored_vectors import StoredVectors, known_texts
from agentscope_reme.store.vector_spaces import TABLES, table_for, table_of
from agentscope_reme.store.vectors import Floats, Vector, hash_bytes, normalised

_log: Final = logging.getLogger(__name__)
_WIDER: Final = 4
_FIRST: Final = 2
_ROUNDING: Final = 1e-6
_PREFIX: Final = "chroma:"


class ChromaVectors(StoredVectors):
    """The vectors of one embedding space.

    Attributes:
        lost: Chroma refused to answer; `recover` makes a new database of it.
    """

    def __init__(self, database: ChromaDatabase) -> None:
        super().__init__()
        self._database: Final = database
        self._owners: dict[str, list[tuple[int, int]]] | None = None
        self.lost = False

    def forget(self) -> None:
        """Drop what is in memory: the database holds something else now."""
        super().forget()
        self._owners = None
        self._database.forget()

    def chunks_changed(self) -> None:
        """Look up anew which chunks there are."""
        super().chunks_changed()
        self._owners = None

    def missing(
        self, connection: sqlite3.Connection, space_id: str, limit: int
    ) -> list[tuple[str, str]]:
        """``(text hash, text)`` of searchable chunks without a vector in this space."""
        return super().missing(connection, _here(space_id), limit)

    def missing_pictures(
        self, connection: sqlite3.Connection, space_id: str, limit: int
    ) -> list[tuple[str, str, str]]:
        """``(text hash, path, content hash)`` of pictures without a vector in this space."""
        return super().missing_pictures(connection, _here(space_id), limit)

    def count_pictures(self, connection: sqlite3.Connection, space_id: str) -> tuple[int, int]:
        """Pictures with a vector in the space, and pictures without."""
        return super().count_pictures(connection, _here(space_id))

    def holds(self, connection: sqlite3.Connection, space_id: str) -> bool:
        """Whether the stored vectors are of this space."""
        return super().holds(connection, _here(space_id))

    def spaces(self, connection: sqlite3.Connection) -> list[str]:
        """The name of the one space there is."""
        found = [name for name in super().spaces(connection) if name.startswith(_PREFIX)]
        return [name.removeprefix(_PREFIX) for name in found]

    def count(self, connection: sqlite3.Connection, space_id: str) -> tuple[int, int]:
        """Searchable texts with a vector in the space, and texts without."""
        return super().count(connection, _here(space_id))

    def put(
        self,
        connection: sqlite3.Connection,
        space_id: str,
        vectors: Mapping[str, Vector],
    ) -> set[str]:
        """Store vectors inside the caller's transaction; those of another space are dropped.

        Returns:
            The text hashes that were stored: those a chunk has.

        Raises:
            BadInput: a key is no text hash, or the vectors are not all of one width.
            StorageFailed: Chroma refused.
        """
        same = self.holds(connection, space_id)
        width = self._database.width if same else None
        ready: dict[str, Floats] = {}
        for key, vector in vectors.items():
            ready[hash_bytes(key).hex()] = array = normalised(vector, width)
            width = len(array)
        texts = known_texts(connection, list(ready))
        ready = {key: array for key, array in ready.items() if key in texts}
        if not ready:
            return set()
        if same:
            self._database.put(ready)
        else:
            self._database.start_anew(ready)
            _empty(connection)
        table = table_for(connection, _here(space_id))
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES (?, x'')",
            [(bytes.fromhex(key),) for key in ready],
        )
        connection.execute(
            "INSERT INTO meta VALUES ('vectors_version', 1) "
            "ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )
        return texts

    def search(
        self,
        connection: sqlite3.Connection,
        vector: Sequence[float],
        limit: int,
        allowed: Bools | None,
        living: Living,
    ) -> list[tuple[float, int, int]]:
        """The nearest chunks as ``(cosine, file number, slot)``, ties included, in no order.

        When Chroma refuses, there are none and `lost` is set.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """
        if limit < 1:
            return []
        try:
            width = self._database.width
            if width is None:
                return []
            return self._nearest(connection, normalised(vector, width), limit, allowed)
        except StorageFailed as error:
            _log.warning("the vectors in Chroma are made anew: %s", error)
            self.lost = True
            return []

    def check(self, connection: sqlite3.Connection) -> None:
        """Compare Chroma with what the index says of it; `lost` is set when vectors are missing."""
        known = len(_kept(connection))
        if not known:
            return
        try:
            self.lost = not self._database.is_there or self._database.count() < known
        except StorageFailed as error:
            _log.warning("the vectors in Chroma are made anew: %s", error)
            self.lost = True

    def recover(self, connection: sqlite3.Connection) -> None:
        """Begin with an empty database, inside the caller's transaction: every vector is missing.

        Raises:
            StorageFailed: a new one cannot be made, either.
        """
        _empty(connection)
        self._database.start_anew()
        self.forget()
        self.lost = False

    def prune(self, connection: sqlite3.Connection, *, traceless: bool = False) -> None:
        """Drop vectors of texts the index does not name.

        Args:
            connection: the index database.
            traceless: write the others into a new folder, so that nothing stays on the disk.

        Raises:
            StorageFailed: Chroma refused.
        """
        known = _kept(connection)
        if not traceless:
            self._database.delete([key for key in self._database.texts() if key not in known])
            return
        kept: dict[str, Floats] = {}
        for batch in self._database.all():
            kept.update({key: row for key, row in batch.items() if key in known})
        self._database.start_anew(kept)

    def _nearest(
        self, connection: sqlite3.Connection, vector: Floats, limit: int, allowed: Bools | None
    ) -> list[tuple[float, int, int]]:
        """Ask for more until enough of the answers may be shown and no tie is cut off."""
        owners = self._owners_of_texts(connection)
        total = self._database.count()
        wanted = limit * _FIRST
        while True:
            hits = self._database.nearest(vector, min(wanted, total)) if total else []
            found = [
                (score, owner, slot)
                for key, score in hits
                for slot, owner in owners.get(key, ())
                if allowed is None or allowed[owner]
            ]
            enough = len(found) >= limit and hits[-1][1] < found[limit - 1][0] - _ROUNDING
            if enough or wanted >= total:
                return found
            wanted *= _WIDER

    def _owners_of_texts(self, connection: sqlite3.Connection) -> dict[str, list[tuple[int, int]]]:
        if self._owners is None:
            self._owners = {}
            query = "SELECT text_hash, slot, file_id FROM chunks WHERE searchable"
            for key, slot, owner in connection.execute(query):
                self._owners.setdefault(key.hex(), []).append((slot, owner))
        return self._owners


def _here(space_id: str) -> str:
    """A space under another name, so that no other store takes the empty rows for vectors."""
    return f"{_PREFIX}{space_id}"


def _tables(connection: sqlite3.Connection) -> list[str]:
    """The tables that name texts whose vectors are in Chroma; there is at most one in use."""
    marks = ", ".join("?" * len(TABLES))
    rows = connection.execute(f"SELECT value FROM meta WHERE key IN ({marks})", (*TABLES,))
    ours = [str(space) for (space,) in rows if str(space).startswith(_PREFIX)]
    return [table for space in ours if (table := table_of(connection, space))]


def _kept(connection: sqlite3.Connection) -> set[str]:
    """The hashes of texts whose vectors are in Chroma."""
    return {
        key.hex()
        for table in _tables(connection)
        for (key,) in connection.execute(f"SELECT text_hash FROM {table}")
    }


def _empty(connection: sqlite3.Connection) -> None:
    """Forget every space of Chroma: it keeps the vectors of one."""
    for table in _tables(connection):
        connection.execute(f"DELETE FROM {table}")
    marks = ", ".join("?" * len(TABLES))
    connection.execute(
        f"DELETE FROM meta WHERE key IN ({marks}) AND SUBSTR(value, 1, ?) = ?",
        (*TABLES, len(_PREFIX), _PREFIX),
    )
