"""The embedding model at work: vectors of queries in time, missing vectors in the background."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput, ModelFailed
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import EmbeddingPort, PreparedEmbedding
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.embedding_calls import HARMLESS, Absence, EmbeddingCalls
from agentscope_reme.runtime.pictures import Pictures, vector_of_picture
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.store.vectors import Vector

_BATCH: Final = 64
_NAME: Final = "embedding"
_NORMALISED: Final = "unit"
"""Every store keeps vectors at length 1."""


class EmbeddedTexts(Protocol):
    """What needs vectors: the chunks of a `BaseFileStore`, or texts by another key."""

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector in this space, as ``(key, text)``."""

    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors by key."""

    def vector_spaces(self) -> list[str]:
        """The names of the spaces with vectors."""

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors that were paid for before, by key."""

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        """How many texts have a vector in a space, and how many have none."""


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
        self._store: Final = store
        self._on_failure: Final = on_failure
        self._pictures: Final = pictures
        self._breaker: Final = CircuitBreaker(clock)
        self._calls: Final = EmbeddingCalls(model, self._breaker)
        self._refused: Final[set[str]] = set()
        self._worker: SerialWorker | None = None
        self._width: int | None = None
        self._preparing = self._building = False
        self._fillings = 0

    @property
    def queued(self) -> int:
        """Background runs that are not finished."""
        return self._worker.queued if self._worker is not None else 0

    def space_of(self, vector: Sequence[float]) -> str:
        """The space a vector of this model belongs to."""
        return self._space(len(vector))

    @property
    def sees(self) -> bool:
        """Whether pictures are among what is found."""
        return self._pictures is not None

    def vectors_pending(self) -> int:
        """How many texts and pictures have no vector in the model's space. Reads the store."""
        space = self._known_space()
        pictures = 0 if self._pictures is None else self._pictures.pending(space)
        return self._store.vector_counts(space)[1] + pictures

    def absence(self) -> Absence:
        """Why `of_query` has just answered ``None``."""
        if not self._breaker.is_closed:
            return Absence("outage", self._breaker.outages)
        return Absence("filling", self._fillings) if self._building else Absence("loading")

    def unfilled(self) -> Absence | None:
        """Whether vectors are still to be made; `None` when none is. Reads the store.

        What the model refused is not: it is tried again at the next start.
        """
        space, pictures = self._known_space(), self._pictures
        waiting = self._missing(space, 1) or (
            pictures is not None and pictures.missing(space, 1, self._refused)
        )
        return Absence("filling", self._fillings) if waiting else None

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
        if not self._may_ask(query if isinstance(query, str) else HARMLESS) or self._building:
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
        if not texts or not self._may_ask(texts[0]) or self._building or self._preparing:
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
        self._measured(await self._calls.unhurried(self._calls.ask_query(text)))
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
            self._fillings += not looked
            if not looked and len(batch) == _BATCH:
                self._building = await asyncio.to_thread(self._lacks_most, space)
            looked = True
            if await self._take_kept(space, [key for key, _ in batch]):
                continue
            if not self._breaker.allow():
                return
            try:
                vectors = await self._calls.unhurried(self._calls.ask([text for _, text in batch]))
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
        if self._pictures is not None:
            await self._fill_pictures(self._pictures, space)

    async def _fill_pictures(self, pictures: Pictures, space: str) -> None:
        """Make the vectors of pictures, one after the other: each is up to some megabytes."""
        tried = set(self._refused)
        while batch := await asyncio.to_thread(pictures.missing, space, _BATCH, tried):
            if await self._take_kept(space, [picture.key for picture in batch]):
                continue
            for picture in batch:
                if not self._breaker.allow():
                    return
                tried.add(picture.key)
                vector = await vector_of_picture(
                    pictures, picture, self._calls, partial(self._pass_over, picture.key)
                )
                if vector is not None:
                    space = self._space_as_before(vector)
                    await asyncio.to_thread(self._store.put_vectors, space, {picture.key: vector})

    def _pass_over(self, key: str, error: BaseException) -> None:
        """Do not send an input again until the next start."""
        self._refused.add(key)
        self._on_failure(_NAME, error)

    def _space_as_before(self, vector: Sequence[float]) -> str:
        measured = self.space_of(vector)
        if self._width not in (None, len(vector)):
            self._breaker.failed()
            raise _changing_width(measured, self._space(self._width))
        self._width = len(vector)
        return measured

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
        await self._calls.prove_alive()
        if len(batch) > 1:
            return len(batch) // 2
        self._pass_over(batch[0][0], error)
        return _BATCH

    async def _take_kept(self, space: str, keys: list[str]) -> bool:
        """Store what an earlier index was given; whether there was anything."""
        kept = await asyncio.to_thread(self._store.kept_vectors, space, keys)
        if kept:
            await asyncio.to_thread(self._store.put_vectors, space, kept)
        return bool(kept)

    def _lacks_most(self, space: str) -> bool:
        done, pending = self._store.vector_counts(space)
        return pending > done

    def _known_space(self) -> str:
        """The space as measured, in this run or an earlier one; its bare name before that."""
        if self._width is not None:
            return self._space(self._width)
        ours = self._space(None)
        measured = re.compile(rf"{re.escape(ours)}\d+/{_NORMALISED}")
        return next(filter(measured.fullmatch, self._store.vector_spaces()), ours)

    def _space(self, width: int | None) -> str:
        measured = "" if width is None else f"{width}/{_NORMALISED}"
        return f"{self._model.space_id}/{measured}"


def _changing_width(measured: str, space: str) -> ModelFailed:
    return ModelFailed(
        measured,
        f"the width of the vectors changes from call to call; before it was {space}",
        "Use a model, or `dimensions`, with one width.",
    )
