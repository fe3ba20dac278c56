"""Summary tasks one after another, none of them lost by a crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from agentscope_reme.copaw.pending import PendingSummaries, PendingSummary
from agentscope_reme.copaw.summarizer import SILENT, Summary
from agentscope_reme.errors import ModelFailed, ModelRequired, ReMeError
from agentscope_reme.files.summary_records import CLAIM
from agentscope_reme.messages import Message
from agentscope_reme.steps.context import Components

OPERATION: Final = "summary"

_WAIT_SECONDS: Final = 0.2
"""How often it is looked whether another process has finished its summary; a model call takes
seconds, so nobody notices."""

_MOST_FINISHED: Final = 100
_LOOKED_BACK: Final = 1000
_MOST_REMEMBERED: Final = 20_000
_ELSEWHERE: Final = "another process has done it"
KNOWN: Final = "these messages were submitted before"
"""What a task says that had nothing to do."""

Summarise = Callable[[PendingSummary], Awaitable[Summary]]


def operation_of(task_id: str) -> str:
    """The name of a task's commit in the journal, by which a finished one is known."""
    return f"{OPERATION} {task_id}"


def not_settled(summary: Summary) -> ModelFailed:
    """The failure of a run that neither noted anything nor said that there is nothing."""
    return ModelFailed(
        summary.text,
        f"the model noted nothing and did not say {SILENT}",
        "Check the model; a background task is tried again.",
    )


