"""Locks between processes and between threads of one process.

Three kinds, always taken in this order, so that nobody waits in a circle:

1. a **claim**, held long, so that one process does a piece of work (distilling, dreaming);
2. a **session** lock around one append to a session's log;
3. the **commit** lock of the workspace, held for milliseconds around one change.

The kernel frees a lock when its process dies. Network file systems without working locks are
not supported.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from weakref import WeakValueDictionary

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.file_lock import FileLock
from agentscope_reme.workspace import Workspace, encode_name

_SESSION, _COMMIT = 2, 3
_PASSING = ("session", "claim")
"""Kinds of locks there may be ever more of."""

_registry: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_registry_guard = threading.Lock()
_held = threading.local()
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class WorkspaceLocks:
    """The locks of one workspace, as files under ``.locks/``.

    Every instance over the same folder shares them, in this process and in others.

    Args:
        workspace: whose they are.
        patience_seconds: how long a session or commit lock is waited for; both are held for
            milliseconds, unless their process was stopped.
    """

    def __init__(self, workspace: Workspace, *, patience_seconds: float = 10.0) -> None:
        self._workspace = workspace
        self._patience_seconds = patience_seconds
        self._folder = workspace.locks

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Hold the one exclusive lock around a change; never across a model or network call.

        Raises:
            StorageFailed: it stayed taken for too long, the workspace is gone, or the disk knows
                no locks.
        """
        with self._ranked(_COMMIT, "commit.lock"):
            yield

    @contextmanager
    def session(self, session_id: str) -> Iterator[None]:
        """Hold the lock of one session's log.

        Ids that differ only by case share it: they compete for one file name.

        Raises:
            BadInput: the id cannot name a file.
            StorageFailed: it stayed taken for too long, the workspace is gone, or the disk knows
                no locks.
        """
        with self._ranked(_SESSION, f"session-{_short(encode_name(session_id))}.lock"):
            yield

    @contextmanager
    def sessions(self, session_ids: Iterable[str]) -> Iterator[None]:
        """Hold the locks of several sessions, always taken in the same order.

        Raises:
            BadInput: an id cannot name a file.
            StorageFailed: one stayed taken for too long, the workspace is gone, or the disk knows
                no locks.
        """
        names = {f"session-{_short(encode_name(one))}.lock" for one in session_ids}
        with ExitStack() as held:
            for name in sorted(names):
                held.enter_context(self._ranked(_SESSION, name, together=True))
            yield

    @contextmanager
    def claim(self, name: str, *, blocking: bool = False) -> Iterator[bool]:
        """Try to become the one who does the work called `name`; yields whether that worked.

        May be taken in one thread and released in another.

        Args:
            blocking: wait for it as long as it takes; then the answer is always ``True``.

        Raises:
            BadInput: the name cannot name a file.
            StorageFailed: the workspace is gone, or the disk knows no locks.
        """
        self._refuse_out_of_order(1)
        place = self._folder / f"claim-{_short(encode_name(name, what='claim'))}.lock"
        guard = _guard_of(place)
        if not guard.acquire(blocking=blocking):
            yield False
            return
        try:
            lock = self._take(place, seconds=-1 if blocking else 0)
            if lock is None:
                yield False
                return
            try:
                yield True
            finally:
                lock.release()
        finally:
            guard.release()

    def remove_unheld(self) -> int:
        """Remove the files of sessions' locks and claims that nobody holds; how many there were.

        Each is removed while it is held. Who waited for it sees that its file is gone, and takes a
        new one; where systems cannot tell, nothing is removed.

        Raises:
            StorageFailed: the workspace is gone, or the disk refused.
        """
        if sys.platform == "win32":
            return 0
        places = [place for kind in _PASSING for place in self._folder.glob(f"{kind}-*.lock")]
        return sum(map(self._remove, places))

    def _remove(self, place: Path) -> bool:
        guard = _guard_of(place)
        if not guard.acquire(blocking=False):
            return False
        try:
            lock = self._take(place, seconds=0)
            if lock is None:
                return False
            try:
                place.unlink(missing_ok=True)
            except OSError as error:
                raise StorageFailed(
                    str(place), f"it cannot be removed: {error}", "Fix the folder's permissions."
                ) from error
            finally:
                lock.release()
        finally:
            guard.release()
        return True

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Wait no longer than this for all session and commit locks taken inside together.

        Holds for the calling task and the threads it awaits.
        """
        token = _deadline.set(time.monotonic() + seconds)
        try:
            yield
        finally:
            _deadline.reset(token)

    def _patience(self) -> float:
        return seconds_left(self._patience_seconds)

    @contextmanager
    def _ranked(self, rank: int, name: str, *, together: bool = False) -> Iterator[None]:
        self._refuse_out_of_order(rank + 1 if together else rank)
        place = self._folder / name
        guard = _guard_of(place)
        if not guard.acquire(timeout=self._patience()):
            raise _busy(place)
        try:
            lock = self._take(place, seconds=self._patience())
            if lock is None:
                raise _busy(place)
            ranks = _ranks()
            ranks.append(rank)
            try:
                yield
            finally:
                ranks.pop()
                lock.release()
        finally:
            guard.release()

    def _refuse_out_of_order(self, rank: int) -> None:
        if any(held >= rank for held in _ranks()):
            raise RuntimeError(
                "locks must be taken in the order claim, session, commit, and each once: "
                "waiting in any other order could wait for ever"
            )

    def _take(self, place: Path, *, seconds: float) -> FileLock | None:
        lock = FileLock(place)
        try:
            if not self._folder.is_dir():
                self._workspace.require()
                self._folder.mkdir(exist_ok=True)
            return lock if lock.acquire(seconds) else None
        except (OSError, NotImplementedError) as error:
            raise StorageFailed(
                str(place), f"locking failed: {error}", "Keep the workspace on a local disk."
            ) from error


def resource_claim(path: str) -> str:
    """The claim of whoever reads a resource; it tells nothing, for the lock outlives the file."""
    return f"resource {hashlib.sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def seconds_left(most: float) -> float:
    """How long a lock may be waited for here: `most`, or what `WorkspaceLocks.at_most` leaves.

    For locks that are no files of this class, such as those of a database.
    """
    deadline = _deadline.get()
    return most if deadline is None else max(0.0, min(most, deadline - time.monotonic()))


def _ranks() -> list[int]:
    if not hasattr(_held, "ranks"):
        _held.ranks = []
    ranks: list[int] = _held.ranks
    return ranks


def _guard_of(place: Path) -> threading.Lock:
    """The lock that keeps threads of this process apart; file locks alone are per process.

    Who holds it or waits for it keeps the object, so all find the same one; one that nobody has is
    forgotten, as there are ever more sessions.
    """
    with _registry_guard:
        return _registry.setdefault(str(place), threading.Lock())


def _forget_guards() -> None:
    """In a process that was forked: the threads that hold these are its parent's."""
    global _registry, _registry_guard
    _registry, _registry_guard = WeakValueDictionary(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_guards)


def _short(encoded: str) -> str:
    """A lock's file name: readable, unique without regard to case, never too long."""
    folded = encoded.casefold()
    if len(folded.encode()) <= 120:
        return folded
    return hashlib.sha256(folded.encode()).hexdigest()


def _busy(place: Path) -> StorageFailed:
    return StorageFailed(
        str(place),
        "another process keeps this lock",
        "Find the process that hangs, or try again.",
    )
