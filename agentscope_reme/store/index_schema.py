"""The tables of the index database, and how a file is known to be a sound one."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

SCHEMA_VERSION: Final = "4"
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SHORT_READ: Final = sqlite3.SQLITE_IOERR | (2 << 8)

SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    first_slot INTEGER NOT NULL,
    last_slot INTEGER NOT NULL,
    chunk_count INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    front_matter TEXT,
    front_matter_error TEXT,
    tags TEXT
);
CREATE TABLE chunks (
    slot INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    id BLOB NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    searchable INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    headings TEXT,
    metadata TEXT,
    text BLOB NOT NULL
);
CREATE INDEX chunks_of_file ON chunks (file_id);
CREATE TABLE links (
    file_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    target_path TEXT NOT NULL,
    target_anchor TEXT,
    kind TEXT NOT NULL,
    PRIMARY KEY (file_id, position)
) WITHOUT ROWID;
CREATE INDEX links_to ON links (target_path);
CREATE TABLE tags (
    tag TEXT NOT NULL,
    file_id INTEGER NOT NULL,
    PRIMARY KEY (tag, file_id)
) WITHOUT ROWID;
CREATE INDEX tags_of_file ON tags (file_id);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    checksum INTEGER NOT NULL,
    slots BLOB NOT NULL,
    lengths BLOB NOT NULL,
    keys BLOB NOT NULL,
    sizes BLOB NOT NULL,
    long_sizes BLOB NOT NULL,
    docs BLOB NOT NULL,
    counts BLOB NOT NULL
);
CREATE TABLE vectors (text_hash BLOB PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE second_vectors (text_hash BLOB PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE changes (rev INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, op TEXT NOT NULL);
"""
_TABLES: Final = frozenset(re.findall(r"CREATE TABLE (\w+)", SCHEMA))


class Foreign(sqlite3.DatabaseError):
    """A readable database that is not one of ours, or was made by other rules."""


class Newer(Foreign):
    """A database that a newer version of this library made."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file's content cannot be trusted, not that it is busy."""
    if isinstance(error, Foreign):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return False
    missing_table = code == sqlite3.SQLITE_ERROR and "no such" in str(error)
    return code & 0xFF in _DAMAGE or code == _SHORT_READ or missing_table


def check_index(connection: sqlite3.Connection, place: Path) -> str:
    """Make sure of what can be seen at a glance; the rest shows when it is read.

    Returns:
        The fingerprint of the rules that made the content.

    Raises:
        Foreign: tables are missing, the file is cut short, or it is laid out in another way.
        Newer: a newer version of this library made it.
    """
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    missing = _TABLES - {row[0] for row in tables}
    if "meta" in missing:
        raise Foreign("it has no table 'meta'")
    rules = dict(
        connection.execute("SELECT key, value FROM meta WHERE key IN ('schema', 'fingerprint')")
    )
    schema = str(rules.get("schema"))
    if schema.isdecimal() and int(schema) > int(SCHEMA_VERSION):
        raise Newer(f"it is laid out in version {schema}, this library reads {SCHEMA_VERSION}")
    if schema != SCHEMA_VERSION or "fingerprint" not in rules:
        raise Foreign("it was made by another version of this library")
    if missing:
        raise Foreign(f"it has no table {min(missing)!r}")
    _check_size(connection, place)
    return str(rules["fingerprint"])


def _check_size(connection: sqlite3.Connection, place: Path) -> None:
    """A file shorter than its header says was cut, unless the rest is in the write-ahead log."""
    log = place.with_name(place.name + "-wal")
    if log.exists() and log.stat().st_size:
        return
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_bytes = connection.execute("PRAGMA page_size").fetchone()[0]
    if place.stat().st_size < pages * page_bytes:
        raise Foreign("it is shorter than it should be")