class SummaryQueue:
    """Runs summaries in the order they were submitted, one at a time, also between processes.

    A submitted task is on the disk before `submit` returns and leaves it when its summary is
    committed; what fails or is cut off stays there and is tried again after the next success and
    at the next start, a few times in all. A message that waits, or was summarised since the start,
    is not taken in again: hosts submit the same ones before every compaction that fails. All
    methods belong to one event loop.

    Args:
        parts: the workspace's.
        pending: the durable records.
        summarise: does one task; raises `ReMeError` when it could not.
        ready: opens the memory.
    """

    def __init__(
        self,
        parts: Components,
        pending: PendingSummaries,
        summarise: Summarise,
        ready: Callable[[], Awaitable[object]],
    ) -> None:
        self._parts = parts
        self._pending = pending
        self._summarise = summarise
        self._ready = ready
        self._turn = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._undone: set[str] = set()
        self._waiting: dict[str, frozenset[str]] = {}  # the message ids of every task
        self._noted: dict[str, None] = {}  # message ids, oldest first
        self.reported: list[asyncio.Task[str]] = []

    @property
    def queued(self) -> int:
        """Tasks that are not finished."""
        return len(self._tasks)

    def submit(self, messages: Sequence[Message]) -> None:
        """Make a task of the messages; without a running event loop the next start works it off.

        Messages that were submitted before take no second run; a run that failed is repeated.

        Raises:
            StorageFailed: it could not be made durable.
        """
        fresh = [message for message in messages if not self._is_known(message.id)]
        names = [self._added(fresh)] if fresh else self._undone_with(messages)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # none is running here
            return
        for name in names:
            self._begin(name)
        if not names:
            self._report(loop.create_task(_known()))

    def _added(self, messages: Sequence[Message]) -> str:
        task = self._pending.add(messages)
        self._waiting[task.id] = _ids(messages)
        return task.id

    def _is_known(self, message_id: str | None) -> bool:
        waiting = (message_id in ids for ids in self._waiting.values())
        return message_id is not None and (message_id in self._noted or any(waiting))

    def _undone_with(self, messages: Sequence[Message]) -> list[str]:
        """The tasks that hold one of the messages and wait without being worked off."""
        ids = _ids(messages)
        return [n for n, held in self._waiting.items() if n not in self._tasks and held & ids]

    def _is_done(self, name: str) -> None:
        """Remember the newest messages of finished tasks."""
        self._noted.update(dict.fromkeys(self._waiting.pop(name, frozenset())))
        for old in list(self._noted)[: max(0, len(self._noted) - _MOST_REMEMBERED)]:
            del self._noted[old]

    async def resume(self) -> None:
        """Queue what earlier runs, crashes and other processes left undone."""
        await self._try_again(await asyncio.to_thread(self._pending.names))

    async def _try_again(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                task = await asyncio.to_thread(self._pending.load, name)
            except ReMeError as error:  # one record that cannot be read stops no other
                self._parts.failures.report(OPERATION, error)
                continue
            if name in self._tasks or task is None:
                continue
            self._waiting[name] = _ids(task.messages)
            if not task.given_up:
                self._begin(name)

    async def left(self) -> tuple[int, int]:
        """How many tasks wait, and how many of them no longer by themselves."""
        names = await asyncio.to_thread(self._pending.names)
        return len(names), await asyncio.to_thread(self._given_up, names)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Be the only one who edits memory files, in this process and in others."""
        async with self._turn:
            while True:
                with self._parts.locks.claim(CLAIM) as mine:
                    if mine:
                        yield
                        return
                await asyncio.sleep(_WAIT_SECONDS)

    async def told(self) -> str:
        """Wait for the reported tasks and say, a line each, how they ended; then forget them."""
        tasks = list(self.reported)
        if tasks:
            await asyncio.wait(tasks)
        self.reported = [task for task in self.reported if task not in tasks]
        return "\n".join(map(_told, tasks))

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait until nothing is queued; ``False`` when the deadline came first."""
        loop = asyncio.get_running_loop()
        end = loop.time() + deadline_seconds
        while self._tasks:
            done, _ = await asyncio.wait(self._tasks.values(), timeout=max(0.0, end - loop.time()))
            if not done:
                return False
            await asyncio.sleep(0)  # their callbacks take them off the list
        return True

    async def close(self) -> None:
        """Stop what runs; it stays pending."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _begin(self, name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._work(name), name=name)
        self._tasks[name] = task
        task.add_done_callback(self._finished)
        self._report(task)

    def _report(self, task: asyncio.Task[str]) -> None:
        finished = [known for known in self.reported if known.done()]
        for old in finished[:-_MOST_FINISHED]:
            self.reported.remove(old)
        self.reported.append(task)

    def _finished(self, task: asyncio.Task[str]) -> None:
        name = task.get_name()
        self._tasks.pop(name, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._undone.add(name)
            self._parts.failures.report(OPERATION, error)

    async def _work(self, name: str) -> str:
        await self._ready()
        async with self.turn():
            task = await asyncio.to_thread(self._pending.load, name)
            if task is None or await asyncio.to_thread(self._is_committed, name):
                await asyncio.to_thread(self._pending.done, name)
                self._is_done(name)
                return _ELSEWHERE
            said = await self._attempt(task)
            await asyncio.to_thread(self._pending.done, name)
            self._is_done(name)
        undone, self._undone = sorted(self._undone), set()
        await self._try_again(undone)  # a model has just proved to be alive
        return said

    async def _attempt(self, task: PendingSummary) -> str:
        if task.given_up:
            raise ModelFailed(
                task.id, "it failed too often", "Look at its record in journal/summaries/."
            )
        try:
            summary = await self._summarise(task)
            if not summary.is_settled:
                raise not_settled(summary)
        except ModelRequired:
            raise
        except Exception:  # whatever it was: it must not be tried for ever
            await asyncio.to_thread(self._pending.failed, task)
            raise
        return summary.text

    def _given_up(self, names: Sequence[str]) -> int:
        count = 0
        for name in names:
            try:
                task = self._pending.load(name)
            except ReMeError:  # it cannot be read, as `resume` has reported
                count += 1
            else:
                count += task is not None and task.given_up
        return count

    def _is_committed(self, name: str) -> bool:
        """Whether a crash, of this process or another, came between the commit and its record."""
        wanted = operation_of(name)
        vault = self._parts.vault
        known = [c for c in vault.history(limit=_LOOKED_BACK) if c.operation == wanted]
        if not known:
            return False
        vault.settle()  # a line of the journal alone may speak of a change that never came to be
        changes = vault.history(limit=_LOOKED_BACK)
        return any(c.operation == wanted and c.state == "done" for c in changes)


async def _known() -> str:
    return KNOWN


def _ids(messages: Sequence[Message]) -> frozenset[str]:
    return frozenset(message.id for message in messages if message.id is not None)


def _told(task: asyncio.Task[str]) -> str:
    if task.cancelled():
        return "Summary task was cancelled."
    error = task.exception()
    if error is not None:
        return f"Summary task failed: {error}"
    return f"Summary task completed: {task.result()}"
