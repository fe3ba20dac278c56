"""The files of a workspace as they stand on the disk right now."""

from __future__ import annotations

import contextlib
import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import Final, NamedTuple, overload

from agentscope_reme.errors import BadPath, NotFound, StorageFailed
from agentscope_reme.files.disk import Disk, is_temporary, is_temporary_of
from agentscope_reme.files.looking import is_file, is_folder, is_special, names_in
from agentscope_reme.results import Failure
from agentscope_reme.workspace import INTERNAL_FOLDERS, LONGEST_PLAIN_NAME, Workspace, is_plain

_LONGEST_NAME: Final = 255  # bytes, on every file system we know
_ELSEWHERE: Final = "Choose another path."


class SeenFile(NamedTuple):
    """A file a walk met, with the two numbers of the quick check; a start makes thousands."""

    path: str
    mtime_ns: int
    size: int


class SeenFiles(Sequence[SeenFile]):
    """Many files, sorted by path.

    Kept as plain tuples, which the garbage collector looks at once; it would walk through
    thousands of `SeenFile` whenever it looks at everything.

    Args:
        rows: path, modification time in nanoseconds and size in bytes, in any order.
    """

    def __init__(self, rows: Iterable[tuple[str, int, int]] = ()) -> None:
        self._rows: Final = sorted(rows)

    @overload
    def __getitem__(self, index: int) -> SeenFile: ...
    @overload
    def __getitem__(self, index: slice) -> SeenFiles: ...
    def __getitem__(self, index: int | slice) -> SeenFile | SeenFiles:
        if isinstance(index, slice):
            return SeenFiles(self._rows[index])
        return SeenFile(*self._rows[index])

    def __iter__(self) -> Iterator[SeenFile]:
        return starmap(SeenFile, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def paths(self) -> set[str]:
        """Their paths."""
        return {path for path, _, _ in self._rows}

    def those(self, wanted: Callable[[SeenFile], bool]) -> SeenFiles:
        """Those that meet a condition."""
        return SeenFiles(row for row in self._rows if wanted(SeenFile(*row)))


class Tree:
    """Looks at the disk; changes nothing but unfinished files.

    Args:
        workspace: whose files these are.
        disk: how they are read.
    """

    def __init__(self, workspace: Workspace, disk: Disk) -> None:
        self.workspace: Final = workspace
        self._disk = disk
        self._folds_case: bool | None = None

    def name(self, path: str) -> str:
        """The path a file is known by: as the disk spells it, and behind symlinks.

        On disks that do not tell ``MEMORY.md`` from ``memory.md`` an existing file keeps the
        spelling it was created with.

        Raises:
            BadPath: the path is unsafe.
        """
        return self.workspace.real(self._spelled(path))

    def own_name(self, path: str) -> str:
        """`name` for what is to be deleted or moved.

        Raises:
            BadPath: the path is unsafe, or a symlink: that is for its owner to remove.
        """
        spelled = self._spelled(path)
        if os.path.islink(self.workspace.root / spelled):
            raise BadPath(path, "this is a symlink", "Name the file or folder it points to.")
        return self.workspace.real(spelled)

    def names(self, path: str) -> list[str]:
        """A path as it is spelled and, where it leads over symlinks, as its file is known.

        Raises:
            BadPath: the spelling itself is unsafe.
        """
        spelled = self._spelled(path)
        with contextlib.suppress(BadPath):
            return list(dict.fromkeys((spelled, self.workspace.real(spelled))))
        return [spelled]

    def _spelled(self, path: str) -> str:
        normal = self.workspace.normalise(path)
        return spelled_on_disk(self.workspace.root, normal) if self._case_folded() else normal

    def place(self, path: str) -> Path:
        """Where a normalised path stands.

        Raises:
            BadPath: a symlink on the way leads where no path may.
        """
        return self.workspace.locate_normalised(path)

    def hash(self, path: str) -> str | None:
        """The content hash of a file; ``None`` when no file stands there.

        Raises:
            BadPath: a symlink on the way leads where no path may.
            StorageFailed: the file cannot be read.
        """
        place = self.place(path)
        if not is_file(place):
            return None
        with contextlib.suppress(NotFound):  # removed since we looked
            return self._disk.digest(place)
        return None

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            NotFound: no file stands there.
            StorageFailed: the file cannot be read.
        """
        place = self.place(path)
        if not is_file(place):
            raise NotFound(path, "no such file", "Check the path with `list`.")
        return self._disk.read(place)

    def seen(self, path: str) -> SeenFile | None:
        """The stamp of a file; ``None`` when none stands there, or under another real path."""
        if self.is_link(path):
            return None
        try:
            status = os.stat(f"{self.workspace.root}/{path}")  # a `Path` for every file is dear
        except OSError:
            return None
        regular = stat.S_ISREG(status.st_mode)
        return SeenFile(path, status.st_mtime_ns, status.st_size) if regular else None

    def is_link(self, path: str) -> bool:
        """Whether a normalised path leads over a symlink."""
        try:
            return self.workspace.real(path) != path
        except BadPath:
            return True

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at a normalised path."""
        return is_folder(self.place(path))

    def same_file(self, one: str, other: str) -> bool:
        """Whether two spellings are one file or folder, as on disks that fold case."""
        with contextlib.suppress(OSError):
            return os.path.samefile(self.place(one), self.place(other))
        return False

    def refuse_blocked(self, path: str) -> None:
        """Make sure a file can stand at a normalised path.

        Raises:
            BadPath: a folder or no regular file stands there, or a file stands where a folder is
                needed.
        """
        if self.is_folder(path):
            raise BadPath(path, "a folder stands there", _ELSEWHERE)
        if is_special(self.place(path)):
            raise BadPath(path, "a pipe, socket or device stands there", _ELSEWHERE)
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if is_file(self.place(above)):
                raise BadPath(path, f"`{above}` is a file, not a folder", _ELSEWHERE)

    def refuse_foreign(self, path: str) -> None:
        """Make sure a path out of the journal is one that changes may be made to.

        Raises:
            BadPath: it climbs out, has odd or too long parts, or leads where no path may.
        """
        parts = path.split("/")
        odd = any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME for part in parts)
        if odd or parts[0].casefold() in INTERNAL_FOLDERS:
            raise BadPath(path, "no change leads there", _ELSEWHERE)
        self.place(path)

    def walk(self, prefix: str = "") -> tuple[SeenFiles, list[Failure]]:
        """Visible files below a folder, sorted by path, and what could not be looked at.

        Hidden and internal entries and symlinks are passed over; those that lead where no path
        may are told as failures.
        """
        found: list[tuple[str, int, int]] = []
        failed: list[Failure] = []
        folders = [prefix.strip("/")]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(self.workspace.root / folder))
            except FileNotFoundError:
                continue
            except OSError as error:
                failed.append(Failure(item=folder, reason=f"cannot be listed: {error.strerror}"))
                continue
            normal = self._is_normal(folder)
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not self._is_passed_over(path, entry):
                    safe = normal and is_plain(entry.name)
                    self._meet(path, entry, folders, found, failed, safe=safe)
        return SeenFiles(found), failed

    def everything_below(self, folder: str) -> list[str]:
        """Regular files below a folder, hidden ones included, unfinished ones not, sorted.

        Raises:
            StorageFailed: a folder cannot be listed or entered; what is in it would be left out.
        """
        root = self.place(folder)
        found = []
        for parent, _, names in os.walk(root, onerror=_refuse_unlisted):
            places = (Path(parent, name) for name in names if not is_temporary(name))
            found += [
                f"{folder}/{place.relative_to(root).as_posix()}"
                for place in places
                if not os.path.islink(place) and is_file(place)
            ]
        return sorted(found)

    def has_temporary(self, path: str) -> bool:
        """Whether an unfinished version of a file stands beside its place."""
        place = self.place(path)
        return any(is_temporary_of(name, place.name) for name in names_in(place.parent))

    def sweep_temporaries(self) -> int:
        """Remove unfinished files; called under the commit lock, when nobody is writing one."""
        swept = 0
        for place in self._temporaries():
            self._disk.discard(place)
            swept += 1
        return swept

    def _temporaries(self) -> Iterator[Path]:
        workspace = self.workspace
        tops = [p for p in workspace.root.iterdir() if p.name.casefold() not in INTERNAL_FOLDERS]
        for top in [*tops, workspace.journal]:
            if is_temporary(top.name):
                yield top
            elif top.is_dir() and not top.is_symlink():
                for parent, _, names in os.walk(top):
                    yield from (Path(parent, name) for name in names if is_temporary(name))

    def _is_normal(self, folder: str) -> bool:
        """Whether a plain name in this folder makes a normalised path."""
        if not folder:
            return True
        with contextlib.suppress(BadPath):
            longest = f"{folder}/{LONGEST_PLAIN_NAME}"
            return self.workspace.normalise(longest) == longest
        return False

    def _is_passed_over(self, path: str, entry: os.DirEntry[str]) -> bool:
        hidden = entry.name.startswith(".")
        internal = "/" not in path and entry.name.casefold() in INTERNAL_FOLDERS
        return hidden or internal

    def _meet(
        self,
        path: str,
        entry: os.DirEntry[str],
        folders: list[str],
        found: list[tuple[str, int, int]],
        failed: list[Failure],
        *,
        safe: bool,
    ) -> None:
        try:
            if not entry.is_file(follow_symlinks=False):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif entry.is_symlink():
                    self.place(path)  # refuses a link that leads where no path may
                return
            if not safe and self.workspace.normalise(path) != path:
                raise BadPath(path, "this name would be read as another", "Rename the file.")
            status = entry.stat(follow_symlinks=False)
            found.append((path, status.st_mtime_ns, status.st_size))
        except (OSError, BadPath) as error:
            shown = path.encode("utf-8", "backslashreplace").decode()
            failed.append(Failure(item=shown, reason=str(error)))

    def _case_folded(self) -> bool:
        if self._folds_case is None:
            probe = self.workspace.locks
            self._folds_case = probe.exists() and probe.with_name(".LOCKS").exists()
        return self._folds_case


def _refuse_unlisted(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # it may go while we look
        raise StorageFailed(
            str(error.filename), f"listing failed: {error.strerror}", "Fix the permissions."
        ) from error


def spelled_on_disk(root: Path, path: str) -> str:
    """A path with every existing component spelled the way its folder lists it.

    Args:
        root: the folder the path is relative to.
        path: a normalised path, on a disk that ignores case or Unicode composition.
    """
    spelled: list[str] = []
    for part in path.split("/"):
        folder = root.joinpath(*spelled)
        alike = [name for name in names_in(folder) if _folded(name) == _folded(part)]
        spelled.append(part if part in alike or not alike else alike[0])
    return "/".join(spelled)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
