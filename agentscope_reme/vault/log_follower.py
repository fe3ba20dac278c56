"""Keeps session logs indexed while they grow."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final, Protocol

from agentscope_reme.errors import ReMeError, StorageFailed
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.store.records import FileGrowth, IndexedFile
from agentscope_reme.vault.index_keeper import UNREADABLE, IndexKeeper
from agentscope_reme.vault.tree import Tree

_log: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 3  # how often a log that changes while it is read is read anew


class GrowingIndexer(Protocol):
    """Understands what is new in a log; `LogIndexer` is one."""

    def follow(
        self, path: str, place: Path, written: Extension | None = None
    ) -> IndexedFile | FileGrowth | None:
        """What is new, or the whole log; ``None`` when another indexer has to read it."""

    def forget(self, path: str) -> None:
        """Read a log anew the next time."""


class LogFollower:
    """Brings into the index what was appended to a log.

    Args:
        tree: the files.
        keeper: the index.
        locks: held for each transaction.
        indexer: cuts what is new; without one a log is indexed as any other file.
    """

    def __init__(
        self,
        tree: Tree,
        keeper: IndexKeeper,
        locks: WorkspaceLocks,
        indexer: GrowingIndexer | None,
    ) -> None:
        self._tree = tree
        self._keeper = keeper
        self._locks = locks
        self._indexer = indexer

    def follow(self, path: str, written: Extension | None) -> bool:
        """Index a log as it stands now.

        Returns:
            False when the index could not follow; the path is dirty then. So it is when another
            process keeps the commit lock: the lines themselves are safe.
        """
        try:
            if self._indexer is not None:
                with self._locks.commit():
                    if self._grow(path, written, self._indexer):
                        return True
            return self._read_whole(path)
        except StorageFailed as error:
            _log.warning("%s is indexed later: %s", path, error)
            self._keeper.remember(path)
            return False

    def _grow(self, path: str, written: Extension | None, indexer: GrowingIndexer) -> bool:
        size = written.after.size if written is not None else self._size_of(path)
        if size is None or not self._keeper.indexable(path, size):
            return False
        try:
            place = self._tree.place(path)
            found = indexer.follow(path, place, written)
            if isinstance(found, FileGrowth):
                if self._keeper.store.grow(found):
                    return True
                indexer.forget(path)
                found = indexer.follow(path, place)
        except ReMeError:  # the other way tries again, and remembers what fails
            indexer.forget(path)
            return False
        if not isinstance(found, IndexedFile):
            return False
        if self._keeper.apply([found], []):
            return True
        indexer.forget(path)
        return False

    def _size_of(self, path: str) -> int | None:
        seen = self._tree.seen(path)
        return None if seen is None else seen.size

    def _read_whole(self, path: str) -> bool:
        for _ in range(_ATTEMPTS):
            seen = self._tree.seen(path)
            prepared = self._understood(path)
            with self._locks.commit():
                if prepared is None or self._tree.seen(path) == seen:
                    return self._keeper.follow([path], {path: prepared} if prepared else None)
        with self._locks.commit():
            return self._keeper.follow([path])

    def _understood(self, path: str) -> IndexedFile | None:
        try:
            return self._keeper.understand(path, self._tree.read(path))
        except UNREADABLE:
            return None
