"""The store of one workspace: SQLite for keeping, numpy for searching."""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Final, TypeVar

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit
from agentscope_reme.settings import Settings
from agentscope_reme.store.audit import audit_postings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.bulk_reader import BulkReader, usable_processors
from agentscope_reme.store.database import Database, ShadowDatabase
from agentscope_reme.store.erasing import erase_deleted
from agentscope_reme.store.filters import asks_for_days, check_filter
from agentscope_reme.store.graph import Direction, FileGraph, Traversal
from agentscope_reme.store.index_session import IndexSession
from agentscope_reme.store.index_state import (
    filter_contents,
)
from agentscope_reme.store.index_writer import IndexWriter
from agentscope_reme.store.indexed_text import IndexedText
from agentscope_reme.store.indexer import index_fingerprint
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.open_marker import OpenMarker
from agentscope_reme.store.postings import Bools
from agentscope_reme.store.records import (
    FileGrowth,
    FileStamps,
    IndexedFile,
    SearchFilter,
    StoreCondition,
    StoreStats,
)
from agentscope_reme.store.shadow import LocalShadow
from agentscope_reme.store.store_counts import count_everything
from agentscope_reme.store.stored_files import (
    load_chunks,
    load_heads,
    load_hits,
    load_nodes,
    slots_within,
)
from agentscope_reme.store.stored_vectors import StoredVectors, all_texts
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.store.vector_cache import VectorCache
from agentscope_reme.store.vector_spaces import TABLES
from agentscope_reme.store.vectors import Vector
from agentscope_reme.workspace import Workspace

T = TypeVar("T")
_KEPT_CHANGES: Final = 10_000
"""Readers further behind load everything anew."""
_KEPT_QUERIES: Final = 16
"""The same question is asked of the distilled layers and then of the sessions."""
_ANY_CHUNK: Final = "SELECT 1 FROM chunks LIMIT 1"
_WIDER: Final = 4
"""Of chunks of certain days, so many times as many are looked at until enough pass."""
_Found = tuple[float, int, int]
"""Score, file number and slot of a chunk."""


