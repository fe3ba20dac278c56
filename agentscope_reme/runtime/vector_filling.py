"""Vectors made in the background: for every text and picture that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from agentscope_reme.errors import ModelFailed
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.embedding_calls import EmbeddingCalls
from agentscope_reme.runtime.pictures import Pictures, vector_of_picture
from agentscope_reme.runtime.vector_space import EmbeddedTexts, VectorSpace

_BATCH: Final = 64


class VectorFilling:
    """Fills the space of one model.

    Args:
        calls: how the model is asked.
        breaker: whether it may be asked.
        store: whose texts need vectors.
        space: where they belong.
        pictures: those of a model that takes pictures.
        on_failure: hears of what the model refused; must not raise.

    Attributes:
        is_building: most texts have no vector yet, so that those that have one would crowd out the
            others.
        number: how many times something was missing.
    """

    def __init__(
        self,
        calls: EmbeddingCalls,
        breaker: CircuitBreaker,
        store: EmbeddedTexts,
        space: VectorSpace,
        pictures: Pictures | None,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._calls: Final = calls
        self._breaker: Final = breaker
        self._store: Final = store
        self._space: Final = space
        self._pictures: Final = pictures
        self._on_failure: Final = on_failure
        self._refused: Final[set[str]] = set()
        self.is_building = False
        self.number = 0

    def pending(self) -> int:
        """How many texts and pictures have no vector. Reads the store."""
        space = self._space.known()
        pictures = 0 if self._pictures is None else self._pictures.pending(space)
        return self._store.vector_counts(space)[1] + pictures

    def is_due(self) -> bool:
        """Whether there is something to make that was not refused. Reads the store."""
        space, pictures = self._space.known(), self._pictures
        if self._missing(space, 1):
            return True
        return pictures is not None and bool(pictures.missing(space, 1, self._refused))

    async def run(self, *, alive: bool = False) -> None:
        """Make what is missing, until nothing is or the model may not be asked.

        Args:
            alive: the model has just answered.

        Raises:
            ModelFailed: it is down, or its vectors do not fit together.
        """
        if not await self._fill_texts(alive=alive):
            return
        self.is_building = False
        if self._pictures is not None:
            await self._fill_pictures(self._pictures)

    async def _fill_texts(self, *, alive: bool) -> bool:
        """Whether no text is left; else the model may not be asked now."""
        space, size = await asyncio.to_thread(self._space.known), _BATCH
        looked = asked = False
        while batch := await asyncio.to_thread(self._missing, space, size):
            if not looked:
                await self._begin(space, len(batch))
                looked = True
            if await self._take_kept(space, [key for key, _ in batch]):
                continue
            if not self._breaker.allow():
                return False
            try:
                vectors = await self._calls.unhurried(self._calls.ask([text for _, text in batch]))
            except ModelFailed as error:
                if not alive:
                    raise
                size = await self._refused_by_a_live_model(batch, error)
                continue
            space = self._settled(vectors[0], space if asked else None)
            asked = alive = True
            made = {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
            await asyncio.to_thread(self._store.put_vectors, space, made)
        return True

    async def _begin(self, space: str, found: int) -> None:
        self.number += 1
        if found == _BATCH:
            done, pending = await asyncio.to_thread(self._store.vector_counts, space)
            self.is_building = pending > done

    async def _fill_pictures(self, pictures: Pictures) -> None:
        """Make the vectors of pictures, one after the other: each is up to some megabytes."""
        space = await asyncio.to_thread(self._space.known)
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
                    space = self._settled(vector, self._space.measured)
                    await asyncio.to_thread(self._store.put_vectors, space, {picture.key: vector})

    def _settled(self, vector: Sequence[float], expected: str | None) -> str:
        try:
            return self._space.settle(vector, expected)
        except ModelFailed:
            self._breaker.failed()
            raise

    def _pass_over(self, key: str, error: BaseException) -> None:
        """Do not send an input again until the next start."""
        self._refused.add(key)
        self._on_failure(error)

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
