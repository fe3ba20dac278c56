"""How a process that died without closing its index is noticed by the next one.

Every open store keeps ``metadata/open-<token>`` and holds a lock of the same name, which the
kernel frees when its process ends. A marker whose lock is free was left behind by a crash, or came
along with a copied folder: the index may lack its last transactions, and files may have changed
within one tick of their clock.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path
from typing import Final

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.file_lock import FileLock
from agentscope_reme.store.index_schema import SCHEMA_VERSION
from agentscope_reme.workspace import Workspace

_LAYOUT: Final = f"layout {SCHEMA_VERSION}"
"""Which version of the index an open store works on."""


class OpenMarker:
    """The marker of one open store. Every call holds `Generations.exclusive`.

    Args:
        workspace: whose index it is.
        disk: makes the marker durable before anything is written.
    """

    def __init__(self, workspace: Workspace, disk: Disk) -> None:
        self._folder: Final = workspace.metadata
        self._workspace: Final = workspace
        self._locks: Final = workspace.locks
        self._disk: Final = disk
        self._place: Path | None = None
        self._lock: FileLock | None = None
        self._abandoned: list[Path] = []

    @property
    def unclean(self) -> bool:
        """Whether somebody did not close the index, and nobody compared the files since."""
        return bool(self._abandoned)

    def set(self) -> None:
        """Look for abandoned markers, then leave one."""
        markers = sorted(self._folder.glob("open-*"))
        self._abandoned = [marker for marker in markers if self._is_abandoned(marker)]
        place = self._folder / f"open-{uuid.uuid4().hex}"
        lock = self._lock_of(place)
        lock.acquire(-1)
        self._disk.replace(place, f"process {os.getpid()}\n{_LAYOUT}\n".encode())
        self._place, self._lock = place, lock

    def forgive(self) -> None:
        """Remove the abandoned markers: the files have been compared."""
        for marker in self._abandoned:
            _remove(marker)
            _remove(self._lock_place(marker))
        self._abandoned = []

    def clear(self) -> None:
        """Take the own marker away: the index was closed in good order."""
        if self._place is None or self._lock is None:
            return
        _remove(self._place)
        self._lock.release()
        _remove(self._lock_place(self._place))
        self._place = self._lock = None

    def _is_abandoned(self, marker: Path) -> bool:
        return not is_held(self._workspace, marker)

    def _lock_of(self, marker: Path) -> FileLock:
        return FileLock(self._lock_place(marker))

    def _lock_place(self, marker: Path) -> Path:
        return self._locks / f"{marker.name}.lock"


def others_at_work(workspace: Workspace) -> bool:
    """Whether a store of another version of this library has the index open."""
    return any(
        _LAYOUT not in marker.read_text("utf-8", "replace").splitlines()
        and is_held(workspace, marker)
        for marker in workspace.metadata.glob("open-*")
    )


def is_held(workspace: Workspace, marker: Path) -> bool:
    """Whether the store that left a marker is still open."""
    lock = FileLock(workspace.locks / f"{marker.name}.lock")
    if not lock.acquire(0):
        return True
    lock.release()
    return False


def _remove(place: Path) -> None:
    """Remove a file; where it cannot be, the next one who opens the index compares the files."""
    with contextlib.suppress(OSError):
        place.unlink()
