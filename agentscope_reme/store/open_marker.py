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

from filelock import FileLock, Timeout

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import lock_mode
from agentscope_reme.workspace import Workspace


class OpenMarker:
    """The marker of one open store. Every call holds `Generations.exclusive`.

    Args:
        workspace: whose index it is.
        disk: makes the marker durable before anything is written.
    """

    def __init__(self, workspace: Workspace, disk: Disk) -> None:
        self._folder: Final = workspace.metadata
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
        lock.acquire()
        self._disk.replace(place, f"process {os.getpid()}\n".encode())
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
        lock = self._lock_of(marker)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        lock.release()
        return True

    def _lock_of(self, marker: Path) -> FileLock:
        place = self._lock_place(marker)
        return FileLock(place, mode=lock_mode(place.parent), thread_local=False)

    def _lock_place(self, marker: Path) -> Path:
        return self._locks / f"{marker.name}.lock"


def _remove(place: Path) -> None:
    """Remove a file; where it cannot be, the next one who opens the index compares the files."""
    with contextlib.suppress(OSError):
        place.unlink()
