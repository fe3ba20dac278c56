"""Writing files, chunks, links and tags as rows of the index database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_reme.schema import FileChunk
from agentscope_reme.store.file_entry import FileEntry, KeptChunks, PreparedFile
from agentscope_reme.store.flat_file import (
    ChunkRow,
    FlatFile,
    LinkRow,
    chunk_row,
    file_columns,
    link_row,
    packed_metadata,
    storable,
)
from agentscope_reme.store.indexed_text import ChunkWords
from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.slots import load_slots

_CHANGING: Final = (
    "mtime_ns", "size", "content_hash",
    "name", "description", "front_matter", "front_matter_error", "tags",
    "last_slot", "chunk_count",
)  # fmt: skip
_INSERT_FILE: Final = (
    f"INSERT INTO files (path, first_slot, {', '.join(_CHANGING)}) "
    f"VALUES ({','.join('?' * (2 + len(_CHANGING)))})"
)


def insert_file(connection: sqlite3.Connection, file: FlatFile, first_slot: int) -> FileEntry:
    """Store a file that is not there yet."""
    rows = file.rows
    last_slot = first_slot + file.added - 1
    cursor = connection.execute(
        _INSERT_FILE, (rows.path, first_slot, *rows.columns, last_slot, file.added)
    )
    entry = FileEntry(int(cursor.lastrowid or 0), rows.path, first_slot, last_slot, file.added)
    _insert_rows(connection, entry.id, first_slot, rows.chunks)
    _insert_links_and_tags(connection, entry.id, rows.links, file.tags)
    return entry


def update_file(
    connection: sqlite3.Connection, file: PreparedFile, kept: KeptChunks, next_slot: int
) -> FileEntry:
    """Store a new version of a file whose first chunks stay."""
    entry = kept.entry.grown(kept, len(file.new_chunks), next_slot)
    connection.execute(
        f"UPDATE files SET {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE id = ?",
        (*file_columns(file.node), entry.last_slot, len(file.chunks), entry.id),
    )
    connection.executemany(
        "UPDATE chunks SET start_line = ?1, end_line = ?2, metadata = ?3 WHERE slot = ?4 AND "
        "(start_line, end_line, metadata) IS NOT (?1, ?2, ?3)",
        [
            (chunk.start_line, chunk.end_line, packed_metadata(chunk), slot)
            for slot, chunk in zip(
                load_slots(connection, entry.id, kept.count), file.chunks[: kept.count], strict=True
            )
        ],
    )
    delete_chunks_behind(connection, kept)
    insert_chunks(connection, entry.id, next_slot, file.new_chunks, file.words)
    _delete_links_and_tags(connection, entry.id)
    _insert_links_and_tags(connection, entry.id, map(link_row, file.node.links), file.node.tags)
    return entry


def update_stamp(connection: sqlite3.Connection, entry: FileEntry, stamp: FileStamp) -> None:
    """Say how long a file is now, in bytes and in chunks."""
    connection.execute(
        "UPDATE files SET mtime_ns = ?, size = ?, content_hash = ?, last_slot = ?, "
        "chunk_count = ? WHERE id = ?",
        (
            stamp.mtime_ns,
            stamp.size,
            stamp.content_hash,
            entry.last_slot,
            entry.chunk_count,
            entry.id,
        ),
    )


def insert_chunks(
    connection: sqlite3.Connection,
    file_id: int,
    first_slot: int,
    chunks: Sequence[FileChunk],
    words: Sequence[ChunkWords | None],
) -> None:
    """Store chunks of a file, one behind the other."""
    rows = (chunk_row(c, terms is not None) for c, terms in zip(chunks, words, strict=True))
    _insert_rows(connection, file_id, first_slot, rows)


def _insert_rows(
    connection: sqlite3.Connection, file_id: int, first_slot: int, rows: Iterable[ChunkRow]
) -> None:
    connection.executemany(
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?)",
        [(slot, file_id, *row) for slot, row in enumerate(rows, first_slot)],
    )


def delete_chunks_behind(connection: sqlite3.Connection, kept: KeptChunks) -> None:
    """Remove the chunks that do not stay."""
    connection.execute(
        "DELETE FROM chunks WHERE file_id = ? AND slot > ?", (kept.entry.id, kept.last_slot)
    )


def delete_file(connection: sqlite3.Connection, entry: FileEntry) -> None:
    """Remove a file and all that hangs on it."""
    connection.execute("DELETE FROM chunks WHERE file_id = ?", (entry.id,))
    _delete_links_and_tags(connection, entry.id)
    connection.execute("DELETE FROM files WHERE id = ?", (entry.id,))


def _insert_links_and_tags(
    connection: sqlite3.Connection, file_id: int, links: Iterable[LinkRow], tags: Sequence[str]
) -> None:
    link_rows = [(file_id, position, *link) for position, link in enumerate(links)]
    if link_rows:  # most files have none, and a statement costs as much as a row
        connection.executemany("INSERT INTO links VALUES (?,?,?,?,?)", link_rows)
    if tags:
        connection.executemany(
            "INSERT OR IGNORE INTO tags VALUES (?,?)", [(storable(tag), file_id) for tag in tags]
        )


def _delete_links_and_tags(connection: sqlite3.Connection, file_id: int) -> None:
    connection.execute("DELETE FROM links WHERE file_id = ?", (file_id,))
    connection.execute("DELETE FROM tags WHERE file_id = ?", (file_id,))
