"""Writing files, chunks, links and tags as rows of the index database."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any, Final

from agentscope_reme.schema import FileChunk, FileNode, text_hash
from agentscope_reme.store.base import FileStamp
from agentscope_reme.store.file_entry import FileEntry, KeptChunks, PreparedFile
from agentscope_reme.store.filters import plain_value
from agentscope_reme.store.indexed_text import ChunkWords
from agentscope_reme.store.slots import load_slots, pack_id
from agentscope_reme.store.stored_files import UTF_8, UTF_16

_WORTH_COMPRESSING_BYTES: Final = 1000
"""Shorter texts stay plain: they shrink by a third, and every hit would pay for unpacking."""
_CHANGING: Final = (
    "mtime_ns", "size", "content_hash", "last_slot", "chunk_count",
    "name", "description", "front_matter", "front_matter_error", "tags",
)  # fmt: skip


def insert_file(connection: sqlite3.Connection, file: PreparedFile, first_slot: int) -> FileEntry:
    """Store a file that is not there yet."""
    node = file.node
    last_slot = first_slot + len(file.chunks) - 1
    values = (node.path, first_slot, *_changing(file, last_slot))
    cursor = connection.execute(
        f"INSERT INTO files (path, first_slot, {', '.join(_CHANGING)}) "
        f"VALUES ({','.join('?' * len(values))})",
        values,
    )
    entry = FileEntry(
        int(cursor.lastrowid or 0), node.path, first_slot, last_slot, len(file.chunks)
    )
    insert_chunks(connection, entry.id, first_slot, file.chunks, file.words)
    _insert_links_and_tags(connection, entry.id, node)
    return entry


def update_file(
    connection: sqlite3.Connection, file: PreparedFile, kept: KeptChunks, next_slot: int
) -> FileEntry:
    """Store a new version of a file whose first chunks stay."""
    entry = kept.entry.grown(kept, len(file.new_chunks), next_slot)
    connection.execute(
        f"UPDATE files SET {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE id = ?",
        (*_changing(file, entry.last_slot), entry.id),
    )
    connection.executemany(
        "UPDATE chunks SET start_line = ?1, end_line = ?2, metadata = ?3 WHERE slot = ?4 AND "
        "(start_line, end_line, metadata) IS NOT (?1, ?2, ?3)",
        [
            (chunk.start_line, chunk.end_line, _packed_metadata(chunk), slot)
            for slot, chunk in zip(
                load_slots(connection, entry.id, kept.count), file.chunks[: kept.count], strict=True
            )
        ],
    )
    delete_chunks_behind(connection, kept)
    insert_chunks(connection, entry.id, next_slot, file.new_chunks, file.words)
    _delete_links_and_tags(connection, entry.id)
    _insert_links_and_tags(connection, entry.id, file.node)
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
    connection.executemany(
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?)",
        [
            _chunk_row(slot, file_id, chunk, terms is not None)
            for slot, (chunk, terms) in enumerate(zip(chunks, words, strict=True), first_slot)
        ],
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


def _changing(file: PreparedFile, last_slot: int) -> tuple[Any, ...]:
    node = file.node
    extra = {key: plain_value(value) for key, value in node.front_matter.extra.items()}
    return (
        node.st_mtime_ns,
        node.size,
        node.content_hash,
        last_slot,
        len(file.chunks),
        _text(node.front_matter.name),
        _text(node.front_matter.description),
        json.dumps(extra) if extra else None,
        None if node.front_matter_error is None else _text(node.front_matter_error),
        json.dumps(node.tags) if node.tags else None,
    )


def _insert_links_and_tags(connection: sqlite3.Connection, file_id: int, node: FileNode) -> None:
    connection.executemany(
        "INSERT INTO links VALUES (?,?,?,?,?)",
        [
            (file_id, i, _text(k.target_path), k.target_anchor and _text(k.target_anchor), k.kind)
            for i, k in enumerate(node.links)
        ],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO tags VALUES (?,?)", [(_text(tag), file_id) for tag in node.tags]
    )


def _delete_links_and_tags(connection: sqlite3.Connection, file_id: int) -> None:
    connection.execute("DELETE FROM links WHERE file_id = ?", (file_id,))
    connection.execute("DELETE FROM tags WHERE file_id = ?", (file_id,))


def _pack_text(text: str) -> bytes:
    data, mark = text.encode("utf-8", "surrogatepass"), UTF_8
    if len(data) > 2 * len(text):  # Chinese takes three bytes a character in UTF-8
        data, mark = text.encode("utf-16-le", "surrogatepass"), UTF_16
    if len(data) < _WORTH_COMPRESSING_BYTES:
        return mark + data
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _chunk_row(slot: int, file_id: int, chunk: FileChunk, searchable: bool) -> tuple[Any, ...]:
    return (
        slot,
        file_id,
        pack_id(chunk.id),
        chunk.start_line,
        chunk.end_line,
        searchable,
        bytes.fromhex(text_hash(chunk.text)),
        json.dumps(chunk.headings) if chunk.headings else None,
        _packed_metadata(chunk),
        _pack_text(chunk.text),
    )


def _packed_metadata(chunk: FileChunk) -> str | None:
    return json.dumps(chunk.metadata, default=plain_value) if chunk.metadata else None


def _text(text: str) -> str:
    """Text SQLite can hold: lone surrogates, which stand for undecodable bytes, become ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")
