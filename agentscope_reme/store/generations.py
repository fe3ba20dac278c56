"""The index files of a workspace, and which of them is the current one.

``metadata/CURRENT`` names the generation in use, ``index-<number>.db``. Numbers only grow: a file
with a larger number than the current one is a rebuild that was not finished, one with a smaller
number has been replaced and goes once nobody has it open.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.disk import Disk, is_temporary
from agentscope_reme.files.file_lock import FileLock
from agentscope_reme.files.locks import seconds_left
from agentscope_reme.store.open_marker import others_at_work
from agentscope_reme.workspace import Workspace

_GENERATION: Final = re.compile(r"index-(\d+)\.db")
_FILE_OF_GENERATION: Final = re.compile(r"index-(\d+)\.db(-wal|-shm|-journal)?")
_KEPT: Final = re.compile(r"CURRENT|open-[0-9a-f]+")
_PATIENCE_SECONDS: Final = 10.0


class Generations:
    """Names, replaces and removes generations; whatever changes them holds `exclusive`.

    Args:
        workspace: whose ``metadata/`` folder holds the files.
        disk: makes the change of ``CURRENT`` durable.
    """

    def __init__(self, workspace: Workspace, disk: Disk) -> None:
        self._workspace: Final = workspace
        self._folder: Final = workspace.metadata
        self._current: Final = str(workspace.metadata / "CURRENT")
        self._lock_file: Final = workspace.locks / "index-generation.lock"
        self._disk: Final = disk
        self.notices: list[str] = []

    def make_folders(self) -> None:
        """Make the folders an index needs, where a workspace is opened for the first time."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        self._make_folder()
        self._lock_file.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other thread and process from opening or replacing a generation.

        Raises:
            StorageFailed: somebody else has been at it for too long, or the workspace is gone.
        """
        self._workspace.require()
        self._make_folder()
        self._lock_file.parent.mkdir(exist_ok=True)
        lock = FileLock(self._lock_file)
        if not lock.acquire(seconds_left(_PATIENCE_SECONDS)):
            raise StorageFailed(
                str(self._folder),
                "another process has been opening the index for too long",
                "Close that process, or try again.",
            )
        try:
            yield
        finally:
            lock.release()

    def others_at_work(self) -> bool:
        """Whether another version of this library has the index open."""
        return others_at_work(self._workspace)

    def set_strangers_aside(self) -> None:
        """Rename folders and the like that stand where a file of the index belongs."""
        for place in list(self._folder.iterdir()):
            ours = _KEPT.fullmatch(place.name) or _FILE_OF_GENERATION.fullmatch(place.name)
            if ours and not place.is_file():
                self._set_aside(place)

    def _make_folder(self) -> None:
        if not self._folder.is_dir() and os.path.lexists(self._folder):
            self._set_aside(self._folder)
        self._folder.mkdir(exist_ok=True)

    def _set_aside(self, place: Path) -> None:
        aside = place.with_name(f"{place.name}.{uuid.uuid4().hex[:8]}.corrupt")
        os.replace(place, aside)
        name = self._workspace.relative(place)
        self.notices.append(f"{name} was no part of an index; it was set aside as {aside.name}.")

    def stamp(self) -> tuple[int, int] | None:
        """Changes whenever another generation becomes the current one."""
        try:
            stat = os.stat(self._current)  # a string: this is asked at every call
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_ino

    def current(self) -> Path | None:
        """The generation in use; ``None`` when none is, or its name means nothing."""
        try:
            name = (self._folder / "CURRENT").read_text("utf-8").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        place = self._folder / name
        if _GENERATION.fullmatch(name) and place.is_file():
            return place
        self.notices.append("metadata/CURRENT names no index; an empty one was made.")
        return None

    def name_current(self, place: Path) -> None:
        """Let a generation be the one in use, atomically."""
        self._disk.replace(self._folder / "CURRENT", f"{place.name}\n".encode())

    def fresh(self) -> Path:
        """The place of the next generation."""
        numbers = [int(m[1]) for f in self._folder.iterdir() if (m := _GENERATION.match(f.name))]
        return self._folder / f"index-{max(numbers, default=0) + 1}.db"

    def unnamed(self) -> Path | None:
        """The newest generation when ``CURRENT`` names none: nobody knows whether it is whole."""
        found = self._databases()
        if not found:
            return None
        self.notices.append(f"metadata/CURRENT was missing; {found[-1].name} was set aside.")
        return found[-1]

    def half_built(self) -> Path | None:
        """The newest generation that was begun and never became current."""
        current = self.current()
        if current is None:
            return None
        newest = self._databases()[-1]
        return newest if _number(newest) > _number(current) else None

    def tidy(self, current: Path) -> None:
        """Remove what was replaced earlier and could not be removed then."""
        for file in self._folder.iterdir():
            match = _FILE_OF_GENERATION.fullmatch(file.name)
            if (match and int(match[1]) < _number(current)) or is_temporary(file.name):
                _remove(file)

    def retire(self, current: Path, aside: Path | None = None) -> None:
        """Remove every other generation.

        Args:
            aside: a distrusted one, kept as ``*.corrupt``; one such file at most is kept.
        """
        if aside is not None and aside.exists():
            for earlier in self._folder.glob("index-*.corrupt"):
                _remove(earlier)
            os.replace(aside, aside.with_name(f"{aside.name}.corrupt"))
        for file in self._folder.iterdir():
            match = _FILE_OF_GENERATION.fullmatch(file.name)
            if match and int(match[1]) != _number(current):
                _remove(file)

    def drop_others(self, current: str) -> None:
        """Remove everything but the generation of this name: others, half-built and set aside."""
        for file in self._folder.glob("index-*"):
            if not file.name.startswith(current) or file.name.endswith(".corrupt"):
                _remove(file)

    def discard(self, place: Path) -> None:
        """Remove one generation that never became current."""
        for suffix in ("", "-wal", "-shm"):
            _remove(place.with_name(place.name + suffix))

    def _databases(self) -> list[Path]:
        found = [f for f in self._folder.iterdir() if _GENERATION.fullmatch(f.name)]
        return sorted(found, key=_number)


def _number(place: Path) -> int:
    return int(place.stem.removeprefix("index-"))


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except PermissionError:
        return  # still open in another process; whoever opens the index next tries again
