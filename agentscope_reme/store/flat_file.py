"""A file as the rows and arrays that are stored of it.

Thousands of files on their way into the index are thousands of objects each as `FileChunk` and the
like, and a garbage collection that walks through them holds up the whole process. These are plain
tuples of texts, numbers and bytes, which it passes over, and which go through a pipe as they are.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from agentscope_reme.schema import FileChunk, FileLink, FileNode, FrontMatter, text_hash
from agentscope_reme.store.chunk_kinds import AS_PICTURE, AS_TEXT, PICTURE
from agentscope_reme.store.filters import plain_value
from agentscope_reme.store.indexed_text import ChunkWords
from agentscope_reme.store.postings import LARGEST_COUNT, Document
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.store.slots import pack_id, unpack_id
from agentscope_reme.store.stored_files import UTF_8, UTF_16, unpack_text

_as_json: Final = json.JSONEncoder(default=plain_value).encode
"""`json.dumps` would make such an encoder anew for every chunk."""
_WORTH_COMPRESSING_BYTES: Final = 1000
"""Shorter texts stay plain: they shrink by a third, and every hit would pay for unpacking."""

FileColumns = tuple[int, int, str, str, str, str | None, str | None, str | None]
"""The fields of `FileRows` from `mtime_ns` to `tags`."""
ChunkRow = tuple[bytes | str, int, int, int, bytes, str | None, str | None, bytes]
"""Packed id, first and last line, what it is searched as, text hash, headings, metadata, text."""
LinkRow = tuple[str, str | None, str]
"""Target path, anchor and kind."""
WordsRow = tuple[bytes, bytes, int] | None
"""Term keys, counts and length of a chunk; ``None`` for one that is never an answer."""


class FileRows(NamedTuple):
    """What a `FlatFile` is made of; a plain tuple of these goes through a pipe."""

    path: str
    mtime_ns: int
    size: int
    content_hash: str
    name: str
    description: str
    front_matter: str | None
    front_matter_error: str | None
    tags: str | None
    chunks: tuple[ChunkRow, ...]
    links: tuple[LinkRow, ...]
    words: tuple[WordsRow, ...]

    @property
    def columns(self) -> FileColumns:
        """Those of one row of the ``files`` table, as `file_columns` makes them."""
        return self[1:9]


class FlatFile(IndexedFile):
    """An `IndexedFile` whose terms are counted and whose rows are made.

    Args:
        rows: made by `flattened`.
    """

    __slots__ = ("rows",)
    rows: FileRows
    kept: Final = None

    def __init__(self, rows: FileRows) -> None:
        object.__setattr__(self, "rows", rows)

    @property
    def path(self) -> str:
        """The workspace path."""
        return self.rows.path

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.rows.size

    @property
    def chunk_count(self) -> int:
        """How many chunks it has."""
        return len(self.rows.chunks)

    added = chunk_count

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the file."""
        return tuple(json.loads(self.rows.tags)) if self.rows.tags else ()

    @property
    def front_matter(self) -> Mapping[str, Any]:
        """The whole front matter, as filters compare it."""
        extra = json.loads(self.rows.front_matter) if self.rows.front_matter else {}
        return {**extra, "name": self.rows.name, "description": self.rows.description}

    @property
    def links(self) -> tuple[FileLink, ...]:
        """The links written in the file."""
        return tuple(
            FileLink(source_path=self.path, target_path=target, target_anchor=anchor, kind=kind)
            for target, anchor, kind in self.rows.links
        )

    def documents(self, file_id: int, first_slot: int) -> list[Document]:
        """What the inverted index takes of the file."""
        return [
            Document(
                slot, file_id, np.frombuffer(row[0], "<i8"), np.frombuffer(row[1], "u1"), row[2]
            )
            for slot, row in enumerate(self.rows.words, first_slot)
            if row is not None
        ]

    @property
    def node(self) -> FileNode:
        """The file."""
        rows = self.rows
        return FileNode(
            path=rows.path,
            st_mtime_ns=rows.mtime_ns,
            size=rows.size,
            content_hash=rows.content_hash,
            links=self.links,
            chunk_ids=tuple(unpack_id(chunk[0]) for chunk in rows.chunks),
            front_matter=FrontMatter(**self.front_matter),
            front_matter_error=rows.front_matter_error,
            tags=self.tags,
        )

    @property
    def chunks(self) -> tuple[FileChunk, ...]:
        """The chunks, in file order."""
        return tuple(chunk_of(self.path, row) for row in self.rows.chunks)


