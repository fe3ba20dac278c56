"""A process that dreams and kills itself before the N-th operation on the disk."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.testing import FakeClock
from tests.dream.models import Dreamer

NOW = "2026-06-21T23:00:00+02:00"
OPERATIONS = ("_open", "_write", "_replace", "_link", "discard", "remove")
"""Whatever changes what other processes see; a flush alone changes nothing for a killed process."""


class Fuse:
    """Counts the operations on the disk, and burns down before one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0
        self._lock = threading.Lock()
        for name in OPERATIONS:
            self._watch(name)

    def _watch(self, name: str) -> None:
        method: Callable[..., Any] = getattr(Disk, name)

        def counted(*args: Any, **options: Any) -> Any:
            with self._lock:
                self.count += 1
                if self.count == self.at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **options)

        setattr(Disk, name, counted)


def memory(root: Path, dreamer: Dreamer) -> ReMe:
    return ReMe(
        root,
        chat_model=dreamer,
        clock=FakeClock(NOW, timezone="Europe/Berlin"),
        settings=Settings(watch=False, fsync=False),
    )


def main(root: Path, at: int, out: Connection) -> None:
    """Dream; tell how many operations that took when the fuse was long enough."""
    asyncio.run(_dream(root, at, out))


async def _dream(root: Path, at: int, out: Connection) -> None:
    async with memory(root, Dreamer()) as reme:
        fuse = Fuse(at)
        await reme.auto_dream()
        out.send(fuse.count)


MemoryTokenizer().query_terms("warm 绿茶")  # ahead of any child