class LocalFileStore(BaseFileStore):
    """Everything in ``metadata/index-<generation>.db``, and the inverted lists in memory.

    Several processes may use one workspace: each call first looks whether another one committed
    (two cheap questions to SQLite) and applies what is new. Writers are one at a time.

    An index made by other settings goes on answering; `condition` says that it is outdated, and
    `shadow` builds the one that replaces it.

    Args:
        workspace: whose files are indexed.
        settings: chunk size and limits; a change of what shapes the index rebuilds it.
        tokenizer: default `MemoryTokenizer`; pass one with a user dictionary here.
    """

    keeps_pictures = True

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: Settings | None = None,
        tokenizer: MemoryTokenizer | None = None,
    ) -> None:
        settings = settings or Settings()
        self._settings = settings
        self._tokenizer = tokenizer or MemoryTokenizer()
        self._workspace = workspace
        self._disk = Disk(fsync=settings.fsync)
        self._fingerprint = f"{index_fingerprint(settings)} {self._tokenizer.fingerprint}"
        self._text = IndexedText(self._tokenizer)
        self._query = lru_cache(_KEPT_QUERIES)(partial(KeywordQuery.of, self._tokenizer))
        database = Database(workspace, self._fingerprint, self._disk)
        marker = OpenMarker(workspace, self._disk)
        self._vector_kind: Final = settings.vector_index
        self._session = IndexSession(database, self._text, marker)
        self._session.vectors = StoredVectors(self._vector_kind)
        self._session.on_lost = self._lost
        self._cache = VectorCache(
            workspace.metadata / "embeddings.db", most=settings.embedding_cache_vectors
        )

    def open(self) -> None:
        """Load or create the index.

        Raises:
            StorageFailed: the folder cannot be written, or another process blocks it.
        """
        self._session.make_folders()
        self._session.open()

    def close(self) -> None:
        """Release files; the store can be opened again."""
        self._session.close()

    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        """Replace the given files and forget the deleted paths, all or nothing.

        Raises:
            StorageFailed: nothing was changed.
        """
        latest = {file.path: file for file in upserts}
        gone = [path for path in dict.fromkeys(deletes) if path not in latest]
        IndexWriter(self._session, self._text).apply(list(latest.values()), gone)

    def grow(self, growth: FileGrowth) -> bool:
        """Bring a file that was appended to up to date, at the cost of what is new.

        Returns:
            False when the index holds another version of it; nothing was changed then.

        Raises:
            StorageFailed: nothing was changed.
        """
        return IndexWriter(self._session, self._text).grow(growth)

    def bulk_reader(self) -> BulkReader | None:
        """Helper processes that read many new files; none for a tokenizer they do not know."""
        helpers = min(usable_processors(), self._settings.index_helpers)
        if type(self._tokenizer) is not MemoryTokenizer or not helpers:
            return None
        dictionary = self._tokenizer.user_dictionary
        setting = (
            str(self._workspace.root),
            self._settings.chunk_byte_size,
            self._settings.max_indexed_file_bytes,
            None if dictionary is None else str(dictionary.resolve()),
        )
        return BulkReader(setting, self._fingerprint, helpers)

    def warm(self) -> None:
        """Load what the first search would, the words of Chinese where there are any."""
        han = self._run(lambda: self._session.state.index.holds_han())
        self.keyword_search("记忆" if han else "memory", limit=1)

    def refresh(self) -> None:
        """Catch up with other processes."""
        self._run(lambda: None)

    def clear(self) -> None:
        """Start an empty generation; vectors stay, by text."""

        def start_over() -> None:
            self._session.database.replace()
            self._session.load()

        self._run(start_over)

    def node(self, path: str) -> FileNode | None:
        """The indexed file at `path`."""
        found = self._run(lambda: load_nodes(self._connection, "WHERE path = ?", (path,)))
        return found[0] if found else None

    def nodes(self, prefix: str = "") -> list[FileNode]:
        """Indexed files whose path starts with `prefix`, sorted by path."""
        where = "WHERE SUBSTR(path, 1, ?) = ?"
        return self._run(lambda: load_nodes(self._connection, where, (len(prefix), prefix)))

    def chunks(self, path: str) -> list[FileChunk]:
        """The chunks of one file, in file order."""

        def read() -> list[FileChunk]:
            entry = self._session.state.files.get(path)
            return load_chunks(self._connection, entry) if entry else []

        return self._run(read)

    def stamps(self) -> FileStamps:
        """The stamp of every indexed file."""
        query = "SELECT path, mtime_ns, size, content_hash FROM files"
        return self._run(lambda: FileStamps(self._connection.execute(query)))

    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        """BM25 over the indexed text, best first; ties by path and position."""
        wanted = self._query(query)

        def search() -> list[SearchHit] | None:
            allowed, index = self._allowed(where), self._session.state.index
            found = self._within(where, limit, lambda most: index.search(wanted, most, allowed))
            return self._hits(found, limit, "keyword", where)

        return self._run(lambda: self._session.steady(search) or [])

    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        """Cosine similarity over the stored vectors of one space, best first."""

        def search() -> list[SearchHit] | None:
            if not self._session.vectors.turn_to(self._connection, space_id):
                return []
            allowed, vectors = self._allowed(where), self._session.vectors
            living = self._session.state.living
            found = self._within(
                where,
                limit,
                lambda most: vectors.search(self._connection, vector, most, allowed, living),
            )
            return self._hits(found, limit, "vector", where)

        hits = self._run(lambda: self._session.steady(search) or [])
        if self._session.vectors.has_damaged:
            with suppress(StorageFailed):  # others write; whoever reads them next tries again
                self._run(self._drop_damaged_vectors)
        return hits

    def outlinks(self, path: str) -> list[FileLink]:
        """Links written in `path`, in order."""
        return self._run(lambda: self._session.state.outlinks(self._connection, path))

    def inlinks(self, path: str) -> list[FileLink]:
        """Links to `path` from other files, sorted by source path."""
        return self._run(lambda: self._session.state.inlinks(self._connection, path))

    def traverse(self, path: str, depth: int = 1, direction: Direction = "both") -> Traversal:
        """What can be reached from `path`; see `FileGraph.traverse`."""
        return self._run(lambda: self._graph.traverse(path, depth, direction))

    def tags(self) -> dict[str, int]:
        """Every tag and how many files carry it, sorted by tag."""
        query = "SELECT tag, COUNT(*) FROM tags GROUP BY tag ORDER BY tag"
        return self._run(lambda: dict(self._connection.execute(query).fetchall()))

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector in this space, as ``(text hash, text)``."""
        return self._run(lambda: self._session.vectors.missing(self._connection, space_id, limit))

    def missing_pictures(self, space_id: str, limit: int) -> list[tuple[str, str, str]]:
        """Pictures without a vector in this space, as ``(text hash, path, content hash)``."""
        return self._run(
            lambda: self._session.vectors.missing_pictures(self._connection, space_id, limit)
        )

    def picture_counts(self, space_id: str) -> tuple[int, int]:
        """How many pictures have a vector in a space, and how many have none."""
        return self._run(lambda: self._session.vectors.count_pictures(self._connection, space_id))

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors an earlier index was given for some texts, by text hash."""
        return self._cache.get(space_id, text_hashes)

    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors by text hash; the two spaces that were written last are kept.

        Vectors of texts no file has are dropped: the texts were forgotten while a model was asked.

        Raises:
            BadInput: a key is no text hash, or the vectors are not all of one width.
        """

        def keep() -> None:
            stored = self._session.write(put)
            self._cache.put(space_id, {key: vectors[key] for key in vectors if key in stored})

        def put() -> set[str]:
            stored = self._session.vectors.put(self._connection, space_id, vectors)
            self._session.know_vectors()
            return stored

        self._run(keep)

    def vector_spaces(self) -> list[str]:
        """The names of the spaces with vectors, also of earlier indexes; the newest first."""
        present = self._run(lambda: self._session.vectors.spaces(self._connection))
        return list(dict.fromkeys([*present, *self._cache.spaces()]))

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        """How many searchable texts have a vector in a space, and how many have none."""
        return self._run(lambda: self._session.vectors.count(self._connection, space_id))

    def optimize(self) -> None:
        """Merge the inverted lists without deleted chunks, and give unused space back."""

        def reclaim() -> None:
            self._session.seal(compact=True)
            self._session.write(self._prune)
            self._session.vectors.forget()  # in memory a vector is replaced, never removed
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        self._run(reclaim)

    def erase(self) -> None:
        """Write the database anew, without a trace of deleted text; other generations go.

        Raises:
            StorageFailed: another process kept it from that.
        """

        def erase() -> None:
            erase_deleted(self._session)
            self._cache.keep_only(all_texts(self._connection))

        self._run(erase)

    def stats(self) -> StoreStats:
        """Counts, for `status()`."""
        return self._run(lambda: count_everything(self._session))

    def is_empty(self) -> bool:
        """Whether no chunk is there."""
        return self._run(lambda: self._connection.execute(_ANY_CHUNK).fetchone() is None)

    def condition(self) -> StoreCondition:
        """What the index needs before it can be relied on."""

        def look() -> StoreCondition:
            marker = self._session.marker
            return StoreCondition(
                outdated=self._session.database.outdated,
                incomplete=self._session.incomplete,
                unchecked=marker is not None and marker.unclean,
                half_built=self._session.database.generations.half_built() is not None,
                generation=self._session.database.name,
            )

        return self._run(look)

    def settle(self, seen: StoreCondition) -> None:
        """Know that every file was compared with the index and brought in."""
        self._run(lambda: self._session.settle(seen.generation))

    def shadow(self) -> LocalShadow:
        """Begin an index beside this one, or go on with the one a crash left half built.

        At most one at a time: the caller holds a claim.
        """
        database = ShadowDatabase(self._workspace, self._fingerprint, self._disk)
        building = copy.copy(self)
        building.on_lost = None
        building._session = IndexSession(database, self._text)
        building._session.vectors = StoredVectors(self._vector_kind)
        building._session.open()
        return LocalShadow(building, self._session, building._session, database)

    def audit(self) -> dict[str, str]:
        """By path, how the inverted lists in memory differ from the chunks on the disk."""

        def look() -> dict[str, str] | None:
            found = audit_postings(self._session.state, self._connection)
            return None if found and self._session.is_behind() else found

        return self._run(lambda: self._session.steady(look) or {})

    def reload(self) -> None:
        """Read everything in memory anew from the disk."""
        self._run(self._session.load)

    def _drop_damaged_vectors(self) -> None:
        """Count them as missing and say so; whoever listens has them made anew."""
        count = self._session.write(lambda: self._session.vectors.drop_damaged(self._connection))
        if count:
            self._session.database.notices.append(
                f"Damaged vectors were found in the index, {count} of them; they are made anew."
            )
            self._lost()

    def _lost(self) -> None:
        if self.on_lost is not None:
            self.on_lost()

    def _run(self, work: Callable[[], T]) -> T:
        return self._session.run(work)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._session.database.connection

    @property
    def _graph(self) -> FileGraph:
        return self._session.state.graph(self._connection)

    def _prune(self) -> None:
        for table in TABLES.values():
            self._connection.execute(
                f"DELETE FROM {table} WHERE text_hash NOT IN (SELECT text_hash FROM chunks)"
            )
        oldest = self._session.state.revision - _KEPT_CHANGES
        self._connection.execute("DELETE FROM changes WHERE rev <= ?", (oldest,))

    def _allowed(self, where: SearchFilter | None) -> Bools | None:
        if where is not None:
            check_filter(where)
        return self._session.state.files.allowed(
            where, lambda w: filter_contents(self._connection, w)
        )

    def _within(
        self, where: SearchFilter | None, limit: int, search: Callable[[int], list[_Found]]
    ) -> list[_Found]:
        """What is found among chunks of certain days: more is asked for until enough pass.

        Args:
            where: the conditions; files that do not meet them are left out by `search` already.
            limit: how many are enough.
            search: the best so many chunks, ties included, in no order.
        """
        found = search(limit)
        if where is None or not asks_for_days(where):
            return found
        most = limit
        while True:
            slots = slots_within(self._connection, [slot for _score, _owner, slot in found], where)
            passing = [one for one in found if one[2] in slots]
            if len(passing) >= limit or len(found) < most:
                return passing
            most *= _WIDER
            found = search(most)

    def _hits(
        self, found: Sequence[_Found], limit: int, branch: str, where: SearchFilter | None
    ) -> list[SearchHit] | None:
        """Load the best; ties stand in the order of path and position, whatever happened before.

        Returns:
            ``None`` when one of them is not in the database any more.
        """
        files = self._session.state.files
        ranked = [(-score, files.path(owner), slot, owner) for score, owner, slot in found]
        ranked.sort()
        best = [(-less, path, slot, owner) for less, path, slot, owner in ranked[: max(limit, 0)]]
        heads = files.heads([one[3] for one in best], partial(load_heads, self._connection))
        hits = load_hits(self._connection, best, heads, branch, where)
        return hits if len(hits) == len(best) else None