def flattened(
    node: FileNode, chunks: Sequence[FileChunk], words: Sequence[ChunkWords | None]
) -> FlatFile:
    """A file as it is stored.

    Args:
        node: the file.
        chunks: all of its chunks.
        words: the terms of each.
    """
    return FlatFile(
        FileRows(
            node.path,
            *file_columns(node),
            tuple(chunk_row(c, w is not None) for c, w in zip(chunks, words, strict=True)),
            tuple(map(link_row, node.links)),
            tuple(map(_words_row, words)),
        )
    )


def file_columns(node: FileNode) -> FileColumns:
    """What is stored of a file besides its path and where its chunks stand."""
    front = node.front_matter
    extra = {key: plain_value(value) for key, value in front.extra.items()}
    return (
        node.st_mtime_ns,
        node.size,
        node.content_hash,
        storable(front.name),
        storable(front.description),
        json.dumps(extra) if extra else None,
        None if node.front_matter_error is None else storable(node.front_matter_error),
        json.dumps(node.tags) if node.tags else None,
    )


def chunk_row(chunk: FileChunk, searched: bool) -> ChunkRow:
    """A chunk as it is stored."""
    return (
        pack_id(chunk.id),
        chunk.start_line,
        chunk.end_line,
        _searched_as(chunk) if searched else 0,
        bytes.fromhex(text_hash(chunk.text)),
        _as_json(chunk.headings) if chunk.headings else None,
        packed_metadata(chunk),
        _packed_text(chunk.text),
    )


def _searched_as(chunk: FileChunk) -> int:
    return AS_PICTURE if PICTURE in chunk.metadata else AS_TEXT


def chunk_of(path: str, row: ChunkRow) -> FileChunk:
    """The chunk `chunk_row` was given."""
    return FileChunk(
        id=unpack_id(row[0]),
        path=path,
        start_line=row[1],
        end_line=row[2],
        headings=tuple(json.loads(row[5])) if row[5] else (),
        metadata=json.loads(row[6]) if row[6] else {},
        text=unpack_text(row[7]),
    )


def link_row(link: FileLink) -> LinkRow:
    """A link as it is stored."""
    anchor = link.target_anchor
    return storable(link.target_path), anchor and storable(anchor), link.kind


def packed_metadata(chunk: FileChunk) -> str | None:
    """A chunk's metadata as it is stored."""
    return _as_json(chunk.metadata) if chunk.metadata else None


def storable(text: str) -> str:
    """Text SQLite can hold: lone surrogates, which stand for undecodable bytes, become ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _packed_text(text: str) -> bytes:
    data, mark = text.encode("utf-8", "surrogatepass"), UTF_8
    if len(data) > 2 * len(text):  # Chinese takes three bytes a character in UTF-8
        data, mark = text.encode("utf-16-le", "surrogatepass"), UTF_16
    if len(data) < _WORTH_COMPRESSING_BYTES:
        return mark + data
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _words_row(words: ChunkWords | None) -> WordsRow:
    if words is None:
        return None
    counts = np.minimum(words.counts.counts, LARGEST_COUNT).astype("u1")
    keys = words.counts.keys.astype("<i8", copy=False)
    return keys.tobytes(), counts.tobytes(), words.length
