"""Files, chunks, links and tags as rows of the index database."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from agentscope_reme.schema import (
    FileChunk,
    FileLink,
    FileNode,
    FrontMatter,
    SearchHit,
)
from agentscope_reme.store.chunk_kinds import PICTURE
from agentscope_reme.store.file_entry import FileEntry
from agentscope_reme.store.filters import date_of, days_of_chunk, days_within
from agentscope_reme.store.index_schema import Foreign
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.slots import unpack_id

UTF_8: Final = b"\0"
UTF_16: Final = b"\1"
"""Begin a text that is stored as it is; a compressed one begins with neither."""
_PLAIN: Final = {UTF_8: "utf-8", UTF_16: "utf-16-le"}
_ASKED_AT_ONCE: Final = 500
ENTRY_COLUMNS: Final = "id, path, first_slot, last_slot, chunk_count"
"""What a `FileEntry` is made of, in the ``files`` table."""
_NODE_COLUMNS: Final = (
    "id, path, mtime_ns, size, content_hash, "
    "name, description, front_matter, front_matter_error, tags"
)
_CHUNK_COLUMNS: Final = "id, start_line, end_line, headings, metadata, text"
_HIT_ROWS: Final = (
    "SELECT slot, id, start_line, end_line, headings, text, metadata FROM chunks WHERE slot"
)

Ranked = tuple[float, str, int, int]
"""Score, path, slot and file number of a chunk that was found."""
FileHead = tuple[str, str, str | None]
"""Name, description and, where it has a date, the front matter of a file."""
Heads = dict[int, FileHead]
_NO_HEAD: Final[FileHead] = ("", "", None)


def load_entries(connection: sqlite3.Connection) -> list[FileEntry]:
    """Every file, in slot order."""
    rows = connection.execute(f"SELECT {ENTRY_COLUMNS} FROM files ORDER BY first_slot")
    return [FileEntry(*row) for row in rows]


def load_nodes(
    connection: sqlite3.Connection, where: str = "", parameters: Sequence[Any] = ()
) -> list[FileNode]:
    """The files a condition on the ``files`` table selects, sorted by path."""
    statement = f"SELECT {_NODE_COLUMNS} FROM files {where} ORDER BY path"
    return [_node(connection, row) for row in connection.execute(statement, parameters).fetchall()]


def load_chunks(connection: sqlite3.Connection, entry: FileEntry) -> list[FileChunk]:
    """The chunks of one file, in order."""
    rows = connection.execute(
        f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE file_id = ? ORDER BY slot",
        (entry.id,),
    )
    return [
        FileChunk(
            id=unpack_id(row[0]),
            path=entry.path,
            start_line=row[1],
            end_line=row[2],
            headings=tuple(json.loads(row[3])) if row[3] else (),
            metadata=json.loads(row[4]) if row[4] else {},
            text=unpack_text(row[5]),
        )
        for row in rows
    ]


def load_links(connection: sqlite3.Connection, path: str | None = None) -> list[FileLink]:
    """Links in order, of one file or of all."""
    if path is None:
        return _links(connection, "ORDER BY file_id, position", ())
    return _links(connection, "WHERE path = ? ORDER BY position", (_askable(path),))


def load_inlinks(connection: sqlite3.Connection, path: str) -> list[FileLink]:
    """Links to a path from other files, sorted by source path."""
    target = _askable(path)
    return _links(
        connection, "WHERE target_path = ? AND path <> ? ORDER BY path, position", (target, target)
    )


def _askable(path: str) -> str:
    """A path as SQLite holds it: lone surrogates became ``?``."""
    return path.encode("utf-8", "replace").decode("utf-8")


def _links(connection: sqlite3.Connection, where: str, parameters: Sequence[str]) -> list[FileLink]:
    rows = connection.execute(
        "SELECT path, target_path, target_anchor, kind FROM links "
        f"JOIN files ON files.id = links.file_id {where}",
        parameters,
    )
    return [
        FileLink.model_construct(
            source_path=row[0], target_path=row[1], target_anchor=row[2], kind=row[3]
        )
        for row in rows
    ]


def load_heads(connection: sqlite3.Connection, ids: Sequence[int] | None = None) -> Heads:
    """What hits show of some files, or of all of them, by number."""
    statement = (
        "SELECT id, name, description, "
        "CASE WHEN front_matter LIKE '%\"date\"%' THEN front_matter END FROM files"
    )
    if ids is None:
        rows = connection.execute(statement).fetchall()
    else:
        rows = _rows_in(connection, f"{statement} WHERE id", ids)
    return {row[0]: row[1:] if any(row[1:]) else _NO_HEAD for row in rows}


def load_hits(
    connection: sqlite3.Connection,
    ranked: Sequence[Ranked],
    heads: Mapping[int, FileHead],
    branch: str,
    where: SearchFilter | None = None,
) -> list[SearchHit]:
    """Chunks as hits, in the given order, as far as they and their files are still there.

    Args:
        ranked: the chunks, best first.
        heads: what is shown of their files.
        branch: what found them, ``keyword`` or ``vector``.
        where: of several days of a chunk, the last one within this condition is shown.
    """
    slots = [slot for _score, _path, slot, _owner in ranked]
    rows = {row[0]: row for row in _rows_in(connection, _HIT_ROWS, slots)}
    return [
        _hit(rows[slot], heads[owner], path, score, branch, rank, where)
        for rank, (score, path, slot, owner) in enumerate(ranked, 1)
        if slot in rows and owner in heads
    ]


def _rows_in(
    connection: sqlite3.Connection, statement: str, numbers: Sequence[int]
) -> list[tuple[Any, ...]]:
    """The rows of a statement that ends with the name of a column, which has these numbers."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(numbers), _ASKED_AT_ONCE):
        asked = numbers[start : start + _ASKED_AT_ONCE]
        rows += connection.execute(_one_of(statement, len(asked)), asked).fetchall()
    return rows


