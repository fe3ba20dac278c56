"""Keeps the index in step with the files, and remembers durably where it could not."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from agentscope_reme.errors import NotFound, ReMeError, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.bulk_reader import BulkReader
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.vault.tree import SeenFile, Tree
from agentscope_reme.workspace import is_hidden

_log: Final = logging.getLogger(__name__)

UNREADABLE: Final = (ReMeError, ValueError, LookupError, ArithmeticError, RecursionError, OSError)
"""What a parser may raise over a file it cannot make sense of: the file is safe all the same."""


class Indexer(Protocol):
    """Turns a file's bytes into what the store keeps; `FileIndexer` is one."""

    def index(self, path: str, data: bytes, *, mtime_ns: int) -> IndexedFile:
        """The node and the chunks of one file."""

    def indexable(self, path: str) -> bool:
        """Whether files of this name are indexed at all."""


class IndexKeeper:
    """Applies file contents to the store; a failure never costs the caller the change itself.

    Args:
        tree: where files are read.
        store: what is kept in step.
        indexer: how a file is understood.
        disk: how the set of dirty paths is kept.
        settings: the largest file that is indexed.
    """

    def __init__(
        self, tree: Tree, store: BaseFileStore, indexer: Indexer, disk: Disk, settings: Settings
    ) -> None:
        self._tree = tree
        self.store: Final = store
        self._indexer = indexer
        self._disk = disk
        self._limit = settings.max_indexed_file_bytes
        self._place = tree.workspace.journal / "dirty.jsonl"
        self._unsaved: set[str] = set()
        self._unreadable: dict[str, SeenFile] = {}
        self._guard = threading.Lock()

    @property
    def dirty(self) -> list[str]:
        """Paths whose file the index does not show yet, sorted."""
        with self._guard:
            return sorted(self._saved() | self._unsaved)

    def indexable(self, path: str, size: int) -> bool:
        """Whether a file of this name and size, in bytes, belongs into the index."""
        return size <= self._limit and not is_hidden(path) and self._indexer.indexable(path)

    def understand(self, path: str, data: bytes, *, mtime_ns: int = 0) -> IndexedFile | None:
        """What the index would say about a file; ``None`` when it would say nothing.

        Raises:
            ValueError: and others of `UNREADABLE`, when the file makes no sense.
        """
        if not self.indexable(path, len(data)):
            return None
        return self._indexer.index(path, data, mtime_ns=mtime_ns)

    def bulk_reader(self) -> BulkReader | None:
        """Helper processes that understand files as the indexer does; ``None`` without any."""
        return self.store.bulk_reader() if type(self._indexer) is FileIndexer else None

    def prepare(self, files: Mapping[str, bytes]) -> dict[str, IndexedFile]:
        """Understand contents ahead of the commit lock; what fails here is tried again later."""
        prepared = {}
        for path, data in files.items():
            try:
                indexed = self.understand(path, data)
            except UNREADABLE:
                continue
            if indexed is not None:
                prepared[path] = indexed
        return prepared

    def follow(
        self, paths: Iterable[str], prepared: Mapping[str, IndexedFile] | None = None
    ) -> bool:
        """Make the index show these paths as they stand; called under the commit lock.

        Args:
            paths: files that came, changed or went.
            prepared: what is already understood of files that were just written.

        Returns:
            False when something could not be indexed; those paths are in `dirty` then.
        """
        upserts: list[IndexedFile] = []
        deletes: list[str] = []
        failed: list[str] = []
        for path in dict.fromkeys(paths):
            seen = self._tree.seen(path)
            try:
                indexed = self._current(seen, (prepared or {}).get(path)) if seen else None
            except UNREADABLE as error:
                _log.warning("%s could not be indexed: %s", path, error)
                failed.append(path)
                if seen is not None:
                    self._unreadable[path] = seen
                continue
            if indexed is None:
                deletes.append(path)
            else:
                upserts.append(indexed)
        stored = self.apply(upserts, deletes)
        self.mark_dirty(failed)
        return stored and not failed

    def apply(self, upserts: list[IndexedFile], deletes: list[str]) -> bool:
        """One transaction of the store, under the commit lock; if it fails its paths are dirty."""
        if not upserts and not deletes:
            return True
        paths = {*(file.path for file in upserts), *deletes}
        try:
            self.store.apply(upserts, deletes)
        except StorageFailed as error:
            _log.warning("the index could not follow: %s", error)
            self.mark_dirty(paths)
            return False
        self._mark_clean(paths)
        return True

    def retry(self) -> bool:
        """Index what is dirty, under the commit lock.

        Files that made no sense are passed over until they change.

        Returns:
            Whether none of the others is left.
        """
        waiting = [path for path in self.dirty if self._may_succeed(path)]
        return not waiting or self.follow(waiting)

    def mark_dirty(self, paths: Iterable[str]) -> None:
        """Remember durably that the index lags behind on these paths; under the commit lock."""
        fresh = set(paths) - set(self.dirty)
        if not fresh:
            return
        try:
            self._disk.append(self._place, _rows(fresh))
        except StorageFailed as error:  # in memory at least; the next scan compares anyway
            _log.warning("the list of dirty paths could not be saved: %s", error)
            with self._guard:
                self._unsaved.update(fresh)

    def remember(self, path: str) -> None:
        """Know, in memory alone, that the index lags behind on a path; needs no lock."""
        with self._guard:
            self._unsaved.add(path)

    def _may_succeed(self, path: str) -> bool:
        failed = self._unreadable.get(path)
        return failed is None or self._tree.seen(path) != failed

    def _mark_clean(self, paths: set[str]) -> None:
        for path in paths & self._unreadable.keys():
            del self._unreadable[path]
        with self._guard, contextlib.suppress(NotFound, StorageFailed):
            self._unsaved -= paths
            saved = self._saved()
            rest = saved - paths
            if rest and rest != saved:
                self._disk.replace(self._place, _rows(rest))
            elif saved and not rest:
                self._disk.remove(self._place)  # what cannot be removed is only looked at again

    def _current(self, seen: SeenFile, prepared: IndexedFile | None) -> IndexedFile | None:
        path = seen.path
        if prepared is not None and prepared.node.size == seen.size:
            node = prepared.node.model_copy(update={"st_mtime_ns": seen.mtime_ns})
            return IndexedFile(node, prepared.chunks)
        if not self.indexable(path, seen.size):
            return None
        try:
            return self.understand(path, self._tree.read(path), mtime_ns=seen.mtime_ns)
        except NotFound:
            return None

    def _saved(self) -> set[str]:
        try:
            lines = self._disk.read(self._place).split(b"\n")
        except NotFound:
            return set()
        paths = set()
        for line in lines:
            try:
                paths.add(str(json.loads(line)["path"]))
            except (ValueError, KeyError, TypeError):
                continue
        return paths


def _rows(paths: Iterable[str]) -> bytes:
    return b"".join(json.dumps({"path": path}).encode() + b"\n" for path in sorted(paths))
