"""Vectors that were paid for once, by space and text, apart from the index that uses them.

An index comes and goes: it is deleted, found damaged, or made for other settings. What a provider
was asked for outlives it here, in ``metadata/embeddings.db``, which travels with the workspace.
Losing this file costs the calls that filled it and nothing else.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.index_schema import is_damage
from agentscope_reme.store.vectors import Floats, Vector, normalised, packed, readable, widened

T = TypeVar("T")

_log = logging.getLogger("agentscope_reme")
_BUSY_SECONDS: Final = 5.0

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- grows with every write: the smallest are the oldest
    space INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (space, text_hash)
);
"""


class VectorCache:
    """A bounded table of vectors; safe to use from several threads and processes.

    A file that cannot be read is deleted and begun anew; one that is busy or cannot be written is
    gone without. Neither is an error of the caller, who asks the provider instead.

    Args:
        place: the file, made when the first vector is kept.
        most: how many vectors are kept over all spaces; with 0 none are.
    """

    def __init__(self, place: Path, *, most: int) -> None:
        self._place: Final = place
        self._most: Final = most

    def spaces(self) -> list[str]:
        """The names of the spaces with vectors, the newest first."""
        if not self._place.exists():
            return []
        query = (
            "SELECT name FROM spaces WHERE EXISTS (SELECT 1 FROM vectors WHERE space = spaces.id) "
            "ORDER BY id DESC"
        )
        return [name for (name,) in self._run(lambda c: c.execute(query).fetchall()) or []]

    def get(self, space_id: str, text_hashes: Sequence[str]) -> dict[str, Floats]:
        """The kept vectors of a space among those of some texts, at length 1; no damaged ones."""
        if not self._most or not self._place.exists():
            return {}
        keys = [bytes.fromhex(key) for key in text_hashes]
        marks = ", ".join("?" * len(keys))
        query = (
            "SELECT text_hash, vector FROM vectors JOIN spaces ON spaces.id = space "
            f"WHERE name = ? AND text_hash IN ({marks})"
        )
        rows = self._run(lambda c: c.execute(query, (space_id, *keys)).fetchall()) or []
        if not rows:
            return {}
        sound, halves = readable([blob for _key, blob in rows])
        found = [key.hex() for (key, _blob), is_sound in zip(rows, sound, strict=True) if is_sound]
        return dict(zip(found, widened(halves), strict=True))

    def put(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of texts, by text hash, and let go of the oldest above the limit."""
        if not self._most or not vectors:
            return
        rows = [(bytes.fromhex(key), packed(normalised(vector))) for key, vector in vectors.items()]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO spaces (name) VALUES (?)", (space_id,))
            found = connection.execute("SELECT id FROM spaces WHERE name = ?", (space_id,))
            (space,) = found.fetchone()
            connection.execute(
                "DELETE FROM vectors WHERE space = ? AND LENGTH(vector) <> ?",
                (space, len(rows[0][1])),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (space, text_hash, vector) VALUES (?, ?, ?)",
                [(space, *row) for row in rows],
            )
            connection.execute(
                "DELETE FROM vectors WHERE id <= "
                "(SELECT id FROM vectors ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (self._most,),
            )

        self._run(write)

    def keep_only(self, text_hashes: Collection[bytes]) -> None:
        """Overwrite, on the disk, the vectors of all other texts.

        Raises:
            StorageFailed: that could not be done, and the file could not be deleted either.
        """
        if not self._place.exists():
            return

        def write(connection: sqlite3.Connection) -> bool:
            connection.execute("CREATE TEMP TABLE kept (text_hash BLOB PRIMARY KEY)")
            connection.executemany(
                "INSERT OR IGNORE INTO kept VALUES (?)", [(key,) for key in text_hashes]
            )
            connection.execute(
                "DELETE FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM kept)"
            )
            return True

        if not self._run(write):
            self._delete()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """One transaction; ``None`` when the file refused."""
        try:
            with closing(sqlite3.connect(self._place, timeout=_BUSY_SECONDS)) as connection:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute("PRAGMA secure_delete = ON")  # what is let go of leaves no trace
                connection.executescript(_SCHEMA)
                with connection:
                    return work(connection)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not is_damage(error):
                _log.warning("%s is left alone: %s", self._place.name, error)
            else:
                _log.warning("%s is begun anew: %s", self._place.name, error)
                self._delete()
        return None

    def _delete(self) -> None:
        try:
            for name in (self._place.name, f"{self._place.name}-journal"):
                self._place.with_name(name).unlink(missing_ok=True)
        except OSError as error:
            raise StorageFailed(
                str(self._place), f"it cannot be deleted: {error}", "Delete it by hand."
            ) from error
