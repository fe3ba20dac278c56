"""The in-memory side of a store: files and inverted lists, loaded from the database and kept up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from agentscope_reme.schema import FileLink
from agentscope_reme.store.contradiction import Contradiction
from agentscope_reme.store.file_entry import FileEntry, KeptChunks, PreparedFile, documents_of
from agentscope_reme.store.file_table import FileTable
from agentscope_reme.store.flat_file import FlatFile
from agentscope_reme.store.graph import FileGraph
from agentscope_reme.store.indexed_text import ChunkWords, FileWords, IndexedText
from agentscope_reme.store.inverted_index import InvertedIndex
from agentscope_reme.store.passage_context import PassageContext
from agentscope_reme.store.postings import Document, Ints
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.slots import first_answer, last_slot_before
from agentscope_reme.store.stored_files import (
    ENTRY_COLUMNS,
    front_matter_rows,
    load_entries,
    load_heads,
    load_inlinks,
    load_links,
    unpack_text,
)
from agentscope_reme.store.stored_segments import StoredSegments

K1: Final = 1.5
B: Final = 0.4
"""Chunks are packed to nearly one size, so length says little: on LoCoMo 0.4 and 0.75 are within
0.2 points of evidence in the first 3 KB."""

CONTEXT: Final = PassageContext(neighbours=0.3, file=0.5)
"""Chosen by hand on seven LoCoMo conversations, on all of them at once: +3 points of evidence in
the first 3 KB over plain BM25; half or double of either share is within 0.6 points of that."""


@dataclass(frozen=True, slots=True)
class _ForeignChange:
    """What another process made of one file; no `entry` when it is gone."""

    path: str
    entry: FileEntry | None = None
    kept: KeptChunks | None = None
    tags: Collection[str] = ()
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    links: Sequence[FileLink] = ()
    documents: Sequence[Document] = ()


class IndexState:
    """What one process knows of the database. Not thread-safe: its owner holds a lock."""

    def __init__(self, text: IndexedText) -> None:
        self._text: Final = text
        self.files = FileTable()
        self.index = InvertedIndex(K1, B, CONTEXT)
        self.segments = StoredSegments()
        self.revision = 0
        self._graph: FileGraph | None = None

    def load(self, connection: sqlite3.Connection) -> None:
        """Read everything: segments as they are, newer chunks by counting their terms again."""
        self.revision = latest_revision(connection)
        self._graph = None
        self.files = FileTable(load_entries(connection))
        self.files.know(load_heads(connection))
        self.index = InvertedIndex(K1, B, CONTEXT)
        self.segments = StoredSegments()
        self.index.adopt(self.segments.load(connection, self.files))
        self._add(self._documents(connection, "slot >= ?", (sealed_slot(connection),)))

    def catch_up(self, connection: sqlite3.Connection) -> None:
        """Apply what other processes committed since the last look."""
        oldest = connection.execute("SELECT MIN(rev) FROM changes").fetchone()[0]
        latest = latest_revision(connection)
        if latest < self.revision or (oldest or 0) > self.revision + 1:
            self.load(connection)
            return
        rows = connection.execute(
            "SELECT DISTINCT path FROM changes WHERE rev > ?", (self.revision,)
        ).fetchall()
        changes = [self._foreign(connection, path) for (path,) in rows]  # all of it, or none
        for change in changes:
            self._take_foreign(change)
        self._add(sorted((d for change in changes for d in change.documents), key=_slot_of))
        self.revision = latest
        self._take_foreign_segments(connection)

    def publish(
        self, stored: Sequence[tuple[FileEntry, FlatFile | PreparedFile]], gone: Iterable[str]
    ) -> None:
        """Take over what was just committed."""
        kept = {entry.path: file.kept for entry, file in stored if isinstance(file, PreparedFile)}
        for path in gone:
            if path in kept:
                self.cut(kept[path])
            else:
                self.forget(path)
        documents: list[Document] = []
        for entry, file in stored:
            self.files.put(entry, file.tags, file.front_matter)
            documents += file.documents(entry.id, entry.last_slot - file.added + 1)
            if self._graph is not None:
                self._graph.upsert(entry.path, file.links)
        self._add(documents)

    def grow(self, entry: FileEntry, kept: KeptChunks, words: Sequence[ChunkWords | None]) -> None:
        """Take over chunks that were just added to a file."""
        self.cut(kept)
        self.files.replace(entry)
        self._add(documents_of(entry.id, entry.last_slot - len(words) + 1, words))

    def cut(self, kept: KeptChunks) -> None:
        """Remove the chunks of a file that do not stay."""
        if kept.last_slot < kept.entry.last_slot:
            self.index.delete_of(kept.entry.id, kept.last_slot + 1, kept.entry.last_slot)

    def forget(self, path: str) -> None:
        """Remove a file from memory."""
        entry = self.files.pop(path)
        if entry is not None:
            self.index.delete_of(entry.id, entry.first_slot, entry.last_slot)
        if self._graph is not None:
            self._graph.remove(path)

    def living(self) -> tuple[Ints, Ints]:
        """The slots of all searchable chunks, ascending, and the file number of each."""
        parts = self.index.parts
        slots = np.concatenate([part.slots[part.alive] for part in parts])
        return slots, np.concatenate([part.owners[part.alive] for part in parts])

    def outlinks(self, connection: sqlite3.Connection, path: str) -> list[FileLink]:
        """Links written in a file, in order."""
        return load_links(connection, path) if self._graph is None else self._graph.outlinks(path)

    def inlinks(self, connection: sqlite3.Connection, path: str) -> list[FileLink]:
        """Links to a path from other files, sorted by source path."""
        return load_inlinks(connection, path) if self._graph is None else self._graph.inlinks(path)

    def graph(self, connection: sqlite3.Connection) -> FileGraph:
        """The link graph; read when more is asked for than the links of one file."""
        if self._graph is None:
            self._graph = FileGraph()
            grouped: dict[str, list[Any]] = {}
            for link in load_links(connection):
                grouped.setdefault(link.source_path, []).append(link)
            for path, links in grouped.items():
                self._graph.upsert(path, links)
        return self._graph

    def _add(self, documents: Sequence[Document]) -> None:
        """Append documents to the inverted lists.

        Raises:
            Contradiction: they are not newer than all that are known, in ascending slots.
        """
        if not documents:
            return
        last = max((int(part.slots[-1]) for part in self.index.parts if len(part)), default=-1)
        for document in documents:
            if document.slot <= last:
                raise Contradiction(f"slot {document.slot} comes behind slot {last}")
            last = document.slot
        self.index.add(documents)

    def _foreign(self, connection: sqlite3.Connection, path: str) -> _ForeignChange:
        row = connection.execute(
            f"SELECT {ENTRY_COLUMNS}, name, description, front_matter, tags "
            "FROM files WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return _ForeignChange(path)
        entry, before = FileEntry(*row[:5]), self.files.get(path)
        kept, first_new = None, 0
        if before is not None and entry.id == before.id:
            first_new = before.last_slot + 1
            kept = KeptChunks(before, 0, last_slot_before(connection, entry.id, first_new))
        name, description, extra, tags = row[5:]
        return _ForeignChange(
            path,
            entry,
            kept,
            tuple(json.loads(tags)) if tags else (),
            {**(json.loads(extra) if extra else {}), "name": name, "description": description},
            () if self._graph is None else load_links(connection, path),
            self._documents(connection, "file_id = ? AND slot >= ?", (entry.id, first_new)),
        )

    def _take_foreign(self, change: _ForeignChange) -> None:
        """Take over what is known of a file; its new documents are added once all are known."""
        if change.kept is None:
            self.forget(change.path)
        else:
            self.cut(change.kept)
        if change.entry is None:
            return
        self.files.put(change.entry, change.tags, change.front_matter)
        if self._graph is not None:
            self._graph.upsert(change.path, change.links)

    def _take_foreign_segments(self, connection: sqlite3.Connection) -> None:
        before = self.index.segments
        segments = self.segments.load(connection, self.files)
        if len(segments) == len(before) and all(
            a is b for a, b in zip(segments, before, strict=True)
        ):
            return
        first = sealed_slot(connection)
        newer = [d for d in self.index.tail.live_documents() if d.slot >= first]
        self.index.settle(segments)
        self._add(newer)

    def _documents(
        self, connection: sqlite3.Connection, where: str, parameters: Sequence[int]
    ) -> list[Document]:
        """Searchable chunks as documents, their terms counted from the stored text."""
        rows = connection.execute(
            "SELECT slot, file_id, headings, text, path, name, description, tags "
            f"FROM chunks JOIN files ON files.id = file_id WHERE searchable AND {where} "
            "ORDER BY slot",
            parameters,
        )
        documents: list[Document] = []
        words: dict[int, FileWords] = {}
        for slot, file_id, headings, text, path, name, description, tags in rows:
            first = False
            if file_id not in words:
                tag_list = json.loads(tags) if tags else ()
                words[file_id] = self._text.file_words(path, name, description, tag_list)
                first = slot == first_answer(connection, file_id)
            body = self._text.keys(unpack_text(text))
            above = self._text.heading_keys(json.loads(headings) if headings else ())
            chunk = self._text.chunk_words(body, above, words[file_id], first)
            documents.append(Document.of(slot, file_id, chunk.counts, chunk.length))
        return documents


def _slot_of(document: Document) -> int:
    return document.slot


def filter_contents(
    connection: sqlite3.Connection, where: SearchFilter
) -> Mapping[int, tuple[Collection[str], Mapping[str, Any]]]:
    """Tags and front matter by file number, as far as the filter needs them."""
    tags: dict[int, list[str]] = {}
    if where.tags:
        for tag, file_id in connection.execute("SELECT tag, file_id FROM tags"):
            tags.setdefault(file_id, []).append(tag)
    fields: dict[int, dict[str, Any]] = {}
    if where.fields:
        fields = dict(front_matter_rows(connection))
    elif where.start_date or where.end_date:
        fields = dict(front_matter_rows(connection, "WHERE front_matter LIKE '%\"date\"%'"))
    return {i: (tags.get(i, ()), fields.get(i, {})) for i in tags.keys() | fields.keys()}


def latest_revision(connection: sqlite3.Connection) -> int:
    """The number of the last committed change."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return 0 if row is None else int(row[0])


def sealed_slot(connection: sqlite3.Connection) -> int:
    """Chunks in smaller slots are in the stored segments, newer ones are not."""
    return read_number(connection, "sealed_slot")


def read_number(connection: sqlite3.Connection, key: str) -> int:
    """A counter of the ``meta`` table; 0 when it was never written."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def write_number(connection: sqlite3.Connection, key: str, value: int) -> None:
    """Set a counter of the ``meta`` table."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
