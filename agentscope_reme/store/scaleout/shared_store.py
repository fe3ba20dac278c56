"""The store of one workspace in a database that many workers share; the files stay files."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from agentscope_reme.errors import Closed, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.pins import says_pinned
from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexed_text import IndexedText
from agentscope_reme.store.indexer import index_fingerprint
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.records import (
    FileGrowth,
    FileStamp,
    IndexedFile,
    SearchFilter,
    StoreCondition,
    StoreStats,
)
from agentscope_reme.store.scaleout.engine import Engine
from agentscope_reme.store.scaleout.identity import owner_of
from agentscope_reme.store.scaleout.local_vectors import LocalVectors
from agentscope_reme.store.scaleout.opaque_terms import OpaqueTerms
from agentscope_reme.store.scaleout.ranking import Ranked, Ranker, WordStatistics, query_terms
from agentscope_reme.store.scaleout.restricting import Planner
from agentscope_reme.store.scaleout.rows import (
    RowMaker,
    chunk_of,
    front_matter_of,
    hit_of,
    links_of,
    node_of,
)
from agentscope_reme.store.scaleout.shared_vectors import SharedVectors
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.store.vectors import Vector
from agentscope_reme.workspace import Workspace

_RULES: Final = "shared-1"
"""Raised with every change of what a row of a shared engine means."""
_CHANGED: Final = ""
"""A content hash no file has."""


class SharedFileStore(BaseFileStore):
    """Everything in a shared `Engine`; nothing but counts and connections in this process.

    Any number of workers may serve one workspace, each from another machine, as long as all see its
    files and its locks. A worker that dies leaves nothing behind: what it did not commit is not
    there, and the next scan of whichever worker brings it in.

    Files that were indexed by other rules (another chunk size, another version) answer until they
    are indexed anew, one by one: their stamps say that they changed. Workers of one workspace
    should therefore run one version.

    Args:
        workspace: whose files are indexed.
        engine: the database.
        name: of the workspace in the database; another workspace must not have it.
        settings: chunk size and limits.
        tokenizer: default `MemoryTokenizer`; the same in every worker.
    """

    def __init__(
        self,
        workspace: Workspace,
        engine: Engine,
        *,
        name: str,
        settings: Settings | None = None,
        tokenizer: MemoryTokenizer | None = None,
    ) -> None:
        settings = settings or Settings()
        self._tokenizer: Final = tokenizer or MemoryTokenizer()
        self._engine: Final = engine
        self._name: Final = name
        self._workspace: Final = workspace
        self._disk: Final = Disk(fsync=settings.fsync)
        self._rules: Final = f"{_RULES} {index_fingerprint(settings)} {self._tokenizer.fingerprint}"
        self._terms: Final = OpaqueTerms(name)
        self._rows: Final = RowMaker(IndexedText(self._tokenizer), self._terms, self._rules)
        self._statistics: Final = WordStatistics(engine, name)
        self._ranker: Final = Ranker(engine, name, self._statistics)
        self._planner: Final = Planner(engine, name)
        local = LocalVectors(workspace, most=settings.embedding_cache_vectors)
        self._vectors: Final = SharedVectors(engine, name, local)
        self._guard = threading.Lock()
        self._is_open = False

    def open(self) -> None:
        """Connect, and make the tables when they are not there.

        Raises:
            StorageFailed: the engine cannot be reached, or the name belongs to another workspace.
        """
        with self._guard:
            if self._is_open:
                return
            self._engine.open()
            try:
                self._claim()
            except BaseException:  # whatever it was, this store is not open
                self._engine.close()
                raise
            self._is_open = True
        self._vectors.open()

    def close(self) -> None:
        """Let go of the connections; the store can be opened again."""
        with self._guard:
            if not self._is_open:
                return
            self._is_open = False
        self._vectors.close()
        self._engine.close()

    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        """Replace the given files and forget the deleted paths; each file all or nothing.

        Raises:
            StorageFailed: the engine refused. One with transactions changed nothing then, one
                without may have replaced some files; done again, it brings in all.
        """
        latest = {file.node.path: file for file in upserts}
        gone = [path for path in dict.fromkeys(deletes) if path not in latest]
        changes = [self._rows.whole(file) for file in latest.values()]
        if changes or gone:
            self._ready().commit(self._name, changes, gone)
            self._changed()

    def grow(self, growth: FileGrowth) -> bool:
        """Bring a file that was appended to up to date, at the cost of what is new.

        Returns:
            False when the index holds another version of it; nothing was changed then.

        Raises:
            StorageFailed: nothing was changed.
        """
        engine = self._ready()
        before = engine.file(self._name, growth.path)
        if before is None or before.rules != self._rules:
            return False
        if not growth.continues(before.stamp.size, before.stamp.content_hash):
            return False
        stored = engine.outline(self._name, growth.path)
        grew = engine.commit(self._name, [self._rows.grown(growth, before, stored)])
        self._changed()
        return grew

    def refresh(self) -> None:
        """Nothing to do: every answer comes from the engine itself."""

    def clear(self) -> None:
        """Forget every file; vectors stay, by text."""
        self._ready().clear(self._name)
        self._changed()

    def node(self, path: str) -> FileNode | None:
        """The indexed file at `path`."""
        engine = self._ready()
        file = engine.file(self._name, path)
        if file is None:
            return None
        return node_of(file, [chunk.chunk_id for chunk in engine.outline(self._name, path)])

    def nodes(self, prefix: str = "") -> list[FileNode]:
        """Indexed files whose path starts with `prefix`, sorted by path."""
        engine = self._ready()
        chunks = engine.outlines(self._name, prefix)
        return [
            node_of(file, [chunk.chunk_id for chunk in chunks.get(file.path, ())])
            for file in engine.files(self._name, prefix)
        ]

    def chunks(self, path: str) -> list[FileChunk]:
        """The chunks of one file, in file order."""
        return [chunk_of(path, row) for row in self._ready().chunks(self._name, path)]

    def stamps(self) -> dict[str, FileStamp]:
        """The stamp of every indexed file; one no file has, where other rules indexed it."""
        return {
            path: stamp if rules == self._rules else FileStamp(0, -1, _CHANGED)
            for path, (stamp, rules) in self._ready().stamps(self._name).items()
        }

    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        """BM25 over the indexed text, best first; ties by path and position."""
        self._ready()
        plan = self._planner.plan(where)
        terms = query_terms(KeywordQuery.of(self._tokenizer, query), self._terms)
        if limit < 1 or not terms:
            return []
        return _hits(self._ranker.best(terms, limit, plan), "keyword", where)

    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        """Cosine similarity over the stored vectors of one space, best first.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """
        self._ready()
        plan = self._planner.plan(where)
        return _hits(self._vectors.best(vector, limit, plan, space_id), "vector", where)

    def outlinks(self, path: str) -> list[FileLink]:
        """Links written in `path`, in order."""
        file = self._ready().file(self._name, path)
        return [] if file is None else list(links_of(file))

    def inlinks(self, path: str) -> list[FileLink]:
        """Links to `path` from other files, sorted by source path."""
        files = self._ready().linking(self._name, path)
        links = [link for file in files if file.path != path for link in links_of(file)]
        return [link for link in links if link.target_path == path]

    def tags(self) -> dict[str, int]:
        """Every tag and how many files carry it, sorted by tag."""
        return dict(sorted(self._ready().totals(self._name).tags.items()))

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector in this space, as ``(text hash, text)``."""
        self._ready()
        return self._vectors.missing(space_id, limit)

    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors by text hash; `optimize` keeps the two spaces that were written last.

        Vectors of texts no file has are dropped: the texts were forgotten while a model was asked.

        Raises:
            BadInput: the vectors are not all of one width.
        """
        self._ready()
        self._vectors.put(space_id, vectors)

    def vector_spaces(self) -> list[str]:
        """The names of the spaces with vectors, the newest first; also of a local index before."""
        self._ready()
        return self._vectors.names()

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors a local index of this workspace was given, by text hash."""
        return self._vectors.kept(space_id, text_hashes)

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        """How many searchable texts have a vector in a space, and how many have none."""
        self._ready()
        return self._vectors.count(space_id)

    def optimize(self) -> None:
        """Forget vectors of texts that are gone, and of spaces before the last two."""
        self._ready()
        self._vectors.prune()

    def erase(self) -> None:
        """As `optimize`; rows are gone from every answer, and from the local cache of vectors.

        When the engine's own files and backups let go of them is up to the engine: see
        ``docs/scaling.md``.
        """
        self.optimize()
        self._vectors.erase_kept()

    def stats(self) -> StoreStats:
        """Counts, for `status()`."""
        engine = self._ready()
        totals, names = engine.totals(self._name), engine.spaces(self._name)
        done, pending = engine.count_texts(self._name, names[0]) if names else (0, 0)
        files = engine.files(self._name)
        return StoreStats(
            files=totals.files,
            chunks=totals.chunks,
            links=totals.links,
            tags=len(totals.tags),
            vectors=done,
            vectors_pending=pending,
            revision=engine.head(self._name).revision,
            pinned=sum(says_pinned(front_matter_of(file.record)) for file in files),
        )

    def is_empty(self) -> bool:
        """Whether no chunk is there that a search could find."""
        return not self._ready().sample(self._name, 1)

    def condition(self) -> StoreCondition:
        """Incomplete until all files were compared with the engine once."""
        settled = self._ready().head(self._name).settled
        return StoreCondition(incomplete=not settled, generation=self._name)

    def settle(self, seen: StoreCondition) -> None:
        """Know that every file was compared with the index and brought in."""
        if seen.generation == self._name and seen.incomplete:
            self._ready().settle(self._name)

    def _claim(self) -> None:
        ours = owner_of(self._workspace, self._disk)
        if self._engine.claim(self._name, ours) != ours:
            raise StorageFailed(
                self._name,
                "another workspace has this name in the shared index",
                "Choose another `namespace`, or delete the rows of the workspace that is gone.",
            )

    def _ready(self) -> Engine:
        if not self._is_open:
            raise Closed(self._name, "the store is not open", "Call `open()` first.")
        return self._engine

    def _changed(self) -> None:
        self._statistics.changed()


def _hits(ranked: Ranked, branch: str, where: SearchFilter | None) -> list[SearchHit]:
    return [
        hit_of(found, score, branch, rank, where) for rank, (score, found) in enumerate(ranked, 1)
    ]
