"""Makes a planned change durable: images, journal line, files; and settles what a crash left.

The crash model. A one-file change is journaled as done and then made by one system call: a crash
between the two leaves the old file, which is noticed because its hash is still the one from
before. A change over several files is a redo log: its contents are kept as blobs, a ``prepared``
line is flushed, the files are changed, a ``done`` line follows. Whoever next takes the commit lock
carries a ``prepared`` entry on to its end, so nobody ever builds on half a change.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadPath, Conflict, NotFound, ReMeError, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal, JournalEntry, PathChange
from agentscope_reme.files.looking import exists
from agentscope_reme.schema import content_hash
from agentscope_reme.vault.applying import Applier, Content, Contents, is_atomic
from agentscope_reme.vault.expiry import expire
from agentscope_reme.vault.planning import Plan, entry_of
from agentscope_reme.vault.tree import Tree

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """How the last journaled change ended; its paths may be unknown to the index.

    ``unusable`` says why an unfinished change cannot be carried out; it is left alone.
    """

    entry: JournalEntry
    completed: bool = False
    aborted: bool = False
    unusable: str = ""
    left_alone: tuple[str, ...] = ()
    came_along: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Carried:
    """A change that was made, and the paths that went along with a folder though unnamed."""

    entry: JournalEntry
    came_along: tuple[str, ...] = ()


class Committer:
    """The one who turns plans into files. Every method is called under the commit lock."""

    def __init__(self, tree: Tree, disk: Disk, journal: Journal) -> None:
        self._tree = tree
        self._disk = disk
        self._journal = journal
        self._applier = Applier(tree, disk)
        self._settled_at: tuple[str, int] | None = None

    def carry_out(self, plan: Plan) -> Carried:
        """Make a planned change.

        Raises:
            Conflict: somebody changed a file since it was planned; nothing is changed.
            StorageFailed: the disk refused; nothing is changed, or if even taking back failed,
                the change is completed before the next one.
        """
        entry = entry_of(plan, self._journal.new_id(), self._journal.now(), atomic=False)
        atomic = is_atomic(entry)
        entry = entry_of(plan, entry.change_id, entry.at, atomic=atomic)
        staged = self._keep_images(entry, plan, atomic=atomic)
        self._settled_at = None
        try:
            self._journal.append(entry)
            came_along = self._apply(entry, plan.contents, staged)
            if not atomic:
                self._journal.settle(entry.change_id, "done")
        except ReMeError:
            self._abandon(entry)
            for temporary in staged.values():
                self._disk.discard(temporary)
            raise
        self._settled_at = self._journal.position()
        if plan.restores is not None:
            self._applier.clear_restored(plan.restores)
        return Carried(entry, tuple(came_along))

    def settle_last(self, *, force: bool = False) -> Settled | None:
        """Finish or dismiss what a process that died was doing; ``None`` when nothing was new.

        Args:
            force: look even when nobody appended to the journal since we did.

        Raises:
            StorageFailed: the disk refused; the change is still unfinished.
        """
        if not force and self._settled_at == self._journal.position():
            return None
        entry = self._journal.last()
        settled = None
        if entry is not None and entry.state != "aborted":
            settled = self._settle(entry)
        elif entry is None and (newest := next(self._journal.entries(), None)) is not None:
            settled = Settled(newest)  # whoever made it may have died before it was indexed
        self._settled_at = self._journal.position()
        return settled

    def image(self, sha: str, change_id: str, path: str) -> Content | None:
        """What stood at a path before a change: from the blobs, or from the trash."""
        with contextlib.suppress(NotFound, StorageFailed):
            return Content(self._journal.blob(sha), self._journal.blob_mode(sha))
        with contextlib.suppress(NotFound, StorageFailed):
            data = self._disk.read(self._tree.workspace.trash / change_id / path)
            return Content(data) if content_hash(data) == sha else None
        return None

    def expire(self, *, now: datetime, retention_days: int) -> int:
        """Remove what is older than the retention; see `vault.expiry`."""
        return expire(
            self._tree, self._journal, self._applier, now=now, retention_days=retention_days
        )

    def _keep_images(self, entry: JournalEntry, plan: Plan, *, atomic: bool) -> dict[str, Path]:
        """Keep what goes, and what comes: as a staged file, or as blobs for the redo log."""
        renamed = {c.origin for c in entry.changes if c.path not in plan.contents}
        for change in entry.changes:
            if change.before is not None and change.path not in renamed:
                self._journal.keep(self._tree.place(change.path))
        if atomic:
            return {
                c.path: self._stage(c, plan.contents[c.path])
                for c in entry.changes
                if c.path in plan.contents
            }
        for change in entry.changes:
            if change.path in plan.contents:
                self._journal.keep_bytes(plan.contents[change.path].data)
        self._journal.flush_blobs()
        return {}

    def _stage(self, change: PathChange, content: Content) -> Path:
        place = self._tree.place(change.path)
        return self._disk.stage(place, content.data, mode=None if exists(place) else content.mode)

    def _apply(
        self, entry: JournalEntry, contents: Mapping[str, Content], staged: Mapping[str, Path]
    ) -> list[str]:
        def refuse(path: str) -> None:
            raise Conflict(
                path,
                "the file changed meanwhile",
                "Read the file again and decide anew.",
                current_hash=self._tree.hash(path),
            )

        return self._applier.apply(entry, lambda c: contents.get(c.path), refuse, staged=staged)

    def _abandon(self, entry: JournalEntry) -> None:
        try:
            self._applier.roll_back(entry, self._contents_before(entry))
            self._journal.settle(entry.change_id, "aborted")
        except ReMeError as error:  # the original error is on its way to the caller
            _log.warning("change %s is settled before the next one: %s", entry.change_id, error)

    def _settle(self, entry: JournalEntry) -> Settled:
        if entry.scrubbed:
            return Settled(entry)
        try:
            self._refuse_unsafe(entry)
        except BadPath as error:
            return Settled(entry, unusable=str(error))
        return (
            self._complete(entry) if entry.state == "prepared" else self._dismiss_if_unmade(entry)
        )

    def _complete(self, entry: JournalEntry) -> Settled:
        left: list[str] = []
        along = self._applier.apply(entry, self._kept, left.append)
        self._journal.settle(entry.change_id, "done")
        return Settled(entry, True, left_alone=tuple(left), came_along=tuple(along))

    def _refuse_unsafe(self, entry: JournalEntry) -> None:
        """Make sure that a line somebody may have written by hand touches documents only.

        Raises:
            BadPath: a path is unsafe, or a file cannot stand there any more.
        """
        folder = entry.folder
        paths = [*entry.paths, *(change.origin for change in entry.changes)]
        for path in [*paths, folder.path if folder else None, folder.target if folder else None]:
            if path is not None:
                self._tree.refuse_foreign(path)
        for change in entry.changes:
            if change.after is not None and entry.state == "prepared":
                self._tree.refuse_blocked(change.path)

    def _dismiss_if_unmade(self, entry: JournalEntry) -> Settled:
        unmade = bool(entry.changes) and all(map(self._is_unmade(entry), entry.changes))
        if unmade:
            self._journal.settle(entry.change_id, "aborted")
        return Settled(entry, aborted=unmade)

    def _is_unmade(self, entry: JournalEntry) -> Callable[[PathChange], bool]:
        """Tells a change that a crash prevented from one that somebody took back by hand."""
        renaming = any(change.origin is not None for change in entry.changes)

        def is_unmade(change: PathChange) -> bool:
            if self._tree.hash(change.path) != change.before:
                return False
            if renaming:
                return True
            if change.after is None:
                return not exists(self._tree.workspace.trash / entry.change_id / change.path)
            return self._tree.has_temporary(change.path)

        return is_unmade

    def _kept(self, change: PathChange) -> Content | None:
        sha = change.after or ""
        with contextlib.suppress(NotFound, StorageFailed):
            return Content(self._journal.blob(sha), self._journal.blob_mode(sha))
        return None

    def _contents_before(self, entry: JournalEntry) -> Contents:
        def before(change: PathChange) -> Content | None:
            return self.image(change.after or "", entry.change_id, change.path)

        return before
