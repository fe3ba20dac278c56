"""The embedding model at work: vectors of queries in time, missing vectors in the background."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from agentscope_reme.clock import Clock
from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import EmbeddingPort, PreparedEmbedding, QueryEmbedding
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.store.base import BaseFileStore

T = TypeVar("T")

_BATCH: Final = 64
_NAME: Final = "embedding"
_BATCH_SECONDS: Final = 120.0
"""For one batch nobody waits for: a provider that hangs must not hold the others back for ever."""

_HARMLESS: Final = "tea"
"""A text no model has a reason to refuse."""

_NORMALISED: Final = "unit"
"""Every store keeps vectors at length 1."""


class Embedder:
    """Asks one embedding model on behalf of searches and of the index.

    Both share a circuit breaker: after a failure no search waits for the model until a background
    try has shown that it is back; then what has no vector yet gets one.

    A vector space is named by the model's own name for it, the width that was *measured*, and the
    normalisation. When one of them changes, the missing vectors are made in a new space; searches
    leave it alone until it is whole, when it lacked most texts at first.

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
        self._width: int | None = None
        self._preparing = self._building = False
        self._refused: Final[set[str]] = set()

    @property
    def queued(self) -> int:
        """Background runs that are not finished."""
        return self._worker.queued if self._worker is not None else 0

    def space_of(self, vector: Sequence[float]) -> str:
        """The space a vector of this model belongs to."""
        return self._space(len(vector))

    def vectors_pending(self) -> int:
        """How many texts have no vector in the model's space. Reads the store."""
        return self._store.vector_counts(self._known_space())[1]

    def open(self) -> None:
        """Accept background work; belongs to the running event loop."""
        self._worker = SerialWorker(_NAME, on_failure=self._on_failure)
        if isinstance(self._model, PreparedEmbedding):
            self._preparing = True
            self._worker.submit("prepare", self._prepare)

    async def of_query(self, text: str, *, deadline_seconds: float) -> list[float] | None:
        """The vector of a query, or ``None`` when the model is down, late or wrong.

        Also ``None`` while most texts have no vector yet: those that have one would crowd out the
        others.
        """
        if not self._may_ask(text) or self._building:
            return None
        waits_for_loading = self._preparing
        try:
            async with asyncio.timeout(deadline_seconds):
                vector = await self._ask_query(text)
        except TimeoutError as error:
            if not waits_for_loading:
                self._failed(error)
            return None
        except ModelFailed as error:
            self._failed(error)
            return None
        self._breaker.succeeded()
        self._measured(vector)
        return vector

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

    def _may_ask(self, text: str) -> bool:
        """Whether a search may wait for the model; after a failure a background try goes first."""
        if self._breaker.is_closed:
            return True
        if not self._breaker.is_open and self._worker is not None:
            self._worker.submit("try", lambda: self._try_again(text))
        return False

    def _failed(self, error: BaseException) -> None:
        self._breaker.failed()
        self._on_failure(_NAME, error)

    def _measured(self, vector: Sequence[float]) -> None:
        """Know the width; when it is another one than before, everything is made anew."""
        if self._width != len(vector):
            self._width = len(vector)
            self.fill_soon()

    async def _prepare(self) -> None:
        try:
            if isinstance(self._model, PreparedEmbedding):
                await self._model.prepare()
        finally:
            self._preparing = False

    async def _try_again(self, text: str) -> None:
        if not self._breaker.allow():
            return
        self._measured(await self._unhurried(self._ask_query(text)))
        await self._fill(alive=True)

    async def _fill(self, *, alive: bool = False) -> None:
        """Make what is missing.

        Args:
            alive: the model has just answered.
        """
        space = await asyncio.to_thread(self._known_space)
        looked = asked = False
        size = _BATCH
        while batch := await asyncio.to_thread(self._missing, space, size):
            if not looked and len(batch) == _BATCH:
                self._building = await asyncio.to_thread(self._lacks_most, space)
            looked = True
            if await self._take_kept(space, [key for key, _ in batch]):
                continue
            if not self._breaker.allow():
                return
            try:
                vectors = await self._unhurried(self._ask([text for _, text in batch]))
            except ModelFailed as error:
                if not alive:
                    raise
                size = await self._refused_by_a_live_model(batch, error)
                continue
            measured = self.space_of(vectors[0])
            if measured != space and asked:
                self._breaker.failed()
                raise _changing_width(measured, space)
            space, asked, alive, self._width = measured, True, True, len(vectors[0])
            by_hash = {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
            await asyncio.to_thread(self._store.put_vectors, space, by_hash)
        self._building = False

    def _missing(self, space: str, size: int) -> list[tuple[str, str]]:
        rows = self._store.missing_vectors(space, size + len(self._refused))
        return [row for row in rows if row[0] not in self._refused][:size]

    async def _refused_by_a_live_model(
        self, batch: list[tuple[str, str]], error: ModelFailed
    ) -> int:
        """Find out which text is at fault; until the next start it is not sent again.

        Returns:
            How many texts to send next: fewer, until the one at fault stands alone.

        Raises:
            ModelFailed: the model is down after all.
        """
        await self._unhurried(self._ask_query(_HARMLESS))
        if len(batch) > 1:
            return len(batch) // 2
        self._refused.add(batch[0][0])
        self._on_failure(_NAME, error)
        return _BATCH

    async def _take_kept(self, space: str, keys: list[str]) -> bool:
        """Store what an earlier index was given; whether there was anything."""
        kept = await asyncio.to_thread(self._store.kept_vectors, space, keys)
        if kept:
            await asyncio.to_thread(self._store.put_vectors, space, kept)
        return bool(kept)

    async def _unhurried(self, call: Awaitable[T]) -> T:
        """What a call nobody waits for answers; its outcome goes to the breaker, and it ends."""
        try:
            async with asyncio.timeout(_BATCH_SECONDS):
                made = await call
        except (ModelFailed, TimeoutError):
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return made

    async def _ask(self, texts: list[str]) -> list[list[float]]:
        vectors = await self._model.embed(texts)
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise ModelFailed(
                len(vectors),
                f"{len(texts)} vectors of one width were asked for",
                "Check the embedding model.",
            )
        if not all(0 < math.hypot(*vector) < math.inf for vector in vectors):
            raise ModelFailed(
                len(texts), "a vector of this batch has no direction", "Check the embedding model."
            )
        return vectors

    async def _ask_query(self, text: str) -> list[float]:
        if isinstance(self._model, QueryEmbedding):
            return await self._model.embed_query(text)
        return (await self._ask([text]))[0]

    def _lacks_most(self, space: str) -> bool:
        done, pending = self._store.vector_counts(space)
        return pending > done

    def _known_space(self) -> str:
        """The space as measured, in this run or an earlier one; its bare name before that."""
        if self._width is not None:
            return self._space(self._width)
        ours = self._space(None)
        found = [name for name in self._store.vector_spaces() if name.startswith(ours)]
        return found[0] if found else ours

    def _space(self, width: int | None) -> str:
        measured = "" if width is None else f"{width}/{_NORMALISED}"
        return f"{self._model.space_id}/{measured}"


def _changing_width(measured: str, space: str) -> ModelFailed:
    return ModelFailed(
        measured,
        f"the width of the vectors changes from call to call; before it was {space}",
        "Use a model, or `dimensions`, with one width.",
    )
