"""Carries a journaled change out on the disk, onward or back; every step can be repeated."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agentscope_reme.errors import NotFound, StorageFailed
from agentscope_reme.files.disk import Disk, is_temporary
from agentscope_reme.files.journal import FolderChange, JournalEntry, PathChange
from agentscope_reme.files.looking import exists, is_folder
from agentscope_reme.vault.tree import Tree


@dataclass(frozen=True, slots=True)
class Content:
    """What a file shall hold; ``mode`` is its permission bits when no file stands there yet."""

    data: bytes
    mode: int | None = None


Contents = Callable[[PathChange], Content | None]
"""Finds what a path shall hold; ``None`` when it is not kept any more."""

Foreign = Callable[[str], None]
"""Told each path that is neither as it was before the change nor as it is after it."""


def is_atomic(entry: JournalEntry) -> bool:
    """Whether one system call makes the change, so that it cannot be half done."""
    if entry.folder is not None:
        return False
    if len(entry.changes) == 2:
        first, second = entry.changes
        renamed = first.origin == second.path and first.after == second.before
        return renamed and second.after is None
    return len(entry.changes) == 1


def inverse(changes: tuple[PathChange, ...]) -> tuple[PathChange, ...]:
    """The changes that lead back; what was renamed is renamed back."""
    came_from = {c.origin: c.path for c in changes if c.origin is not None}
    turned = (PathChange(c.path, c.after, c.before, came_from.get(c.path)) for c in changes)
    # renames first, to free the places they leave; what arrives stands before what goes
    return tuple(sorted(turned, key=lambda change: (change.after is None, change.origin is None)))


def inverse_folder(entry: JournalEntry) -> FolderChange | None:
    """A moved folder moves back; a deleted one gets back what else went into the trash with it.

    One that came back stays when that is undone: it may hold new files by then.
    """
    folder = entry.folder
    if folder is None or folder.restored is not None:
        return None
    if folder.target is None:
        return FolderChange(folder.path, restored=entry.change_id)
    return FolderChange(folder.target, folder.path)


class Applier:
    """Brings paths from their state before a change to their state after it.

    A path that is already there is passed over, so applying twice is the same as once. Each hash is
    checked right before the path is touched.
    """

    def __init__(self, tree: Tree, disk: Disk) -> None:
        self._tree = tree
        self._disk = disk

    def apply(
        self,
        entry: JournalEntry,
        contents: Contents,
        foreign: Foreign,
        *,
        staged: Mapping[str, Path] | None = None,
    ) -> list[str]:
        """Carry an entry out, files that arrive first; then flush the folders.

        Args:
            entry: what to do.
            contents: what written files shall hold.
            foreign: told of paths somebody else changed; raise there to stop.
            staged: files of this entry that are already written beside their place.

        Returns:
            Paths that went or came along with a folder though the entry does not name them.

        Raises:
            StorageFailed: the disk refused; what was done so far stays done.
        """
        run = _Run(self._tree, self._disk, entry, contents, foreign, dict(staged or {}))
        return run.carry_out()

    def roll_back(self, entry: JournalEntry, contents: Contents) -> None:
        """Take back whatever of an entry was done; paths others changed are left alone.

        What was put into the trash and cannot go back to its place stays there.

        Raises:
            StorageFailed: the disk refused.
        """
        back = replace(entry, changes=inverse(entry.changes), folder=inverse_folder(entry))
        _Run(self._tree, self._disk, back, contents, lambda _: None, {}, trash=False).carry_out()
        self.clear_restored(entry)

    def clear_restored(self, entry: JournalEntry) -> None:
        """Remove from the trash of an entry what stands in its place again; best effort.

        Everything else stays, such as a version that was saved while the entry was carried out.
        """
        top = self._tree.workspace.trash / entry.change_id
        for change in entry.changes:
            place = top / change.path
            with contextlib.suppress(NotFound, StorageFailed):
                if change.after is None and self._disk.digest(place) == change.before:
                    self._disk.discard(place)
        for parent, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):  # something is left in it
                os.rmdir(parent)

    def drop_trash(self, change_id: str) -> None:
        """Remove all that a change put into the trash, for good; best effort."""
        top = self._tree.workspace.trash / change_id
        for parent, _, names in os.walk(top, topdown=False):
            for name in names:
                self._disk.discard(Path(parent, name))
            with contextlib.suppress(OSError):
                os.rmdir(parent)


class _Run:
    """One carrying out of one entry."""

    def __init__(
        self,
        tree: Tree,
        disk: Disk,
        entry: JournalEntry,
        contents: Contents,
        foreign: Foreign,
        staged: dict[str, Path],
        *,
        trash: bool = True,
    ) -> None:
        self._tree = tree
        self._disk = disk
        self._entry = entry
        self._contents = contents
        self._foreign = foreign
        self._staged = staged
        self._to_trash = trash
        self._folders: list[Path] = []
        self._arrived: set[str] = set()
        self._origins = {c.origin for c in entry.changes if c.origin is not None}
        self._unnamed: list[str] = []

    def carry_out(self) -> list[str]:
        for change in self._entry.changes:
            if change.after is not None:
                self._put(change)
        for change in self._entry.changes:
            if change.after is None:
                self._take(change)
        folder = self._entry.folder
        if folder is not None and folder.restored is not None:
            trash = self._tree.workspace.trash / folder.restored / folder.path
            self._sweep(trash, self._tree.place(folder.path), folder.path)
        elif folder is not None:
            self._clear(folder)
        self._disk.flush_folders(self._folders)
        return self._unnamed

    def _put(self, change: PathChange) -> None:
        current = self._tree.hash(change.path)
        respelled = change.origin is not None and self._tree.same_file(change.origin, change.path)
        vacated = current is None and change.path in self._arrived
        if current not in (change.before, change.after) and not (respelled or vacated):
            self._foreign(change.path)
            return
        there = current == change.after and not respelled
        if not (there or self._renamed(change) or self._written(change)):
            self._foreign(change.path)
            return
        if change.origin is not None:
            self._arrived.add(change.origin)

    def _renamed(self, change: PathChange) -> bool:
        if change.origin is None or self._tree.hash(change.origin) != change.after:
            return False
        src, dst = self._tree.place(change.origin), self._tree.place(change.path)
        self._disk.rename(src, dst, flush=False)
        self._folders += [src.parent, dst.parent]
        return True

    def _written(self, change: PathChange) -> bool:
        place = self._tree.place(change.path)
        temporary = self._staged.pop(change.path, None)
        if temporary is None:
            content = self._contents(change)
            if content is None:
                return False
            mode = None if exists(place) else self._mode_of_origin(change) or content.mode
            temporary = self._disk.stage(place, content.data, mode=mode)
        self._disk.publish(temporary, place, flush=False)
        self._folders.append(place.parent)
        return True

    def _mode_of_origin(self, change: PathChange) -> int | None:
        if change.origin is None:
            return None
        with contextlib.suppress(OSError):
            return stat.S_IMODE(self._tree.place(change.origin).stat().st_mode)
        return None

    def _take(self, change: PathChange) -> None:
        current = self._tree.hash(change.path)
        if current is None:
            return
        came_along = change.path not in self._origins or change.path in self._arrived
        if current != change.before or not came_along:
            self._foreign(change.path)
            return
        place = self._tree.place(change.path)
        if self._to_trash and change.path not in self._origins:
            target = self._trash() / change.path
            self._disk.rename(place, target, flush=False)
            self._folders.append(target.parent)
        else:
            self._disk.remove(place, flush=False)
        self._folders.append(place.parent)

    def _clear(self, folder: FolderChange) -> None:
        """Let nothing of a folder remain: what nobody planned for goes where the rest went."""
        source = self._tree.place(folder.path)
        if not is_folder(source):
            return
        if folder.target is None:
            self._sweep(source, self._trash() / folder.path, folder.path)
            return
        target = self._tree.place(folder.target)
        if self._tree.same_file(folder.path, folder.target):
            self._disk.rename(source, target)  # only its spelling changes
            return
        self._sweep(source, target, folder.path, folder.target)

    def _sweep(self, source: Path, target: Path, *tops: str) -> None:
        """Move what is left below a folder, empty folders too; a place that is taken is left alone.

        Args:
            source: where it is.
            target: where it belongs.
            tops: the paths of the folder in the workspace, for naming what moved.
        """
        for parent, folders, names in os.walk(source, topdown=False):
            below = target / Path(parent).relative_to(source)
            self._disk.make_folder(below)
            links = [name for name in folders if Path(parent, name).is_symlink()]
            for name in [*names, *links]:
                if is_temporary(name):  # nobody is writing it: that takes the commit lock
                    self._disk.discard(Path(parent, name))
                    continue
                if os.path.lexists(below / name):
                    continue
                self._disk.rename(Path(parent, name), below / name, flush=False)
                inside = Path(parent, name).relative_to(source).as_posix()
                self._unnamed += [f"{top}/{inside}" for top in tops]
            with contextlib.suppress(OSError):  # somebody just put a file there: it stays
                os.rmdir(parent)
            self._folders += [Path(parent), below]
        self._folders += [source.parent, target.parent]

    def _trash(self) -> Path:
        return self._tree.workspace.trash / self._entry.change_id
