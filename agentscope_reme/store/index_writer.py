"""Writes files into the index: whole ones, and what is new of those that were there before."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from agentscope_reme.schema import FileChunk, FileNode
from agentscope_reme.store.file_entry import FileEntry, KeptChunks, PreparedFile
from agentscope_reme.store.flat_file import FlatFile, flattened
from agentscope_reme.store.index_session import IndexSession
from agentscope_reme.store.index_state import latest_revision, read_number, write_number
from agentscope_reme.store.indexed_text import ChunkWords, IndexedText
from agentscope_reme.store.inverted_index import LARGEST_TAIL
from agentscope_reme.store.records import FileGrowth, IndexedFile
from agentscope_reme.store.slots import common_chunks, finished_chunks, first_answer
from agentscope_reme.store.written_files import (
    delete_chunks_behind,
    delete_file,
    insert_chunks,
    insert_file,
    update_file,
    update_stamp,
)

Stored = list[tuple[FileEntry, FlatFile | PreparedFile]]


class IndexWriter:
    """Terms are counted outside the transaction, and only those of chunks that are new.

    Args:
        session: the open index.
        text: counts terms.
    """

    def __init__(self, session: IndexSession, text: IndexedText) -> None:
        self._session: Final = session
        self._text: Final = text
        self._generation = ""
        self._revision = 0

    def apply(self, files: Sequence[IndexedFile], gone: Sequence[str]) -> None:
        """Replace these files and forget the paths that are gone, in one transaction."""
        kept = self._session.run(lambda: self._commons(files))
        prepared = [self._prepared(f, k) for f, k in zip(files, kept, strict=True)]
        self._session.run(lambda: self._apply(prepared, gone))

    def grow(self, growth: FileGrowth) -> bool:
        """Add the end of a file; false, and nothing is changed, when it is no continuation."""
        found = self._session.run(lambda: self._finished(growth))
        if found is None:
            return False
        kept, continued = found
        stamp = growth.stamp
        node = FileNode(
            path=growth.path,
            st_mtime_ns=stamp.mtime_ns,
            size=stamp.size,
            content_hash=stamp.content_hash,
        )
        words = self._text.words(node, growth.chunks, continued=continued)
        return self._session.run(lambda: self._grow(growth, kept, words))

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._session.connection

    def _commons(self, files: Sequence[IndexedFile]) -> list[KeptChunks | None]:
        self._generation = self._session.database.name
        return [self._common(file) for file in files]

    def _common(self, file: IndexedFile) -> KeptChunks | None:
        entry = self._session.state.files.get(file.path)
        if isinstance(file, FlatFile) or entry is None or not entry.chunk_count:
            return None
        return common_chunks(self._connection, entry, file)

    def _finished(self, growth: FileGrowth) -> tuple[KeptChunks, bool] | None:
        self._generation = self._session.database.name
        entry = self._session.state.files.get(growth.path)
        kept = None if entry is None else finished_chunks(self._connection, entry, growth)
        if kept is None:
            return None
        first = first_answer(self._connection, kept.entry.id)
        return kept, first is not None and first <= kept.last_slot

    def _prepared(self, file: IndexedFile, kept: KeptChunks | None) -> FlatFile | PreparedFile:
        if kept is None:
            return file if isinstance(file, FlatFile) else self._flat(file.node, file.chunks)
        words = self._text.words(file.node, file.chunks[kept.count :], continued=True)
        return PreparedFile(file.node, file.chunks, words, kept)

    def _flat(self, node: FileNode, chunks: Sequence[FileChunk]) -> FlatFile:
        return flattened(node, chunks, self._text.words(node, chunks))

    def _apply(self, prepared: Sequence[FlatFile | PreparedFile], gone: Sequence[str]) -> None:
        removed = [*gone, *(file.path for file in prepared)]
        stored = self._session.write(lambda: self._store(prepared, removed))
        self._session.state.publish(stored, removed)
        self._written()

    def _grow(
        self, growth: FileGrowth, kept: KeptChunks, words: Sequence[ChunkWords | None]
    ) -> bool:
        entry = self._session.write(lambda: self._store_growth(growth, kept, words))
        if entry is None:
            return False
        self._session.state.grow(entry, kept, words)
        self._written()
        return True

    def _written(self) -> None:
        self._session.state.revision = self._revision  # by now others may have committed more
        self._session.vectors.chunks_changed()
        if len(self._session.state.index.tail) >= LARGEST_TAIL:
            self._session.seal()

    def _store(self, prepared: Sequence[FlatFile | PreparedFile], removed: Sequence[str]) -> Stored:
        connection = self._connection
        known = {path: entry for path in removed if (entry := self._session.state.files.get(path))}
        files = [self._valid(file, known.get(file.path)) for file in prepared]
        staying = {file.path for file in files if isinstance(file, PreparedFile)}
        for path, entry in known.items():
            if path not in staying:
                delete_file(connection, entry)
        slot = read_number(connection, "next_slot")
        stored: Stored = []
        for file in files:
            if isinstance(file, FlatFile):
                stored.append((insert_file(connection, file, slot), file))
            else:
                stored.append((update_file(connection, file, file.kept, slot), file))
            slot += file.added
        write_number(connection, "next_slot", slot)
        written = {file.path for file in files}
        self._note_changes(known.keys() - written, "delete")
        self._note_changes(written, "upsert")
        return stored

    def _store_growth(
        self, growth: FileGrowth, kept: KeptChunks, words: Sequence[ChunkWords | None]
    ) -> FileEntry | None:
        if not self._stands(kept, self._session.state.files.get(growth.path)):
            return None  # another process was faster
        connection = self._connection
        slot = read_number(connection, "next_slot")
        entry = kept.entry.grown(kept, len(words), slot)
        delete_chunks_behind(connection, kept)
        insert_chunks(connection, entry.id, slot, growth.chunks, words)
        update_stamp(connection, entry, growth.stamp)
        write_number(connection, "next_slot", slot + len(words))
        self._note_changes([growth.path], "upsert")
        return entry

    def _valid(
        self, file: FlatFile | PreparedFile, entry: FileEntry | None
    ) -> FlatFile | PreparedFile:
        """The file as it is, unless another process changed what was to be kept of it."""
        if isinstance(file, FlatFile) or self._stands(file.kept, entry):
            return file
        return self._flat(file.node, file.chunks)

    def _stands(self, kept: KeptChunks, entry: FileEntry | None) -> bool:
        """Whether a file is still the one that was looked at: another generation counts anew."""
        return kept.entry == entry and self._generation == self._session.database.name

    def _note_changes(self, paths: Collection[str], operation: str) -> None:
        self._connection.executemany(
            "INSERT INTO changes (path, op) VALUES (?, ?)",
            [(path, operation) for path in sorted(paths)],
        )
        self._revision = latest_revision(self._connection)
