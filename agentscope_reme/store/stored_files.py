"""Files, chunks, links and tags as rows of the index database."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.schema import (
    FileChunk,
    FileLink,
    FileNode,
    FrontMatter,
    SearchHit,
    text_hash,
)
from agentscope_reme.store.filters import date_of, plain_value
from agentscope_reme.store.index_schema import Foreign
from agentscope_reme.store.indexed_text import ChunkWords
from agentscope_reme.store.postings import Document

_INCOMPRESSIBLE_BYTES: Final = 200
_PLAIN: Final = b"\0"
_ASKED_AT_ONCE: Final = 500
_NODE_COLUMNS: Final = (
    "id, path, mtime_ns, size, content_hash, first_slot, chunk_count, "
    "name, description, front_matter, front_matter_error, tags"
)
_CHUNK_COLUMNS: Final = "id, start_line, end_line, headings, metadata, text"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Where a file's chunks stand: slots ``first_slot`` to ``first_slot + chunk_count - 1``."""

    id: int
    path: str
    first_slot: int
    chunk_count: int

    @property
    def slots(self) -> range:
        """The slots of its chunks."""
        return range(self.first_slot, self.first_slot + self.chunk_count)


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file ready to be stored, with the terms of its chunks."""

    node: FileNode
    chunks: tuple[FileChunk, ...]
    words: list[ChunkWords | None]

    def documents(self, entry: FileEntry) -> list[Document]:
        """What the inverted index takes of it."""
        return [
            Document.of(slot, entry.id, words.counts, words.length)
            for slot, words in zip(entry.slots, self.words, strict=True)
            if words is not None
        ]


def insert_file(connection: sqlite3.Connection, file: PreparedFile, first_slot: int) -> FileEntry:
    """Store a file that is not there yet."""
    node = file.node
    extra = {key: plain_value(value) for key, value in node.front_matter.extra.items()}
    cursor = connection.execute(
        "INSERT INTO files (path, mtime_ns, size, content_hash, first_slot, chunk_count, name, "
        "description, front_matter, front_matter_error, tags) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (
            node.path,
            node.st_mtime_ns,
            node.size,
            node.content_hash,
            first_slot,
            len(file.chunks),
            _text(node.front_matter.name),
            _text(node.front_matter.description),
            json.dumps(extra) if extra else None,
            None if node.front_matter_error is None else _text(node.front_matter_error),
            json.dumps(node.tags) if node.tags else None,
        ),
    )
    entry = FileEntry(int(cursor.lastrowid or 0), node.path, first_slot, len(file.chunks))
    connection.executemany(
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?)",
        [
            _chunk_row(slot, entry.id, chunk, words is not None)
            for slot, chunk, words in zip(entry.slots, file.chunks, file.words, strict=True)
        ],
    )
    connection.executemany(
        "INSERT INTO links VALUES (?,?,?,?,?)",
        [
            (entry.id, i, _text(k.target_path), k.target_anchor and _text(k.target_anchor), k.kind)
            for i, k in enumerate(node.links)
        ],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO tags VALUES (?,?)", [(_text(tag), entry.id) for tag in node.tags]
    )
    return entry


def delete_file(connection: sqlite3.Connection, entry: FileEntry) -> None:
    """Remove a file and all that hangs on it."""
    connection.execute(
        "DELETE FROM chunks WHERE slot BETWEEN ? AND ?",
        (entry.first_slot, entry.first_slot + entry.chunk_count - 1),
    )
    connection.execute("DELETE FROM links WHERE file_id = ?", (entry.id,))
    connection.execute("DELETE FROM tags WHERE file_id = ?", (entry.id,))
    connection.execute("DELETE FROM files WHERE id = ?", (entry.id,))


def load_entries(connection: sqlite3.Connection) -> list[FileEntry]:
    """Every file, in slot order."""
    rows = connection.execute(
        "SELECT id, path, first_slot, chunk_count FROM files ORDER BY first_slot"
    )
    return [FileEntry(*row) for row in rows]


def load_nodes(
    connection: sqlite3.Connection, where: str = "", parameters: Sequence[Any] = ()
) -> list[FileNode]:
    """The files a condition on the ``files`` table selects, sorted by path."""
    statement = f"SELECT {_NODE_COLUMNS} FROM files {where} ORDER BY path"  # noqa: S608
    return [_node(connection, row) for row in connection.execute(statement, parameters).fetchall()]


def load_chunks(connection: sqlite3.Connection, entry: FileEntry) -> list[FileChunk]:
    """The chunks of one file, in order."""
    rows = connection.execute(
        f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE slot BETWEEN ? AND ? ORDER BY slot",  # noqa: S608
        (entry.first_slot, entry.first_slot + entry.chunk_count - 1),
    )
    return [
        FileChunk(
            id=_chunk_id(row[0]),
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
    where = "" if path is None else "WHERE files.path = ?"
    rows = connection.execute(
        "SELECT path, target_path, target_anchor, kind FROM links "  # noqa: S608
        f"JOIN files ON files.id = links.file_id {where} ORDER BY file_id, position",
        () if path is None else (path,),
    )
    return [
        FileLink.model_construct(
            source_path=row[0], target_path=row[1], target_anchor=row[2], kind=row[3]
        )
        for row in rows
    ]


def load_hits(
    connection: sqlite3.Connection, scored: Sequence[tuple[float, int]], branch: str
) -> list[SearchHit]:
    """The chunks in these slots as hits, in the given order.

    Args:
        scored: ``(score, slot)``, best first.
        branch: what found them, ``keyword`` or ``vector``.
    """
    rows: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(scored), _ASKED_AT_ONCE):
        slots = [slot for _score, slot in scored[start : start + _ASKED_AT_ONCE]]
        marks = ",".join("?" * len(slots))
        statement = (
            "SELECT slot, chunks.id, start_line, end_line, headings, text, path, name, description "  # noqa: S608
            f"FROM chunks JOIN files ON files.id = file_id WHERE slot IN ({marks})"
        )
        rows.update({row[0]: row for row in connection.execute(statement, slots)})
    return [
        _hit(rows[slot], score, branch, rank)
        for rank, (score, slot) in enumerate(scored, 1)
        if slot in rows
    ]


def unpack_text(blob: bytes) -> str:
    """The text of a chunk row.

    Raises:
        Foreign: it was damaged.
    """
    try:
        data = blob[1:] if blob[:1] == _PLAIN else zlib.decompress(blob)
        return data.decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise Foreign(f"the text of a chunk cannot be read: {error}") from error


def _pack_text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) < _INCOMPRESSIBLE_BYTES:
        return _PLAIN + data
    return zlib.compress(data, 1)


def _chunk_row(slot: int, file_id: int, chunk: FileChunk, searchable: bool) -> tuple[Any, ...]:
    return (
        slot,
        file_id,
        _packed_id(chunk.id),
        chunk.start_line,
        chunk.end_line,
        searchable,
        bytes.fromhex(text_hash(chunk.text)),
        json.dumps(chunk.headings) if chunk.headings else None,
        json.dumps(plain_value(chunk.metadata)) if chunk.metadata else None,
        _pack_text(chunk.text),
    )


def _packed_id(chunk_id: str) -> bytes | str:
    """Half the space for the hex digits `schema.chunk_id` makes; any other id stays text."""
    if len(chunk_id) == 32 and not set(chunk_id) - set("0123456789abcdef"):
        return bytes.fromhex(chunk_id)
    return chunk_id


def _chunk_id(packed: bytes | str) -> str:
    return packed.hex() if isinstance(packed, bytes) else packed


def _node(connection: sqlite3.Connection, row: tuple[Any, ...]) -> FileNode:
    file_id, path, mtime_ns, size, content_hash, first_slot, count = row[:7]
    name, description, extra, error, tags = row[7:]
    ids = connection.execute(
        "SELECT id FROM chunks WHERE slot BETWEEN ? AND ? ORDER BY slot",
        (first_slot, first_slot + count - 1),
    )
    return FileNode(
        path=path,
        st_mtime_ns=mtime_ns,
        size=size,
        content_hash=content_hash,
        links=_links_of(connection, file_id, path),
        chunk_ids=tuple(_chunk_id(row[0]) for row in ids),
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


def _hit(row: tuple[Any, ...], score: float, branch: str, rank: int) -> SearchHit:
    _slot, chunk, start, end, headings, text, path, name, description = row
    return SearchHit(
        chunk_id=_chunk_id(chunk),
        path=path,
        start_line=start,
        end_line=end,
        text=unpack_text(text),
        headings=tuple(json.loads(headings)) if headings else (),
        score=score,
        scores={branch: score},
        ranks={branch: rank},
        date=date_of(path),
        name=name,
        description=description,
    )


def front_matter_rows(connection: sqlite3.Connection) -> Iterable[tuple[int, dict[str, Any]]]:
    """Every file's number and its whole front matter."""
    rows = connection.execute("SELECT id, name, description, front_matter FROM files")
    for file_id, name, description, extra in rows:
        fields = json.loads(extra) if extra else {}
        yield file_id, {**fields, "name": name, "description": description}


def _text(text: str) -> str:
    """Text SQLite can hold: lone surrogates, which stand for undecodable bytes, become ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")
