"""Which embedding spaces have vectors in the index database: the two that were used last.

Two programs on one workspace may each have an embedding model of their own. Each space has a table
to itself, so neither deletes what the other paid for, and a comparison never mixes two spaces.
"""

from __future__ import annotations

import sqlite3
from typing import Final

import numpy as np

from agentscope_reme.store.vectors import normalised, packed

TABLES: Final = {"space_id": "vectors", "second_space_id": "second_vectors"}
"""The table of a space, by the key under which ``meta`` names that space."""

_NEWEST: Final = "newest_space"
_SINGLE_PRECISION: Final = frozenset({"1", "2", "3"})
"""Layouts of the index database whose vectors take four bytes per number."""
_BYTES_PER_SINGLE: Final = 4
_OFF: Final = 0.01
"""Vectors are kept at length 1; one that is further off is damaged, or in another precision."""


def space_of(connection: sqlite3.Connection) -> str | None:
    """The space of the first table."""
    return _named(connection, "space_id")


def table_of(connection: sqlite3.Connection, space_id: str) -> str | None:
    """The table with the vectors of a space; ``None`` when it has none."""
    names = {_named(connection, key): table for key, table in TABLES.items()}
    return names.get(space_id)


def spaces(connection: sqlite3.Connection) -> list[str]:
    """The names of the spaces that have a table, the one that was written last before the other."""
    found = [name for key in TABLES if (name := _named(connection, key)) is not None]
    return sorted(found, key=lambda name: name != _named(connection, _NEWEST))


def newest_table(connection: sqlite3.Connection) -> str | None:
    """The table that was written last; ``None`` before the first vector."""
    newest = _named(connection, _NEWEST)
    found = None if newest is None else table_of(connection, newest)
    if found is None and space_of(connection) is not None:
        return TABLES["space_id"]
    return found


def table_for(connection: sqlite3.Connection, space_id: str) -> str:
    """The table to write a space's vectors to, inside the caller's transaction.

    A third space takes the place of the one that was written longest ago.
    """
    table = table_of(connection, space_id)
    if table is None:
        key = _key_to_give_up(connection)
        table = TABLES[key]
        connection.execute(f"DELETE FROM {table}")
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, space_id))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_NEWEST, space_id))
    return table


def carry_spaces(connection: sqlite3.Connection) -> None:
    """Copy the vectors of the attached database ``old`` that ``main`` lacks, and their spaces.

    Vectors of a space the other database does not know are dropped, and damaged ones where they are
    converted; the others are found when they are read.
    """
    connection.create_function("as_kept", 1, _as_kept, deterministic=True)
    made_of = "as_kept(theirs.vector)" if _is_single(connection) else "theirs.vector"
    for key, table in TABLES.items():
        if not _has_table(connection, table):
            continue  # an earlier layout
        connection.execute(
            f"DELETE FROM {table} WHERE (SELECT value FROM old.meta WHERE key = ?) IS NOT NULL "
            "AND (SELECT value FROM old.meta WHERE key = ?) IS NOT "
            "(SELECT value FROM main.meta WHERE key = ?)",
            (key, key, key),
        )
        connection.execute(
            f"INSERT OR IGNORE INTO {table} SELECT theirs.text_hash, {made_of} "
            f"FROM old.{table} AS theirs WHERE NOT EXISTS "
            f"(SELECT 1 FROM main.{table} AS ours WHERE ours.text_hash = theirs.text_hash)"
        )
    connection.execute(
        "INSERT OR REPLACE INTO meta SELECT key, value FROM old.meta WHERE key IN (?, ?, ?)",
        (*TABLES, _NEWEST),
    )


def _is_single(connection: sqlite3.Connection) -> bool:
    """Whether the attached database keeps its vectors in single precision, as earlier ones did."""
    row = connection.execute("SELECT value FROM old.meta WHERE key = 'schema'").fetchone()
    return row is not None and str(row[0]) in _SINGLE_PRECISION


def _as_kept(value: object) -> bytes | None:
    """A vector in single precision as it is kept now; ``None``, which no table takes, for none."""
    if value == b"":  # it is kept elsewhere, and only its name stands here
        return b""
    if not isinstance(value, bytes) or len(value) % _BYTES_PER_SINGLE:
        return None
    numbers = np.frombuffer(value, "<f4").astype(np.float64)
    return packed(normalised(numbers)) if abs(np.linalg.norm(numbers) - 1) < _OFF else None


def _key_to_give_up(connection: sqlite3.Connection) -> str:
    spaces = {key: _named(connection, key) for key in TABLES}
    free = next((key for key, space in spaces.items() if space is None), None)
    newest = _named(connection, _NEWEST) or spaces["space_id"]
    return free or next(key for key, space in spaces.items() if space != newest)


def _named(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def _has_table(connection: sqlite3.Connection, table: str) -> bool:
    query = "SELECT 1 FROM old.sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (table,)).fetchone() is not None
