"""The embedding model at work: vectors of queries in time, missing vectors in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput, ModelFailed
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import EmbeddingPort, PreparedEmbedding
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.embedding_calls import HARMLESS, Absence, EmbeddingCalls
from agentscope_reme.runtime.pictures import Pictures
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.runtime.vector_filling import VectorFilling
from agentscope_reme.runtime.vector_space import EmbeddedTexts, VectorSpace

_NAME: Final = "embedding"


class Embedder:
    """Asks one embedding model on behalf of searches and of the index.

    Both share a circuit breaker: after a failure no search waits for the model until a background
    try has shown that it is back; then what has no vector yet gets one.

    A vector space is named by the model's own name for it, the width that was *measured*, and the
    normalisation. When one of them changes, the missing vectors are made in a new space; searches
    leave it alone until it is whole, when it lacked most texts at first.

    Args:
        model: the model.
        store: whose texts need vectors.
        clock: for the breaker's pauses.
        on_failure: called with a name and an exception; must not raise.
        pictures: those of a model that takes pictures; without them it is asked about texts only.
    """

    def __init__(
        self,
        model: EmbeddingPort,
        store: EmbeddedTexts,
        *,
        clock: Clock,
        on_failure: Callable[[str, BaseException], None],
        pictures: Pictures | None = None,
    ) -> None:
        self._model: Final = model
        self._on_failure: Final = on_failure
        self._pictures: Final = pictures
        self._breaker: Final = CircuitBreaker(clock)
        self._calls: Final = EmbeddingCalls(model, self._breaker)
        self._space: Final = VectorSpace(model, store)
        self._filling: Final = VectorFilling(
            self._calls, self._breaker, store, self._space, pictures, self._report
        )
        self._worker: SerialWorker | None = None
        self._preparing = False

    @property
    def queued(self) -> int:
        """Background runs that are not finished."""
        return self._worker.queued if self._worker is not None else 0

    def space_of(self, vector: Sequence[float]) -> str:
        """The space a vector of this model belongs to."""
        return self._space.of(vector)

    def known_space(self) -> str:
        """The space of this model's vectors as far as it is known. Reads the store."""
        return self._space.known()

    @property
    def sees(self) -> bool:
        """Whether pictures are among what is found."""
        return self._pictures is not None

    def vectors_pending(self) -> int:
        """How many texts and pictures have no vector in the model's space. Reads the store."""
        return self._filling.pending()

    def absence(self) -> Absence:
        """Why `of_query` has just answered ``None``."""
        if not self._breaker.is_closed:
            return Absence("outage", self._breaker.outages)
        return self._being_filled() if self._filling.is_building else Absence("loading")

    def unfilled(self) -> Absence | None:
        """Whether vectors are still to be made; `None` when none is. Reads the store.

        What the model refused is not: it is tried again at the next start.
        """
        return self._being_filled() if self._filling.is_due() else None

    def _being_filled(self) -> Absence:
        return Absence("filling", self._filling.number)

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
        return await self._in_time(text, deadline_seconds)

    async def of_image(self, image: DataBlock, *, deadline_seconds: float) -> list[float] | None:
        """The same for a picture that is the query; the model has to take pictures.

        Raises:
            BadInput: the model refuses this picture, and answers otherwise.
        """
        return await self._in_time(image, deadline_seconds)

    async def _in_time(self, query: str | DataBlock, deadline_seconds: float) -> list[float] | None:
        if (
            not self._may_ask(query if isinstance(query, str) else HARMLESS)
            or self._filling.is_building
        ):
            return None
        waits_for_loading = self._preparing
        try:
            async with asyncio.timeout(deadline_seconds):
                vector = await self._calls.ask_query(query)
        except TimeoutError as error:
            if not waits_for_loading:
                self._failed(error)
            return None
        except ModelFailed as error:
            if isinstance(query, DataBlock) and await self._answers_otherwise(deadline_seconds):
                raise BadInput(
                    query.media_type,
                    f"the embedding model does not take this picture: {error}",
                    "Convert it or scale it down, or describe it in words.",
                ) from error
            self._failed(error)
            return None
        self._breaker.succeeded()
        self._measured(vector)
        return vector

    async def _answers_otherwise(self, deadline_seconds: float) -> bool:
        try:
            async with asyncio.timeout(deadline_seconds):
                await self._calls.ask_query(HARMLESS)
        except (ModelFailed, TimeoutError):
            return False
        return True

    async def of_passages(
        self, texts: Sequence[str], *, deadline_seconds: float
    ) -> list[list[float]] | None:
        """The vectors of a few texts that are being stored now, or ``None``: then `fill_soon`.

        The model is not asked after a failure, nor while most texts have no vector yet.
        """
        if not texts or not self._may_ask(texts[0]) or self._filling.is_building or self._preparing:
            return None
        try:
            async with asyncio.timeout(deadline_seconds):
                vectors = await self._calls.ask(list(texts))
        except (TimeoutError, ModelFailed) as error:
            self._failed(error)
            return None
        self._breaker.succeeded()
        self._measured(vectors[0])
        return vectors

    def fill_soon(self) -> None:
        """Submit a background run that gives every chunk without a vector one."""
        if self._worker is not None:
            self._worker.submit("vectors", self._filling.run)

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
        self._report(error)

    def _report(self, error: BaseException) -> None:
        self._on_failure(_NAME, error)

    def _measured(self, vector: Sequence[float]) -> None:
        """Know the width; when it is another one than before, everything is made anew."""
        if self._space.is_new(vector):
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
        self._measured(await self._calls.unhurried(self._calls.ask_query(text)))
        await self._filling.run(alive=True)
