"""A process that forgets and is killed at a chosen step of it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import agentscope_reme.engine as engine
from agentscope_reme import ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.store import erasing
from agentscope_reme.testing import FakeClock
from tests.forgetting.life import CARD

ONCE_DECIDED = -1
"""Dies as soon as the plan stands there and nothing of it is done."""


class Steps:
    """Counts what is done to the disk once it is armed, and ends the process before one step."""

    armed = False
    done = 0
    dies_before = 0
    plan: Path | None = None

    @classmethod
    def next(cls) -> None:
        if not cls.armed:
            return
        cls.done += 1
        decided = cls.dies_before == ONCE_DECIDED and cls.plan is not None and cls.plan.exists()
        if cls.done == cls.dies_before or decided:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalDisk(Disk):
    """A disk on which every system call that matters is a step."""

    def _open(self, place: Path, flags: int, mode: int = 0o666) -> int:
        Steps.next()
        return super()._open(place, flags, mode)

    def _write(self, descriptor: int, data: memoryview) -> int:
        Steps.next()
        return super()._write(descriptor, data)

    def _fsync(self, descriptor: int, *, contents_only: bool) -> None:
        Steps.next()
        super()._fsync(descriptor, contents_only=contents_only)

    def _replace(self, src: Path, dst: Path) -> None:
        Steps.next()
        super()._replace(src, dst)

    def _link(self, src: Path, dst: Path) -> None:
        Steps.next()
        super()._link(src, dst)

    def remove(self, place: Path, *, flush: bool = True) -> None:
        Steps.next()
        super().remove(place, flush=flush)

    def discard(self, temporary: Path) -> None:
        Steps.next()
        super().discard(temporary)


def forget_in(root: str, dies_before: int, out: Any = None) -> None:
    """Open the memory, forget the card, and tell how many steps that took."""
    engine.Disk = MortalDisk  # type: ignore[misc]
    for name in ("_drop_leftovers", "_empty_log"):
        setattr(erasing, name, _counted(getattr(erasing, name)))
    Steps.dies_before = dies_before
    Steps.plan = Path(root, "journal/forgetting/plan.json")
    asyncio.run(_forget(root))
    if out is not None:
        out.send(Steps.done)


def _counted(work: Any) -> Any:
    def counted(*given: Any) -> Any:
        Steps.next()
        found = work(*given)
        Steps.next()
        return found

    return counted


async def _forget(root: str) -> None:
    clock = FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")
    async with ReMe(root, settings=Settings(watch=False), clock=clock) as reme:
        await reme.status()
        Steps.armed = True
        await reme.forget(path=CARD, dry_run=False)
        Steps.armed = False
