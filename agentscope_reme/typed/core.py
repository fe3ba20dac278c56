"""A typed memory as a whole: its parts, its life, and the background work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from agentscope_reme.errors import BadInput, Closed
from agentscope_reme.messages import Message
from agentscope_reme.results import StatusResult
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.typed.conversations import PENDING, STATE
from agentscope_reme.typed.learning import Learner
from agentscope_reme.typed.memories import Memories
from agentscope_reme.typed.memorizing import Memorized, Memorizer
from agentscope_reme.typed.nodes import MemoryType, NodeFilter
from agentscope_reme.typed.parts import Parts
from agentscope_reme.typed.profile import CAPACITY
from agentscope_reme.typed.recalling import Recaller
from agentscope_reme.typed.targets import Target


class TypedMemory:
    """The parts of one `VectorReMe`, opened once and closed once. Belongs to one event loop.

    Args:
        parts: what everything works with.
        enable_profile: keep and show profiles of users.
        profile_capacity: lines of one profile.
    """

    def __init__(
        self, parts: Parts, *, enable_profile: bool = True, profile_capacity: int = CAPACITY
    ) -> None:
        self.parts: Final = parts
        learner = Learner(parts, enable_profile=enable_profile, capacity=profile_capacity)
        self.memories: Final = Memories(parts)
        self.memorizer: Final = Memorizer(parts, learner)
        self.recaller: Final = Recaller(parts, enable_profile=enable_profile)
        self._worker: SerialWorker | None = None
        self._opening: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the store; calling it again does nothing.

        Who is cancelled while waiting gives up the wait, not the start. After `close` it can be
        started again.

        Raises:
            StorageFailed: the store cannot be opened; the next call tries again.
        """
        if self._closing is not None:
            await asyncio.shield(self._closing)
            self._closing = self._opening = None
        if self._opening is None or _failed(self._opening):
            self._opening = asyncio.create_task(self._open(), name="start of a memory")
        _require_this_loop(self._opening)
        await asyncio.shield(self._opening)

    async def ready(self) -> None:
        """Start when nobody has yet.

        Raises:
            Closed: it was closed.
            StorageFailed: the store cannot be opened.
        """
        if self._closing is not None:
            raise Closed("VectorReMe", "the memory was closed", "Call `start()` to use it again.")
        await self.start()

    async def close(self) -> None:
        """Finish the background work within the deadline and close; again does nothing."""
        if self._opening is None:
            return
        _require_this_loop(self._opening)
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="close of a memory")
        await asyncio.shield(self._closing)

    @property
    def is_open(self) -> bool:
        """Whether calls need not wait for a start."""
        opening = self._opening
        usable = opening is not None and opening.done() and not _failed(opening)
        return usable and self._closing is None

    @property
    def queued(self) -> int:
        """Background jobs that are not finished."""
        return self._worker.queued if self._worker is not None else 0

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the background work; ``False`` when the deadline came first."""
        loop = asyncio.get_running_loop()
        end = loop.time() + deadline_seconds
        done = self._worker is None or await self._worker.drain(deadline_seconds)
        return await self.parts.index.drain(max(0.0, end - loop.time())) and done

    async def record(self, target: Target, messages: Sequence[Message]) -> Memorized:
        """Keep a conversation now; nothing is drawn from it yet.

        Raises:
            StorageFailed: it could not be kept.
        """
        await self.ready()
        result = Memorized()
        await self.memorizer.keep(target, messages, into=result)
        return result

    async def delete(self, memory_id: str) -> None:
        """Forget one node.

        Raises:
            NotFound: there is none.
        """
        await self.memories.delete(memory_id)
        self.memorizer.forget_known()

    async def delete_all(self) -> int:
        """Forget every node; how many there were."""
        gone = await self.memories.delete_all()
        self.memorizer.forget_known()
        return gone

    def learn_soon(self, target: Target) -> None:
        """Draw from what a target's conversations hold, in the background."""
        if self._worker is None or self.parts.chat is None:
            return

        async def catch_up() -> None:
            budget = CallBudget(self.parts.settings.job_model_calls)
            await self.memorizer.catch_up(target, budget, into=Memorized())

        self._worker.submit(str(target), catch_up)

    async def status(self) -> StatusResult:
        """Counts, queues and every failure so far."""
        store, failures = self.parts.index.store, self.parts.failures
        counts = {
            kind.value: await asyncio.to_thread(store.count, NodeFilter(frozenset((kind,))))
            for kind in MemoryType
        }
        waiting = NodeFilter(frozenset((MemoryType.HISTORY,)), equal={STATE: PENDING})
        pending = await asyncio.to_thread(store.count, waiting)
        missing = await self.parts.index.vectors_pending()
        damaged = list(await asyncio.to_thread(lambda: store.set_aside))
        salvaged = await asyncio.to_thread(lambda: store.salvaged)
        told = [f"{sum(counts.values())} nodes, {pending} conversations wait to be read."]
        for name in damaged:
            became = salvaged.get(name, "nothing was read from it yet")
            told.append(f"Damaged and set aside as {name}: {became}.")
        return StatusResult(
            answer=" ".join(told),
            queued_jobs=self.queued,
            vectors_pending=missing,
            failures=failures.counts,
            last_failures=failures.last,
            details={
                "nodes": counts,
                "pending": pending,
                "damaged": damaged,
                "salvaged": {name: asdict(salvage) for name, salvage in salvaged.items()},
            },
        )

    async def _open(self) -> None:
        await self.parts.index.open()
        self._worker = SerialWorker("summarize_memory", on_failure=self.parts.failures.report)

    async def _close(self) -> None:
        if self._opening is None:
            return
        await asyncio.wait({self._opening})
        if _failed(self._opening):
            return
        worker, self._worker = self._worker, None
        try:
            if worker is not None:
                await worker.drain(self.parts.settings.close_drain_seconds)
                await worker.close()
        finally:
            await self.parts.index.close()


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _require_this_loop(task: asyncio.Task[None]) -> None:
    if task.get_loop() is not asyncio.get_running_loop():
        raise BadInput(
            "VectorReMe",
            "the memory was started in another event loop",
            "Use one `asyncio.run` for its whole life, or open a new `VectorReMe`.",
        )
