"""One after the other: threads and processes that change one store in a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.file_lock import FileLock

_PATIENCE_SECONDS: Final = 30.0
"""A turn takes some requests to a server; removing an old space takes some seconds."""


class Turns:
    """A lock in a file; the kernel frees it when its process dies. Its owner keeps threads apart.

    Args:
        place: the file; its folder is made when missing.
    """

    def __init__(self, place: Path) -> None:
        self._place: Final = place
        self._lock: FileLock | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold it; it may be taken again inside.

        Raises:
            StorageFailed: another process has held it for too long, or the disk knows no locks.
        """
        if self._lock is not None:
            yield
            return
        self._lock = self._acquired()
        try:
            yield
        finally:
            lock, self._lock = self._lock, None
            lock.release()

    def _acquired(self) -> FileLock:
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._place)
            if lock.acquire(_PATIENCE_SECONDS):
                return lock
        except (OSError, NotImplementedError) as error:
            raise StorageFailed(
                str(self._place), f"locking failed: {error}", "Keep the folder on a local disk."
            ) from error
        raise StorageFailed(
            str(self._place),
            "another process keeps this lock",
            "Find the process that hangs, or try again.",
        )
