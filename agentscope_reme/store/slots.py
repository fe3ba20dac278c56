"""Questions to the database about where a file's chunks stand."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from agentscope_reme.store.file_entry import FileEntry, KeptChunks
from agentscope_reme.store.records import FileGrowth, IndexedFile

_ID_DIGITS: Final = 32


def load_slots(connection: sqlite3.Connection, file_id: int, count: int = -1) -> list[int]:
    """Where the chunks of one file stand, in order; the first `count` of them, or all."""
    rows = connection.execute(
        "SELECT slot FROM chunks WHERE file_id = ? ORDER BY slot LIMIT ?", (file_id, count)
    )
    return [slot for (slot,) in rows]


def last_slot_before(connection: sqlite3.Connection, file_id: int, slot: int) -> int:
    """The last slot of a file below another; -1 when there is none."""
    row = connection.execute(
        "SELECT MAX(slot) FROM chunks WHERE file_id = ? AND slot < ?", (file_id, slot)
    ).fetchone()
    return -1 if row[0] is None else int(row[0])


def first_answer(connection: sqlite3.Connection, file_id: int) -> int | None:
    """The slot of a file's first chunk that can be an answer."""
    row = connection.execute(
        "SELECT slot FROM chunks WHERE file_id = ? AND searchable ORDER BY slot LIMIT 1",
        (file_id,),
    ).fetchone()
    return None if row is None else int(row[0])


def common_chunks(
    connection: sqlite3.Connection, entry: FileEntry, file: IndexedFile
) -> KeptChunks | None:
    """The chunks a new version begins with as the stored one does, if their terms are the same.

    The terms of a file's name, description and tags stand in all of its chunks. One that has
    nothing but headings is searched by other rules than one that has not.
    """
    row = connection.execute(
        "SELECT name, description, tags FROM files WHERE id = ?", (entry.id,)
    ).fetchone()
    if row is None:
        return None  # another process has just removed it
    name, description, tags = row
    front = file.node.front_matter
    known = (name, description, tuple(json.loads(tags)) if tags else ())
    if known != (front.name, front.description, file.node.tags):
        return None
    rows = connection.execute(
        "SELECT slot, id, searchable, metadata FROM chunks WHERE file_id = ? ORDER BY slot",
        (entry.id,),
    )
    count, last_slot, has_answer = 0, -1, False
    for (slot, packed, searchable, metadata), chunk in zip(rows, file.chunks, strict=False):
        heading_only = bool(chunk.metadata.get("heading_only"))
        stored = json.loads(metadata) if metadata else {}
        if unpack_id(packed) != chunk.id or bool(stored.get("heading_only")) != heading_only:
            break
        count, last_slot = count + 1, slot
        has_answer = has_answer or (bool(searchable) and not heading_only)
    return KeptChunks(entry, count, last_slot) if has_answer else None


def finished_chunks(
    connection: sqlite3.Connection, entry: FileEntry, growth: FileGrowth
) -> KeptChunks | None:
    """The chunks of a growing file that stay; ``None`` when it is no continuation."""
    stamp = connection.execute(
        "SELECT size, content_hash FROM files WHERE id = ?", (entry.id,)
    ).fetchone()
    if stamp is None or not growth.continues(*stamp):
        return None
    rows = connection.execute(
        "SELECT slot, start_line, end_line FROM chunks WHERE file_id = ? ORDER BY slot DESC",
        (entry.id,),
    )
    for dropped, (slot, start_line, end_line) in enumerate(rows):
        if start_line < growth.first_line:
            if end_line >= growth.first_line:
                return None  # it was cut elsewhere, by other rules
            return KeptChunks(entry, entry.chunk_count - dropped, slot)
    return KeptChunks(entry, 0, -1)


def pack_id(chunk_id: str) -> bytes | str:
    """Half the space for the hex digits `schema.chunk_id` makes; any other id stays text."""
    try:
        packed = bytes.fromhex(chunk_id) if len(chunk_id) == _ID_DIGITS else b""
    except ValueError:
        return chunk_id
    return packed if packed.hex() == chunk_id else chunk_id


def unpack_id(packed: bytes | str) -> str:
    """The chunk id `pack_id` was given."""
    return packed.hex() if isinstance(packed, bytes) else packed
