"""Notices other people's edits: which files changed, soon after they did."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from watchfiles import Change
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from agentscope_reme.errors import sentence
from agentscope_reme.settings import Settings
from agentscope_reme.workspace import INTERNAL_FOLDERS, Workspace

OnPaths = Callable[[set[str]], Awaitable[None]]
OnTrouble = Callable[[str, BaseException], None]

_log = logging.getLogger(__name__)
_STEP_MS: Final = 40
"""A burst is handed over once it has paused for so long, in milliseconds."""
_LONGEST_BURST_MS: Final = 400
_POLL_MS: Final = 250
_LOOK_UP_MS: Final = 5000
"""Without events, how often to see whether the watched folder is still the same."""
_RETRY_SECONDS: Final = 0.5
_TROUBLE: Final = (OSError, WatchfilesRustInternalError)
"""What the operating system's limits on watches look like, at the start and later."""
_TEMPORARY: Final = ("~", ".tmp", ".swp", ".swx", ".part", ".crdownload")


class WorkspaceWatcher:
    """Calls `on_paths` with the workspace paths that were created, changed or deleted.

    Only paths are told, never contents: the receiver looks at the disk. A folder that appears is
    told as the files in it, one that disappears by its own path. Hidden, internal and temporary
    files are left out. The calls never overlap; what happens during one is gathered for the next.
    A workspace folder that is missing is waited for; when it is back, the call gets an empty set,
    which means: look at everything. Where the system grants no events, as at its limit of watched
    folders, the watcher polls.

    Args:
        workspace: what to watch.
        settings: ``watch_force_polling`` for file systems without events.
        on_paths: awaited in the event loop that `start` was called in.
        on_trouble: told where watching fails and why; must not raise.

    Attributes:
        notices: what a person should know, in words.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        on_paths: OnPaths,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        self.notices: Final[list[str]] = []
        self._root: Final = workspace.root
        self._polling = settings.watch_force_polling
        self._late: list[str] = []
        self._on_paths: Final = on_paths
        self._on_trouble: Final = on_trouble
        self._stop = threading.Event()
        self._ready = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin watching; returns once changes are noticed, or the folder is found missing."""
        if self._task is not None:
            return
        self._stop = threading.Event()
        self._ready = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="agentscope-reme watcher")
        await self._ready.wait()

    async def stop(self) -> None:
        """Stop watching and wait until nothing runs any more; a call under way is finished."""
        if self._task is None:
            return
        self._stop.set()
        task, self._task = self._task, None
        await task

    async def _run(self) -> None:
        missed = False
        with ThreadPoolExecutor(1, thread_name_prefix="agentscope-reme watcher") as thread:
            try:
                while not self._stop.is_set():
                    try:
                        await self._watch(thread, look_at_everything=missed)
                    except _TROUBLE as error:
                        if self._fall_back(error):
                            missed = self._ready.is_set()
                            continue
                    missed = True
                    self._ready.set()
                    await asyncio.get_running_loop().run_in_executor(
                        thread, self._stop.wait, _RETRY_SECONDS
                    )
            finally:
                self._stop.set()  # lets the thread end when the task is cancelled
                self._ready.set()

    async def _watch(self, thread: ThreadPoolExecutor, *, look_at_everything: bool) -> None:
        """Watch until stopped, or until the root folder is no longer the same one."""
        loop = asyncio.get_running_loop()
        root = _identity(self._root)
        try:
            notify = await loop.run_in_executor(thread, self._subscribe)
        except FileNotFoundError:
            return
        self.notices[:] = self._late
        try:
            self._ready.set()
            if look_at_everything:
                await self._tell(set())
            while root is not None and root == _identity(self._root):
                seen = await loop.run_in_executor(
                    thread, notify.watch, _LONGEST_BURST_MS, _STEP_MS, _LOOK_UP_MS, self._stop
                )
                if seen == "stop" or seen == "signal":
                    return
                if isinstance(seen, str):
                    continue
                paths = await loop.run_in_executor(thread, self._paths, [p for _c, p in seen])
                if paths:
                    await self._tell(paths)
                if (Change.deleted, str(self._root)) in seen:
                    return  # a new folder in its place may have got the same inode number
        except asyncio.CancelledError:
            self._stop.set()  # the thread looks no further
            raise
        finally:
            thread.submit(notify.close)  # behind a look that may still be under way there

    def _fall_back(self, error: BaseException) -> bool:
        """Poll from now on; false when that is what just failed."""
        if self._on_trouble is not None:
            self._on_trouble("watcher", error)
        else:
            _log.warning("watching %s failed: %s", self._root, error)
        if self._polling:
            told = f"Changes by others are not noticed: {sentence(error)} It is tried again."
            self.notices[:] = [told]
            return False
        self._polling = True
        self._late = [f"Changes by others are noticed late, by polling: {sentence(error)}"]
        return True

    def _subscribe(self) -> RustNotify:
        return RustNotify([str(self._root)], False, self._polling, _POLL_MS, True, True)

    async def _tell(self, paths: set[str]) -> None:
        try:
            await self._on_paths(paths)
        except Exception:  # noqa: BLE001 - a background edge: it must go on
            _log.exception("Applying %d changed paths failed; the next scan finds them", len(paths))

    def _paths(self, places: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for place in map(Path, places):
            path = self._interesting(place)
            if path is None:
                continue
            if os.path.isdir(place) and not os.path.islink(place):  # no where it may not look
                # Files can be older than the watch on a folder that just appeared.
                found.update(filter(None, map(self._interesting, _files_below(place))))
            else:
                found.add(path)
        return found

    def _interesting(self, place: Path) -> str | None:
        """The workspace path, unless nobody wants to know of it."""
        try:
            parts = place.relative_to(self._root).parts
        except ValueError:
            return None
        if not parts or parts[0].casefold() in INTERNAL_FOLDERS:
            return None
        if place.name.endswith(_TEMPORARY) or any(part.startswith(".") for part in parts):
            return None
        return "/".join(parts)


def _files_below(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(here, name) for name in files)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        stat = folder.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