@lru_cache
def _one_of(statement: str, count: int) -> str:
    return f"{statement} IN ({','.join('?' * count)})"


def unpack_text(blob: bytes) -> str:
    """The text of a chunk row.

    Raises:
        Foreign: it was damaged.
    """
    try:
        encoding = _PLAIN.get(blob[:1])
        if encoding is not None:
            return blob[1:].decode(encoding, "surrogatepass")
        return zlib.decompress(blob).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise Foreign(f"the text of a chunk cannot be read: {error}") from error


def _node(connection: sqlite3.Connection, row: tuple[Any, ...]) -> FileNode:
    file_id, path, mtime_ns, size, content_hash = row[:5]
    name, description, extra, error, tags = row[5:]
    ids = connection.execute("SELECT id FROM chunks WHERE file_id = ? ORDER BY slot", (file_id,))
    return FileNode(
        path=path,
        st_mtime_ns=mtime_ns,
        size=size,
        content_hash=content_hash,
        links=_links_of(connection, file_id, path),
        chunk_ids=tuple(unpack_id(row[0]) for row in ids),
        front_matter=FrontMatter(
            **{**(json.loads(extra) if extra else {}), "name": name, "description": description}
        ),
        front_matter_error=error,
        tags=tuple(json.loads(tags)) if tags else (),
    )


def _links_of(connection: sqlite3.Connection, file_id: int, path: str) -> tuple[FileLink, ...]:
    rows = connection.execute(
        "SELECT target_path, target_anchor, kind FROM links WHERE file_id = ? ORDER BY position",
        (file_id,),
    )
    return tuple(
        FileLink(source_path=path, target_path=row[0], target_anchor=row[1], kind=row[2])
        for row in rows
    )


def _hit(
    row: tuple[Any, ...],
    head: FileHead,
    path: str,
    score: float,
    branch: str,
    rank: int,
    where: SearchFilter | None,
) -> SearchHit:
    _slot, chunk, start, end, headings, text, metadata = row
    name, description, extra = head
    path = path if path.isascii() else _askable(path)
    media_type = _picture_type(metadata)
    return SearchHit.unchecked(
        {
            "chunk_id": unpack_id(chunk),
            "path": path,
            "start_line": start,
            "end_line": end,
            "text": f"[{media_type}] {path}" if media_type else unpack_text(text),
            "headings": tuple(json.loads(headings)) if headings else (),
            "score": score,
            "scores": {branch: score},
            "ranks": {branch: rank},
            "date": _shown_day(path, extra, metadata, where),
            "name": name,
            "description": description,
            "media_type": media_type,
        }
    )


def _shown_day(
    path: str, extra: str | None, metadata: str | None, where: SearchFilter | None
) -> str | None:
    """The last day of a chunk, of those a condition asks for if it has any of them."""
    if extra is None and metadata is None:
        return date_of(path)
    days = _days(path, extra, metadata)
    shown = days_within(where, days) or days
    return shown[-1] if shown else None


def _picture_type(metadata: str | None) -> str:
    if metadata is None or PICTURE not in metadata:
        return ""
    return str(json.loads(metadata).get(PICTURE, ""))


def _days(path: str, extra: str | None, metadata: str | None) -> list[str]:
    fields = json.loads(extra) if extra else {}
    return days_of_chunk(path, fields, json.loads(metadata) if metadata else {})


def slots_within(
    connection: sqlite3.Connection, slots: Sequence[int], where: SearchFilter
) -> set[int]:
    """Those of some chunks whose days meet a condition on dates; those without a day do."""
    passing = set(slots)  # also those that are gone: whoever loads them notices
    for start in range(0, len(slots), _ASKED_AT_ONCE):
        asked = slots[start : start + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(asked))
        rows = connection.execute(
            "SELECT slot, path, front_matter, metadata "
            f"FROM chunks JOIN files ON files.id = file_id WHERE slot IN ({marks})",
            asked,
        )
        for slot, path, extra, metadata in rows:
            days = _days(path, extra, metadata)
            if days and not days_within(where, days):
                passing.discard(slot)
    return passing


def front_matter_rows(
    connection: sqlite3.Connection, where: str = ""
) -> Iterable[tuple[int, dict[str, Any]]]:
    """The number and the whole front matter of the files a condition selects."""
    rows = connection.execute(f"SELECT id, name, description, front_matter FROM files {where}")
    for file_id, name, description, extra in rows:
        fields = json.loads(extra) if extra else {}
        yield file_id, {**fields, "name": name, "description": description}
