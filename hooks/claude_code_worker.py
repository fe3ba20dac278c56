"""Fetches what Stop events of Claude Code announced; started by the hook, which does not wait.

One worker at a time serves a workspace; another one that starts meanwhile ends at once. A note is
removed after its transcript was taken over, so whatever kills the worker, the next one goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock, Timeout

from agentscope_reme.files.file_lock import lock_mode
from agentscope_reme.hooks.claude_code_stop import FOLDER, NOTE, QUEUE, log, parsed

if TYPE_CHECKING:
    from agentscope_reme import ReMe

_TAKEN: Final = ".taken"
_LOCK: Final = "worker.lock"
_SESSIONS: Final = "claude_code/"
"""How the ids of Claude Code's sessions begin in a memory."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Take over every announced session, then end.

    Args:
        arguments: as those of the hook; by default the process's own.

    Returns:
        1 when a note had to stay for the next worker, else 0.
    """
    worker = Worker(parsed(arguments))
    worker.folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(worker.folder / _LOCK, mode=lock_mode(worker.folder))
    try:
        while worker.waiting():  # once more after the lock: a note may have come just before
            with lock.acquire(timeout=0):
                worker.run()
    except Timeout:
        return 0
    return 1 if worker.left else 0


class Worker:
    """One life of the worker.

    Args:
        options: those of the hook.

    Attributes:
        folder: where the hook keeps its files.
        left: names of notes that could not be served and stay for the next worker.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._workspace: Path = options.workspace
        self._settle: float = options.settle_seconds
        self._model_is_down = False
        self.folder: Final = self._workspace / FOLDER
        self._queue = self.folder / QUEUE
        self.left: Final[set[str]] = set()

    def waiting(self) -> set[str]:
        """The names of the notes to serve."""
        places = self._queue.iterdir() if self._queue.is_dir() else ()
        found = {p.stem for p in places if p.suffix in (NOTE, _TAKEN) and p.name[0] != "."}
        return found - self.left

    def run(self) -> None:
        """Serve the notes there are; never fails."""
        time.sleep(self._settle)
        self._settle = 0.0
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - a process edge; the notes stay
            log(self._workspace, f"worker: {type(error).__name__}: {error}")
            self.left.update(self.waiting())

    async def _serve(self) -> None:
        async with open_memory(self._options) as reme:
            while names := self.waiting():
                for name in sorted(names):
                    await self._fetch(reme, name)
            if reme.application.components.agent is not None and not self._model_is_down:
                await self._catch_up(reme)

    async def _fetch(self, reme: ReMe, name: str) -> None:
        from agentscope_reme.errors import BadInput, NotFound

        taken = self._queue / (name + _TAKEN)
        try:
            with contextlib.suppress(FileNotFoundError):  # a worker that died took it already
                os.replace(self._queue / (name + NOTE), taken)
            note = json.loads(taken.read_bytes())
            transcript = note.get("transcript_path")
            result = await reme.auto_memory_cc(
                session_id=note["session_id"],
                projects_dir=Path(transcript).parent.parent if transcript else None,
            )
        except (NotFound, BadInput, AttributeError, LookupError, TypeError, ValueError) as error:
            log(self._workspace, f"dropped a note: {type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - a process edge; the next worker tries again
            log(self._workspace, f"worker: {type(error).__name__}: {error}")
            self.left.add(name)
            return
        else:
            self._tell(result.success, result.answer)
        taken.unlink(missing_ok=True)

    async def _catch_up(self, reme: ReMe) -> None:
        """Distil what earlier events left pending: those sessions may never stop again."""
        for session_id in (await reme.status()).pending_sessions:
            if session_id.startswith(_SESSIONS) and not self._model_is_down:
                result = await reme.auto_memory(session_id=session_id)
                self._tell(result.success, result.answer)

    def _tell(self, success: bool, answer: str) -> None:
        if not success:
            self._model_is_down = True
            log(self._workspace, f"pending: {answer}")


def open_memory(options: argparse.Namespace) -> ReMe:
    """The person's own memory; when it cannot be made, one that saves and lets distilling wait."""
    from agentscope_reme import ReMe, Settings

    if options.memory:
        try:
            memory = _factory(options.memory)(str(options.workspace))
            if isinstance(memory, ReMe):
                return memory
            reason = f"it returned {type(memory).__name__}, not a ReMe"
        except Exception as error:  # noqa: BLE001 - the person's code; what was said is saved anyway
            reason = f"{type(error).__name__}: {error}"
        log(options.workspace, f"no model: {options.memory} failed: {reason}")
    return ReMe(options.workspace, settings=Settings(watch=False))


def _factory(named: str) -> Callable[[str], Any]:
    where, _, name = named.rpartition(":")
    module = _loaded(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    factory: Callable[[str], Any] = getattr(module, name)
    return factory


def _loaded(place: Path) -> ModuleType:
    name = f"agentscope_reme_memory_{place.stem}"  # never the name of another module
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} cannot be imported")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
