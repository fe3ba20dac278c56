"""A typed memory as a whole: its parts, its life, and the background work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

from agentscope_reme.messages import Message
from agentscope_reme.results import StatusResult
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.opening import Opening
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.typed.conversations import PENDING, STATE
from agentscope_reme.typed.learning import Learner
from agentscope_reme.typed.memories import Memories
from agentscope_reme.typed.memorizing import SIMILAR, Memorized, Memorizer
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
        self._life: Final = Opening("VectorReMe", self._open, self._close)
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Open the store; calling it again does nothing.

        Who is cancelled while waiting gives up the wait, not the start. After `close` it can be
        started again.

        Raises:
            StorageFailed: the store cannot be opened; the next call tries again.
        """
        await self._life.start()

    async def ready(self) -> None:
        """Start when nobody has yet.

        Raises:
            Closed: it was closed.
            StorageFailed: the store cannot be opened.
        """
        await self._life.ready()

    async def close(self) -> None:
        """Finish what is at work within the deadline and close; again does nothing."""
        await self._life.close()

    @property
    def is_open(self) -> bool:
        """Whether calls need not wait for a start."""
        return self._life.is_open

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

    async def memorize(
        self,
        targets: Sequence[Target],
        messages: Sequence[Message],
        *,
        hint: str = "",
        similar: int = SIMILAR,
    ) -> Memorized:
        """As `Memorizer.memorize`; `close` waits for it within its deadline.

        Raises:
            Closed: the memory was closed; it says whether the conversation was kept.
            StorageFailed: the conversation could not be kept.
        """
        await self.ready()
        self._at_work += 1
        self._idle.clear()
        try:
            return await self.memorizer.memorize(targets, messages, hint=hint, similar=similar)
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._idle.set()

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
        worker, self._worker = self._worker, None
        loop = asyncio.get_running_loop()
        end = loop.time() + self.parts.settings.close_drain_seconds
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await self._idle.wait()
            if worker is not None:
                await worker.drain(max(0.0, end - loop.time()))
                await worker.close()
        finally:
            await self.parts.index.close()
