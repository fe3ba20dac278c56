"""Keeps the index whole while a memory is open: at the start, after damage, after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from typing import Final

from agentscope_reme.errors import Closed
from agentscope_reme.results import IndexResult
from agentscope_reme.vault.vault import Vault

_NAME: Final = "index"


class IndexUpkeep:
    """Runs what a vault has to do to its index, in threads, one piece at a time.

    All methods belong to one event loop. Closing the vault ends the work at the next file; what
    was not finished is found by the next start.

    Args:
        vault: whose index it is; opened and closed by its owner.
        patience_seconds: how long callers wait for the index.
        on_failure: called with a name and an exception; must not raise.
        after: called in the loop when a piece of work is done.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        patience_seconds: float,
        on_failure: Callable[[str, BaseException], None],
        after: Callable[[], None],
    ) -> None:
        self._vault: Final = vault
        self._patience: Final = patience_seconds
        self._on_failure: Final = on_failure
        self._after: Final = after
        self._tasks: dict[str, asyncio.Task[IndexResult]] = {}
        self._turn = asyncio.Lock()
        self.damages = 0
        self._damaged_at = 0.0

    @property
    def repaired(self) -> int:
        """How many `damages` were repaired, as far as that can be done."""
        return self.damages - ("repair" in self._tasks)

    @property
    def queued(self) -> int:
        """Pieces of work not finished yet."""
        return len(self._tasks)

    async def start(self) -> IndexResult:
        """Bring the index in step with the files, in the background if it takes too long.

        Returns:
            What was done; nothing, when it is still being done.

        Raises:
            StorageFailed: the index could not be written.
        """
        index, store = self._vault.index, self._vault.store
        loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        outside = contextvars.copy_context()
        store.on_lost = lambda: self._tell(loop, outside)
        condition = await asyncio.to_thread(store.condition)
        first = self._begin("start", index.bring_in_step, report=False)
        done, _ = await asyncio.wait({first}, timeout=self._patience)
        if condition.unchecked:
            self._begin("check", index.check_by_content)
        if condition.half_built and not condition.outdated:
            self._begin("resume", index.resume)
        if done:
            return first.result()
        first.add_done_callback(self._report_late)
        return IndexResult()

    async def whole_again(self, *, since: int) -> bool:
        """Wait until damage is repaired, as long as patience lasts from when it was found.

        Args:
            since: `repaired` before the caller looked at the index.

        Returns:
            Whether there was any: then it is worth looking again.
        """
        if self.damages == since:
            return False
        age = asyncio.get_running_loop().time() - self._damaged_at
        await self.drain(self._patience - age)
        return True

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the work there is; ``False`` when the deadline came first."""
        if not self._tasks:
            return True
        _, left = await asyncio.wait(self._tasks.values(), timeout=max(0.0, deadline_seconds))
        return not left

    async def close(self) -> None:
        """Wait for the work to notice that the vault is closed."""
        self._vault.store.on_lost = None
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    def _begin(
        self, key: str, work: Callable[[], IndexResult], *, report: bool = True
    ) -> asyncio.Task[IndexResult]:
        task = asyncio.create_task(self._in_turn(work), name=f"{_NAME}: {key}")
        self._tasks[key] = task
        task.add_done_callback(lambda done: self._ended(key, done, report=report))
        return task

    async def _in_turn(self, work: Callable[[], IndexResult]) -> IndexResult:
        async with self._turn:
            return await asyncio.to_thread(work)

    def _ended(self, key: str, task: asyncio.Task[IndexResult], *, report: bool) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if report:
            self._report_late(task)
        with contextlib.suppress(Closed):
            self._after()

    def _report_late(self, task: asyncio.Task[IndexResult]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Closed):
            self._on_failure(_NAME, error)

    def _tell(self, loop: asyncio.AbstractEventLoop, outside: contextvars.Context) -> None:
        """Repair soon; who found the damage may be in a hurry, the repair is not."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the next start repairs
            loop.call_soon_threadsafe(self._repair, context=outside)

    def _repair(self) -> None:
        self.damages += 1
        self._damaged_at = asyncio.get_running_loop().time()
        self._begin("repair", self._vault.index.bring_in_step)
