"""A disk that fails at its n-th system call."""

from __future__ import annotations

import errno
from pathlib import Path

from agentscope_reme.files.disk import Disk


class FailingDisk(Disk):
    """Works until call number `fails_at` (1-based; 0 for never), then refuses that one."""

    def __init__(self, fails_at: int = 0) -> None:
        super().__init__()
        self.fails_at = fails_at
        self.calls = 0

    def _step(self) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    def _open(self, place: Path, flags: int, mode: int = 0o666) -> int:
        self._step()
        return super()._open(place, flags, mode)

    def _write(self, descriptor: int, data: memoryview) -> int:
        self._step()
        return super()._write(descriptor, data)

    def _fsync(self, descriptor: int, *, contents_only: bool) -> None:
        self._step()
        super()._fsync(descriptor, contents_only=contents_only)

    def _replace(self, src: Path, dst: Path) -> None:
        self._step()
        super()._replace(src, dst)
