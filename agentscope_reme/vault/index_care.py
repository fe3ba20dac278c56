"""Looks after the index as a whole: fills it, builds it anew beside the old one, checks it.

A rebuild never leaves a gap. The files go into a shadow index while searches answer from the one
in use; what changes meanwhile is brought in afterwards, the last of it under the commit lock, and
then the shadow takes over in every process at once. A shadow that a crash left half built is gone
on with: files whose content already stands in it are passed over.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from agentscope_reme.errors import ReMeError, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.results import Failure, IndexResult
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore, ShadowIndex
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.vault.index_keeper import Indexer, IndexKeeper
from agentscope_reme.vault.scanning import Scanner
from agentscope_reme.vault.tree import Tree

_CLAIM: Final = "index"
_CLAIM_LOOK_SECONDS: Final = 0.1
_ATTEMPTS: Final = 3  # how often a rebuild looks at every file again when it lost the thread
_ROUNDS: Final = 5  # how often it catches up with the writers before it makes them wait

_NOTICES: Final = {
    "outdated": "The index was made by other settings or another version and is being built anew; "
    "until then searches answer from the old one.",
    "incomplete": "The index is being built from the files; searches may not find everything yet.",
    "unchecked": "The index was not closed properly; the files are being compared with it.",
}
_CATCHING_UP: Final = (
    "The files are still being compared with the index; searches may not find the latest changes."
)


class ScanCall(Protocol):
    """`Vault.scan`."""

    def __call__(
        self, *, full: bool = False, scope: str = "all", trust_absence: bool = False
    ) -> IndexResult:
        """Compare disk and index."""


class ShadowKeeper(IndexKeeper):
    """Keeps a shadow index in step: what it cannot store ends the rebuild.

    Files that make no sense, or never hold still, are dirty once the shadow is the index in use.
    """

    def __init__(
        self, tree: Tree, store: BaseFileStore, indexer: Indexer, disk: Disk, settings: Settings
    ) -> None:
        super().__init__(tree, store, indexer, disk, settings)
        self._put_off: set[str] = set()

    def apply(self, upserts: list[IndexedFile], deletes: list[str]) -> bool:
        """One transaction of the shadow.

        Raises:
            StorageFailed: the index in use stays.
        """
        if upserts or deletes:
            self.store.apply(upserts, deletes)
            self._put_off -= {*(file.path for file in upserts), *deletes}
        return True

    def mark_dirty(self, paths: Iterable[str]) -> None:
        """Remember until `hand_over`: the commit lock is not held here."""
        self._put_off.update(paths)

    def hand_over(self) -> None:
        """Put on the list of dirty paths what the shadow does not show; under the commit lock."""
        super().mark_dirty(self._put_off)


class IndexCare:
    """What is done to the index as a whole. At most one process at a time builds it.

    Args:
        scan: compares the files with the index in use.
        scanner: knows whether a drive seems to be missing.
        store: the index in use.
        locks: the claim, and the commit lock for the change of places.
        shadow_tools: keeper and scanner for a shadow index.
        check: raises `Closed` once the work is to end.

    Attributes:
        is_catching_up: `bring_in_step` has not come to its end: what changed while nobody looked is
            not found yet.
    """

    def __init__(
        self,
        scan: ScanCall,
        scanner: Scanner,
        store: BaseFileStore,
        locks: WorkspaceLocks,
        shadow_tools: Callable[[BaseFileStore], tuple[ShadowKeeper, Scanner]],
        check: Callable[[], None],
    ) -> None:
        self._scan = scan
        self._scanner = scanner
        self._store = store
        self._locks = locks
        self._shadow_tools = shadow_tools
        self._check = check
        self.is_catching_up = False

    @property
    def notices(self) -> list[str]:
        """Why searches may not answer as they should, in words."""
        try:
            condition = self._store.condition()
        except ReMeError:  # the caller hears of it from the store itself
            return []
        told = [text for name, text in _NOTICES.items() if getattr(condition, name)]
        return told or [_CATCHING_UP] * self.is_catching_up

    def bring_in_step(self) -> IndexResult:
        """What opening a workspace, or losing its index, asks for; cheap when all is well.

        Raises:
            StorageFailed: the index could not be written.
            Closed: the vault was closed meanwhile; the next start goes on.
        """
        self.is_catching_up = True
        result = self._brought_in_step()
        self.is_catching_up = False
        return result

    def _brought_in_step(self) -> IndexResult:
        condition = self._store.condition()
        if not condition.outdated and not condition.incomplete:
            return self._scan()
        with self._claimed():
            condition = self._store.condition()
            if condition.outdated:
                return self._rebuild(trust_absence=False)
            if condition.incomplete:
                return self._compared(trust_absence=False)
        return self._scan()  # another process did it while this one waited

    def check_by_content(self) -> IndexResult:
        """Hash every file, as after a crash; what it finds is brought in.

        Raises:
            StorageFailed: an unfinished change could not be settled.
            Closed: the vault was closed meanwhile.
        """
        return self._compared(trust_absence=False)

    def resume(self) -> IndexResult:
        """Finish a rebuild that a crash interrupted, unless somebody else is at it.

        Raises:
            StorageFailed: the index in use stays.
            Closed: the vault was closed meanwhile.
        """
        with self._locks.claim(_CLAIM) as mine:
            if mine and self._store.condition().half_built:
                return self._rebuild(trust_absence=False)
        return IndexResult()

    def reindex(self, scope: str = "all") -> IndexResult:
        """Make the index say what the files say, whatever it said before.

        ``all`` builds a new index beside the one in use; a single layer is compared in place, by
        content. This is the way to confirm that missing files were deleted on purpose.

        Raises:
            StorageFailed: the index could not be written; the one in use stays.
            Closed: the vault was closed meanwhile; the next start goes on.
        """
        if scope != "all":
            return self._scan(full=True, scope=scope, trust_absence=True)
        with self._claimed():
            result = self._rebuild(trust_absence=True)
        self.is_catching_up = False
        return result

    def _compared(self, *, trust_absence: bool) -> IndexResult:
        seen = self._store.condition()
        result = self._scan(full=True, trust_absence=trust_absence)
        self._store.settle(seen)
        return result

    def _rebuild(self, *, trust_absence: bool) -> IndexResult:
        if not trust_absence and self._scanner.absent_layers():
            waiting = [Failure(item=k, reason=v) for k, v in sorted(self._scanner.notices.items())]
            return IndexResult(answer="Files are missing; the index stays.", failed=waiting)
        shadow = self._store.shadow()
        if shadow is None:
            return self._compared(trust_absence=trust_absence)
        try:
            result = self._built(shadow)
        finally:
            shadow.close()
        self._scanner.notices.clear()
        condition = self._store.condition()
        if not condition.incomplete:  # it is, should damage have shown this very moment
            self._store.settle(condition)
        return result

    def _built(self, shadow: ShadowIndex) -> IndexResult:
        before = self._store.stamps().keys()
        keeper, scanner = self._shadow_tools(shadow.store)
        for _ in range(_ATTEMPTS):
            result = scanner.scan(full=True, prefix="", trust_absence=True)
            if self._took_over(shadow, keeper):
                stats = self._store.stats()
                result.files, result.chunks = stats.files, stats.chunks
                result.removed = len(before - self._store.stamps().keys())
                return result
        raise StorageFailed("index", "it was replaced again and again while it was built", "Retry.")

    def _took_over(self, shadow: ShadowIndex, keeper: ShadowKeeper) -> bool:
        for _ in range(_ROUNDS):
            self._check()
            missed = shadow.missed()
            if missed is None:
                return False
            if not missed:
                break
            keeper.follow(missed)
        shadow.ready()
        with self._locks.commit():
            taken = shadow.take_over(keeper.follow)
            keeper.hand_over()
            return taken

    @contextlib.contextmanager
    def _claimed(self) -> Iterator[None]:
        """Be the one process that works on the index as a whole; waits until it may."""
        while True:
            self._check()
            with self._locks.claim(_CLAIM) as mine:
                if mine:
                    yield
                    return
            time.sleep(_CLAIM_LOOK_SECONDS)
