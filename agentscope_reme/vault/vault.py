"""The only way anything in a workspace changes.

Every change takes the commit lock, compares the files with what the caller expects, keeps
pre-images, writes a journal line, replaces the files and updates the index, in this order. It
can be listed, diffed and undone afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import Closed, Conflict, StorageFailed
from agentscope_reme.files.changes import ANY, Change, Write
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.snapshots import sweep_snapshots
from agentscope_reme.results import IndexResult
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.vault.committing import Committer, Settled
from agentscope_reme.vault.deletions import taken_away
from agentscope_reme.vault.erasure import Erasure, Receipt
from agentscope_reme.vault.forgetting import Eraser
from agentscope_reme.vault.index_care import IndexCare, ShadowKeeper
from agentscope_reme.vault.index_keeper import Indexer, IndexKeeper
from agentscope_reme.vault.log_follower import GrowingIndexer, LogFollower
from agentscope_reme.vault.outcomes import Commit, Recovery, recovery_of
from agentscope_reme.vault.pin_gate import refuse_pinned_changes
from agentscope_reme.vault.planning import Plan, plan_changes, plan_delete, plan_move
from agentscope_reme.vault.reading import WorkspaceReader
from agentscope_reme.vault.scanning import NoLock, Scanner
from agentscope_reme.vault.scrubbing import Scrub
from agentscope_reme.vault.tree import Tree
from agentscope_reme.vault.undoing import plan_undo
from agentscope_reme.workspace import Workspace

_ATTEMPTS: Final = 3  # how often a change that expects nothing is planned anew after a collision


class Vault(WorkspaceReader):
    """Changes files and keeps journal and index in step. Safe to call from several threads.

    Args:
        workspace: whose files.
        store: the index; opened and closed by its owner.
        indexer: understands files for the store.
        disk: how bytes become durable.
        locks: keep other threads and processes out.
        journal: what changed.
        clock: the source of "now".
        settings: limits.
        log_indexer: understands what is new in a session log; optional.
    """

    def __init__(
        self,
        workspace: Workspace,
        store: BaseFileStore,
        indexer: Indexer,
        *,
        disk: Disk,
        locks: WorkspaceLocks,
        journal: Journal,
        clock: Clock,
        settings: Settings,
        log_indexer: GrowingIndexer | None = None,
    ) -> None:
        self.workspace: Final = workspace
        self.clock: Final = clock
        self._locks = locks
        self._retention_days = settings.journal_retention_days
        tree = Tree(workspace, disk)
        super().__init__(tree, store, journal, Committer(tree, disk, journal))
        self._keeper = IndexKeeper(tree, store, indexer, disk, settings)
        self._scanner = Scanner(
            tree,
            self._keeper,
            locks,
            self._refuse_closed,
            lambda paths: taken_away(journal.entries(), paths),
        )

        def shadow_tools(shadow: BaseFileStore) -> tuple[ShadowKeeper, Scanner]:
            keeper = ShadowKeeper(tree, shadow, indexer, disk, settings)
            return keeper, Scanner(tree, keeper, NoLock(), self._refuse_closed)

        self.index: Final = IndexCare(
            self.scan, self._scanner, store, locks, shadow_tools, self._refuse_closed
        )
        self._eraser = Eraser(tree, disk, journal, follow=self._keeper.follow, erase=store.erase)
        self._logs = LogFollower(tree, self._keeper, locks, log_indexer)
        self._is_open = False

    @property
    def dirty(self) -> list[str]:
        """Paths whose file is safe but not in the index yet."""
        return self._keeper.dirty

    @property
    def notices(self) -> list[str]:
        """What a person should know about the index, in words."""
        damaged = self._journal.unreadable
        told = [f"{damaged} line(s) of the journal cannot be read and are passed over."]
        left = self._eraser.left_alone
        return [
            *(f"{path} was changed while a part of it was forgotten: look at it." for path in left),
            *sorted(self._scanner.notices.values()),
            *self.index.notices,
            *(told if damaged else []),
        ]

    def open(self) -> Recovery:
        """Settle what a crash left, sweep unfinished files away, retry what was not indexed.

        Raises:
            StorageFailed: the workspace cannot be locked.
        """
        self.workspace.create()
        notices: list[str] = []
        settled: Settled | None = None
        temporaries = 0
        try:
            forgotten = self._carry_forgetting_on()
            notices += [f"Forgetting {forgotten} was interrupted and is finished."] * bool(
                forgotten
            )
        except StorageFailed as error:
            notices.append(f"An unfinished forgetting could not be finished yet: {error}")
        sweep_snapshots(self.workspace, self._locks)
        with self._locks.commit():
            try:
                self._journal.open()
                self._eraser.tidy()
                settled = self._committer.settle_last(force=True)
                temporaries = self._tree.sweep_temporaries()
                self._follow_settled(settled)
                self._keeper.retry()
            except StorageFailed as error:  # a full disk must not keep anybody from reading
                notices.append(f"An unfinished change could not be settled yet: {error}")
            self._is_open = True
        return recovery_of(settled, temporaries, notices)

    def close(self) -> None:
        """Refuse further changes; calling it again does nothing."""
        self._is_open = False

    def commit(self, changes: Sequence[Change], *, actor: str, operation: str) -> Commit:
        """Make several writes and deletes as one change, wholly or not at all.

        When everything already is as wanted nothing is journaled and ``change_id`` is empty.

        Args:
            changes: each path at most once, with the hash the caller expects there.
            actor: who wants it.
            operation: what it is, for the history.

        Raises:
            Conflict: a file is not the expected one; nothing is changed.
            BadPath: a path is unsafe or blocked; nothing is changed.
            NotFound: a file to delete is not there; nothing is changed.
            StorageFailed: the disk refused; nothing is changed.
        """
        writes = {self._tree.name(c.path): c.data for c in changes if isinstance(c, Write)}
        prepared = self._keeper.prepare(writes)
        indifferent = all(change.expected is ANY for change in changes)
        return self._change(
            lambda: plan_changes(self._tree, changes, actor=actor, operation=operation),
            prepared,
            attempts=_ATTEMPTS if indifferent else 1,
        )

    def delete(self, path: str, *, actor: str) -> Commit:
        """Put a file or a folder into the trash, from where `undo` restores it.

        Raises:
            BadPath: the path is unsafe, the root or a folder of the layout.
            NotFound: nothing stands there.
            StorageFailed: the disk refused; nothing is changed.
        """
        return self._change(
            lambda: plan_delete(self._tree, self.store, path, actor=actor), attempts=_ATTEMPTS
        )

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True, actor: str
    ) -> Commit:
        """Rename a file or a folder; with `retarget` links to it follow in every Markdown file.

        Raises:
            BadPath: a path is unsafe, or a folder that cannot be moved.
            NotFound: nothing stands at `src`.
            Conflict: something stands at `dst` and `overwrite` is false, or it is a folder.
            StorageFailed: the disk refused; nothing is changed.
        """

        def plan() -> Plan:
            return plan_move(
                self._tree,
                self.store,
                src,
                dst,
                overwrite=overwrite,
                retarget=retarget,
                actor=actor,
            )

        return self._change(plan)

    def undo(self, change_id: str, *, actor: str) -> Commit:
        """Take a change back, as a change of its own that can be undone as well.

        Raises:
            Conflict: a path was changed since; the error names it.
            NotFound: there is no such change, it was never made, or it has expired.
            StorageFailed: the disk refused; nothing is changed.
        """

        def plan() -> Plan:
            entry = self._journal.entry(change_id)
            return plan_undo(self._tree, entry, self._committer.image, actor=actor)

        return self._change(plan)

    def forget(self, erasure: Erasure, *, actor: str) -> Receipt:
        """Remove files and parts of files for good, with every copy the library kept of them.

        Raises:
            Conflict: a file is not the expected one any more; nothing is changed.
            StorageFailed: the disk refused. If it was decided already, the next change or the
                next start carries it on.
        """
        self._refuse_closed()
        self._carry_forgetting_on()
        sweep_snapshots(self.workspace, self._locks)
        with self._locks.sessions(erasure.sessions), self._exclusive():
            return self._eraser.carry_out(erasure, actor=actor)

    def preview_forgetting(self, erasure: Erasure) -> Scrub:
        """What of journal and trash would go; nothing is changed.

        Raises:
            StorageFailed: something cannot be read.
        """
        with self._exclusive():
            return self._eraser.preview(erasure)

    def settle(self) -> None:
        """Finish or dismiss what a process that died was doing, so that `history` tells the truth.

        Raises:
            StorageFailed: the disk refused.
        """
        with self._exclusive():
            return

    def expire(self) -> int:
        """Remove journal months, pre-images and trash older than ``journal_retention_days``.

        Returns:
            How many of them were removed.

        Raises:
            StorageFailed: the disk refused; the rest goes next time.
        """
        with self._exclusive():
            return self._committer.expire(now=self.clock.now(), retention_days=self._retention_days)

    def scan(
        self, *, full: bool = False, scope: str = "all", trust_absence: bool = False
    ) -> IndexResult:
        """Compare disk and index and bring the index in step.

        When most of a layer is missing, as after a drive was unmounted, the index keeps it and
        `notices` says so.

        Args:
            full: hash every file instead of trusting time and size.
            scope: ``"all"``, or a folder such as ``"daily"``.
            trust_absence: missing files were deleted, however many they are.

        Raises:
            BadPath: the folder is unsafe.
            StorageFailed: an unfinished change could not be settled.
        """
        prefix = "" if scope == "all" else self._tree.name(scope)
        with self._exclusive():
            self._keeper.retry()
        return self._scanner.scan(full=full, prefix=prefix, trust_absence=trust_absence)

    def apply_foreign(self, paths: Iterable[str], *, force: bool = False) -> IndexResult:
        """Bring the index in step with paths that others changed; unsafe ones are passed over.

        Args:
            paths: files or folders, changed or gone.
            force: index files again even when their content is the indexed one.
        """
        self._refuse_closed()
        return self._scanner.apply(paths, force=force)

    def log_changed(self, path: str, written: Extension | None = None) -> bool:
        """Index a session log after an append; logs are no subject of the journal.

        Args:
            path: the log.
            written: the file around the append, which spares reading what stood there before.

        Returns:
            False when the index could not follow; the path is in `dirty` then.
        """
        self._refuse_closed()
        return self._logs.follow(self._tree.name(path), written)

    def retry(self) -> bool:
        """Index what is in `dirty`, as every change does.

        Returns:
            Whether nothing is left but files that make no sense as they are.

        Raises:
            StorageFailed: another process keeps the commit lock, or the disk refused.
        """
        with self._exclusive():
            return self._keeper.retry()

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """The commit lock, with nothing unfinished left by others."""
        self._refuse_closed()
        self._carry_forgetting_on()
        with self._locks.commit():
            self._follow_settled(self._committer.settle_last())
            yield

    def _carry_forgetting_on(self) -> str | None:
        """Finish a forgetting that was interrupted; taken before the commit lock is."""
        sessions = self._eraser.unfinished_sessions()
        if sessions is None:
            return None
        with self._locks.sessions(sessions), self._locks.commit():
            return self._eraser.go_on()

    def _change(
        self,
        plan: Callable[[], Plan],
        prepared: dict[str, IndexedFile] | None = None,
        *,
        attempts: int = 1,
    ) -> Commit:
        with self._exclusive():
            for attempt in range(1, attempts + 1):
                try:
                    return self._carry_out(plan(), prepared or {})
                except Conflict:
                    if attempt == attempts:
                        raise
            raise AssertionError("the last attempt returns or raises")

    def _carry_out(self, plan: Plan, prepared: dict[str, IndexedFile]) -> Commit:
        refuse_pinned_changes(self._tree, plan)
        made = None if plan.is_empty else self._committer.carry_out(plan)
        along = made.came_along if made else ()
        changed = {change.path: change.after for change in plan.changes}
        indexed = self._keeper.follow([*changed, *plan.unchanged, *along], prepared)
        self._keeper.retry()
        return Commit(
            made.entry.change_id if made else "",
            {**plan.unchanged, **changed},
            frozenset(c.path for c in plan.changes if c.before is None),
            indexed,
            plan.touched,
            plan.inbound,
        )

    def _follow_settled(self, settled: Settled | None) -> None:
        if settled is not None and not settled.unusable:
            self._keeper.follow([*settled.entry.paths, *settled.came_along])

    def _refuse_closed(self) -> None:
        if not self._is_open:
            raise Closed(str(self.workspace.root), "the vault is not open", "Open it first.")
