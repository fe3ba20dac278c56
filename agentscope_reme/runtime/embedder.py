"""The embedding model at work: vectors of queries in time, missing vectors in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import EmbeddingPort
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.store.base import BaseFileStore

_BATCH: Final = 64
_NAME: Final = "embedding"


class Embedder:
    """Asks one embedding model on behalf of searches and of the index.

    Both share a circuit breaker: while the model is down nobody waits for it, and what has no
    vector yet gets one when it is back.

    Args:
        model: the model.
        store: whose chunks need vectors.
        clock: for the breaker's pauses.
        on_failure: called with a name and an exception; must not raise.
    """

    def __init__(
        self,
        model: EmbeddingPort,
        store: BaseFileStore,
        *,
        clock: Clock,
        on_failure: Callable[[str, BaseException], None],
    ) -> None:
        self._model: Final = model
        self._store: Final = store
        self._on_failure: Final = on_failure
        self._breaker: Final = CircuitBreaker(clock)
        self._worker: SerialWorker | None = None

    @property
    def space_id(self) -> str:
        """The space its vectors are comparable in."""
        return self._model.space_id

    @property
    def queued(self) -> int:
        """Background runs that are not finished."""
        return self._worker.queued if self._worker is not None else 0

    def open(self) -> None:
        """Accept background work; belongs to the running event loop."""
        self._worker = SerialWorker(_NAME, on_failure=self._on_failure)

    async def of_query(self, text: str, *, deadline_seconds: float) -> list[float] | None:
        """The vector of a query, or ``None`` when the model is down, late or wrong."""
        if not self._breaker.allow():
            return None
        try:
            async with asyncio.timeout(deadline_seconds):
                vectors = await self._ask([text])
        except (ModelFailed, TimeoutError) as error:
            self._breaker.failed()
            self._on_failure(f"{_NAME} of a query", error)
            return None
        self._breaker.succeeded()
        return vectors[0]

    def fill_soon(self) -> None:
        """Submit a background run that gives every chunk without a vector one."""
        if self._worker is not None:
            self._worker.submit("vectors", self._fill)

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the background work; ``False`` when the deadline came first."""
        return self._worker is None or await self._worker.drain(deadline_seconds)

    async def close(self) -> None:
        """Stop the background work; the next start finds what is missing."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    async def _fill(self) -> None:
        while batch := await asyncio.to_thread(
            self._store.missing_vectors, self._model.space_id, _BATCH
        ):
            if not self._breaker.allow():
                return
            try:
                vectors = await self._ask([text for _, text in batch])
            except ModelFailed:
                self._breaker.failed()
                raise
            self._breaker.succeeded()
            by_hash = {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
            await asyncio.to_thread(self._store.put_vectors, self._model.space_id, by_hash)

    async def _ask(self, texts: list[str]) -> list[list[float]]:
        vectors = await self._model.embed(texts)
        if len(vectors) != len(texts):
            raise ModelFailed(
                len(vectors), f"{len(texts)} vectors were asked for", "Check the embedding model."
            )
        return vectors
