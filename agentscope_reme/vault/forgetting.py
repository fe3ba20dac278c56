"""Forgets for good: files, parts of files, and every copy the library kept of them.

A redo log of its own, because what undoes a change must not survive this one. Under the locks of
the sessions and the commit lock everything is computed and staged in ``journal/forgetting/``; the
moment ``plan.json`` stands there the forgetting is decided. Whoever takes the commit lock next
carries it on to its end, however often it is interrupted: staged contents take their places, files
go without a detour over the trash, the index follows and is written anew, and last of all the plan
goes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadPath, Conflict, NotFound, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal, JournalEntry, PathChange
from agentscope_reme.files.journal_lines import dump_entry, dump_row
from agentscope_reme.files.looking import exists, names_in
from agentscope_reme.files.traces import Traces
from agentscope_reme.schema import content_hash
from agentscope_reme.vault.erasure import Erasure, Plan, Receipt, Rewrite, Staged
from agentscope_reme.vault.scrubbing import Scrub, Scrubber
from agentscope_reme.vault.tree import Tree

_OWN_FOLDERS: Final = ("journal", "trash")
_LOOK_AGAIN: Final = "Look again at what would be forgotten, then decide anew."


class Eraser:
    """Carries an erasure out, and on, after a crash.

    Args:
        tree: the files.
        disk: how they change.
        journal: what is told of it.
        follow: brings the index in step with paths; false when it could not.
        erase: writes the index anew, without what was deleted from it.
    """

    def __init__(
        self,
        tree: Tree,
        disk: Disk,
        journal: Journal,
        *,
        follow: Callable[[list[str]], bool],
        erase: Callable[[], None],
    ) -> None:
        self._tree = tree
        self._disk = disk
        self._journal = journal
        self._follow = follow
        self._erase = erase
        self._root = tree.workspace.root
        self._folder = tree.workspace.journal / "forgetting"
        self._place = self._folder / "plan.json"
        self.left_alone: list[str] = []

    def unfinished_sessions(self) -> tuple[str, ...] | None:
        """The sessions of a forgetting that was interrupted; ``None`` when there is none.

        Raises:
            StorageFailed: it cannot be read.
        """
        if not exists(self._place):
            return None
        plan = self._plan()
        return () if plan is None else tuple(plan.sessions)

    def preview(self, erasure: Erasure) -> Scrub:
        """What of journal and trash would go; under the commit lock.

        Raises:
            StorageFailed: something cannot be read.
        """
        return self._scrub(erasure, {path: path for path in erasure.removes})

    def carry_out(self, erasure: Erasure, *, actor: str) -> Receipt:
        """Forget; the caller holds the locks of the sessions and the commit lock.

        Raises:
            Conflict: a file is not the expected one any more; nothing is changed.
            StorageFailed: the disk refused. If it was decided already, the next change or the
                next start carries it on.
        """
        self._refuse_changed(erasure)
        change_id = self._journal.new_id()
        names = {p: f"forgotten/{change_id}/{n}" for n, p in enumerate(sorted(erasure.removes), 1)}
        scrub = self._scrub(erasure, names)
        self._announce(erasure, scrub, names, change_id, actor)
        self._clear_folder()
        plan = self._stage(erasure, scrub, change_id)
        indexed = self._complete(plan)
        return Receipt(change_id, scrub.entries, scrub.images, scrub.trashed, indexed)

    def go_on(self) -> str | None:
        """Carry on what a crash interrupted, under the same locks; names the change.

        Raises:
            StorageFailed: the disk refused; it stays to be carried on.
        """
        plan = self._plan()
        if plan is None:
            self._clear_folder()
            return None
        self._complete(plan)
        return plan.change_id

    def tidy(self) -> None:
        """Drop what was staged and never decided, or is done; under the commit lock."""
        if not exists(self._place):
            self._clear_folder()

    def _refuse_changed(self, erasure: Erasure) -> None:
        writes = {**erasure.writes, **erasure.own}
        expected = {p: w.expected for p, w in writes.items()} | {**erasure.removes}
        for path, sha in expected.items():
            current = self._tree.hash(path)
            if current != sha and not self._has_only_grown(path, writes.get(path), erasure.traces):
                raise Conflict(
                    path, "the file changed meanwhile", _LOOK_AGAIN, current_hash=current
                )

    def _has_only_grown(self, path: str, write: Rewrite | None, traces: Traces) -> bool:
        """Whether all that happened to a log is that something else was said."""
        if write is None or not write.grows:
            return False
        with contextlib.suppress(NotFound):
            data = self._tree.read(path)
            head, tail = data[: write.size], data[write.size :]
            return content_hash(head) == write.expected and not traces.in_data(tail)
        return False

    def _scrub(self, erasure: Erasure, names: Mapping[str, str]) -> Scrub:
        affected = {*erasure.writes, *erasure.removes} - erasure.tidied
        scrubber = Scrubber(
            self._tree,
            self._disk,
            self._journal,
            affected=affected,
            names=names,
            traces=erasure.traces,
        )
        scrub = scrubber.look()
        scrub.writes.update({path: own.data for path, own in erasure.own.items() if own.data})
        scrub.removes.update(path for path, own in erasure.own.items() if not own.data)
        return scrub

    def _announce(
        self,
        erasure: Erasure,
        scrub: Scrub,
        names: Mapping[str, str],
        change_id: str,
        actor: str,
    ) -> None:
        """Add the line of this forgetting to the journal as it will be."""
        told = (*(p for p in sorted(erasure.writes)), *names.values())
        changes = tuple(PathChange(path, None, None) for path in told)
        at = self._journal.now()
        entry = JournalEntry(change_id, at, actor, "forget", changes, scrubbed=True)
        settled = dump_row({"change_id": change_id, "at": at, "state": "done"})
        name, _ = self._journal.position()
        place = f"journal/{name}"
        before = scrub.writes.get(place)
        if before is None:
            with contextlib.suppress(NotFound):
                before = self._disk.read(self._root / place)
        before = before or b""
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        scrub.writes[place] = before + gap + dump_entry(entry) + settled

    def _stage(self, erasure: Erasure, scrub: Scrub, change_id: str) -> Plan:
        writes = [
            self._staged(n, path, w.data, w.expected, w.size, w.grows)
            for n, (path, w) in enumerate(sorted(erasure.writes.items()))
        ]
        for place, data in sorted(scrub.writes.items()):
            before, size = self._standing(place)
            writes.append(self._staged(len(writes), place, data, before, size, True))
        plan = Plan(
            change_id,
            list(erasure.sessions),
            writes,
            {**erasure.removes, **dict.fromkeys(sorted(scrub.removes))},
            sorted({*erasure.writes, *erasure.removes}),
        )
        self._write(plan)
        return plan

    def _write(self, plan: Plan) -> None:
        self._disk.replace(self._place, plan.dump())

    def _standing(self, place: str) -> tuple[str | None, int]:
        with contextlib.suppress(NotFound):
            data = self._disk.read(self._root / place)
            return content_hash(data), len(data)
        return None, 0

    def _staged(
        self, number: int, place: str, data: bytes, before: str | None, size: int, grows: bool
    ) -> Staged:
        self._disk.replace(self._folder / str(number), data)
        return Staged(place, str(number), content_hash(data), before, size, grows)

    def _complete(self, plan: Plan) -> bool:
        """Do whatever of a plan is not done yet; every step can be repeated."""
        touched: list[Path] = []
        for write in plan.writes:
            self._put(write, touched)
        for place, before in plan.removes.items():
            self._take(place, before, touched)
        self._disk.flush_folders(folder for folder in touched if folder.is_dir())
        for folder in touched:
            self._drop_empty(folder)
        return self._finish(plan)

    def _finish(self, plan: Plan) -> bool:
        """Let the index follow; when it cannot, the next change tries that again, and that alone:
        the files may be anybody's by then."""
        if not self._has_followed(plan.paths):
            if plan.writes or plan.removes:
                self._write(Plan(plan.change_id, [], [], {}, plan.paths))
            return False
        with contextlib.suppress(NotFound):
            self._disk.remove(self._place)
        self._clear_folder()
        return True

    def _has_followed(self, paths: list[str]) -> bool:
        try:
            if not self._follow(paths):
                return False
            self._erase()
        except StorageFailed:
            return False
        return True

    def _put(self, write: Staged, touched: list[Path]) -> None:
        place, staged = self._safe(write.place), self._folder / write.staged
        try:
            data = self._disk.read(staged)
        except NotFound:  # it took its place before the interruption
            return
        wanted = self._wanted(write, place, data)
        if wanted is not None:
            self._disk.publish(self._disk.stage(place, wanted), place, flush=False)
        touched.append(place.parent)  # done already, it may have been cut off before the flush

    def _wanted(self, write: Staged, place: Path, data: bytes) -> bytes | None:
        """What a file shall hold now; ``None`` when it holds it, or somebody else changed it."""
        try:
            current = self._disk.read(place)
        except NotFound:
            return data if write.before is None else None
        sha = content_hash(current)
        if sha == write.after:
            return None
        if sha == write.before:
            return data
        if write.grows:
            if content_hash(current[: len(data)]) == write.after:
                return None
            if content_hash(current[: write.size]) == write.before:
                return data + current[write.size :]
        self.left_alone.append(write.place)
        return None

    def _take(self, name: str, before: str | None, touched: list[Path]) -> None:
        place = self._safe(name)
        with contextlib.suppress(NotFound):
            if before is not None and self._disk.digest(place) != before:
                self.left_alone.append(name)
                return
            self._disk.remove(place, flush=False)
        touched.append(place.parent)

    def _drop_empty(self, folder: Path) -> None:
        """Remove folders that are left empty: they may be named after what is forgotten."""
        while folder.is_relative_to(self._root) and len(folder.relative_to(self._root).parts) > 2:
            try:
                os.rmdir(folder)
            except OSError:  # something is in it
                return
            folder = folder.parent
        if folder.parent == self._tree.workspace.trash:
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def _safe(self, place: str) -> Path:
        """A place out of a plan, which somebody may have written by hand.

        Raises:
            BadPath: it leads somewhere no forgetting leads.
        """
        parts = place.split("/")
        if parts[0] not in _OWN_FOLDERS:
            self._tree.refuse_foreign(place)
            return self._tree.place(place)
        if any(part in ("", ".", "..") for part in parts) or "\0" in place:
            raise BadPath(place, "no forgetting leads there", "Remove `journal/forgetting/`.")
        return self._tree.workspace.locate_normalised(place)

    def _plan(self) -> Plan | None:
        """The decided plan; ``None`` when there is none, or it is none of ours."""
        try:
            plan = Plan.load(self._disk.read(self._place))
            for place in plan.places:
                self._safe(place)
            if all(write.staged.isdecimal() for write in plan.writes):
                return plan
        except (NotFound, BadPath, ValueError, TypeError, KeyError, AttributeError):
            return None
        return None

    def _clear_folder(self) -> None:
        """Remove what was staged; nothing is decided while this runs."""
        names = names_in(self._folder)
        for name in sorted(names, key=lambda name: name != self._place.name):
            self._disk.discard(self._folder / name)
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)
