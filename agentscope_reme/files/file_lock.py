"""A lock on a file, which the kernel frees when its process dies.

On POSIX it is one `flock` and what belongs around it; elsewhere `filelock` does it all. It locks
with `flock` too, so those who use either keep each other out. Every command and every turn takes
such locks: through `filelock` a turn spends a tenth of its time on them, and each start loads it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
import weakref
from pathlib import Path
from typing import Final

_POLL_SECONDS: Final = 0.002
_OWNER: Final = 0o600
_OWNER_AND_GROUP: Final = 0o660


def lock_mode(folder: Path) -> int:
    """Who may open the files of locks in a folder: its owner, and a group that may write there.

    Who may read a lock's file may also hold it, and so keep everybody waiting for ever.
    """
    shared = folder.is_dir() and folder.stat().st_mode & stat.S_IWGRP
    return _OWNER_AND_GROUP if shared else _OWNER


class _Lock:
    """What the platforms share: waiting, and giving up what cannot be held on to.

    Args:
        place: the file, made when it is missing; its folder is there.
    """

    def __init__(self, place: Path) -> None:
        self._place: Final = place

    def acquire(self, seconds: float) -> bool:
        """Whether the lock could be had within this time; a negative one has no end.

        Raises:
            OSError: the file cannot be opened, or the disk knows no locks.
        """
        end = time.monotonic() + seconds
        try:
            while not self._try():
                if seconds >= 0 and time.monotonic() >= end:
                    return False
                time.sleep(_POLL_SECONDS)
        except BaseException:  # an interrupt, say: a lock of nobody keeps everybody out
            self.release()
            raise
        return True

    def _try(self) -> bool:
        raise NotImplementedError

    def release(self) -> None:
        """Let others have it; nothing when it is not held."""
        raise NotImplementedError


if sys.platform == "win32":
    import filelock

    class FileLock(_Lock):
        """The lock of one file, held by whoever acquired it. Not for two threads at once."""

        def __init__(self, place: Path) -> None:
            super().__init__(place)
            mode = lock_mode(place.parent)
            self._lock = filelock.FileLock(place, mode=mode, thread_local=False)

        def _try(self) -> bool:
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout:
                return False
            return True

        def release(self) -> None:
            """Let others have it; nothing when it is not held."""
            self._lock.release(force=True)

else:
    import fcntl

    _FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    _NOT_OPEN: Final = -1

    class FileLock(_Lock):
        """The lock of one file, held by whoever acquired it. Not for two threads at once."""

        _descriptor = _NOT_OPEN

        def __del__(self) -> None:
            self.release()

        def _try(self) -> bool:
            _in_use.add(self)  # first: a fork may come at any moment
            self._descriptor = self._opened()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):  # EACCES: another word for a taken lock
                self._close()
                return False
            if os.fstat(self._descriptor).st_nlink == 0:  # removed meanwhile: others lock a new one
                self._close()
                return False
            return True

        def release(self) -> None:
            """Let others have it; nothing when it is not held."""
            if self._descriptor != _NOT_OPEN:
                try:  # closing alone would wait for children that were forked meanwhile
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
                finally:
                    self._close()

        def leave_to_parent(self) -> None:
            """In a process that was forked: the lock is its parent's."""
            if self._descriptor != _NOT_OPEN:
                self._close()

        def _opened(self) -> int:
            while True:
                try:
                    return os.open(self._place, _FLAGS)
                except FileNotFoundError:
                    pass
                try:
                    made = os.open(self._place, _FLAGS | os.O_CREAT | os.O_EXCL, _OWNER)
                except FileExistsError:
                    continue
                try:
                    with contextlib.suppress(PermissionError):  # a disk without modes, as FAT
                        os.fchmod(made, lock_mode(self._place.parent))  # whatever the umask
                except BaseException:
                    os.close(made)
                    raise
                return made

        def _close(self) -> None:
            descriptor, self._descriptor = self._descriptor, _NOT_OPEN
            _in_use.discard(self)
            os.close(descriptor)

    _in_use: weakref.WeakSet[FileLock] = weakref.WeakSet()

    def _leave_to_parent() -> None:
        for lock in list(_in_use):
            lock.leave_to_parent()

    os.register_at_fork(after_in_child=_leave_to_parent)
