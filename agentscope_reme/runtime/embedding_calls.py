"""Single calls of an embedding model: checked answers, and what a failure means."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from agentscope_reme.errors import ModelFailed, ReMeError
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import EmbeddingPort, QueryEmbedding
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker

T = TypeVar("T")

AbsenceKind = Literal["outage", "filling", "loading"]

HARMLESS: Final = "tea"
"""A text no model has a reason to refuse."""

_REMEDY: Final = "Check the embedding model."
_BATCH_SECONDS: Final = 120.0
"""For one batch nobody waits for: a provider that hangs must not hold the others back for ever."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a query has no vector; each outage and each filling has a number of its own."""

    kind: AbsenceKind
    number: int = 0


class EmbeddingCalls:
    """Asks one model.

    Args:
        model: the model.
        breaker: hears how calls end that nobody waits for.
    """

    def __init__(self, model: EmbeddingPort, breaker: CircuitBreaker) -> None:
        self._model: Final = model
        self._breaker: Final = breaker

    async def ask(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per input, in order.

        Raises:
            ModelFailed: the model failed, or what it answered are no such vectors.
        """
        return _checked(await _answered(self._model.embed(inputs)), len(inputs))

    async def ask_query(self, query: str | DataBlock) -> list[float]:
        """The vector of a question, or of a picture something is searched by.

        Raises:
            ModelFailed: as for `ask`.
        """
        if isinstance(query, str) and isinstance(self._model, QueryEmbedding):
            return _checked([await _answered(self._model.embed_query(query))], 1)[0]
        return (await self.ask([query]))[0]

    async def unhurried(self, call: Awaitable[T]) -> T:
        """What a call nobody waits for answers; its outcome goes to the breaker, and it ends.

        Raises:
            ModelFailed: as for `ask`.
            TimeoutError: it did not answer at all.
        """
        try:
            async with asyncio.timeout(_BATCH_SECONDS):
                made = await call
        except (ModelFailed, TimeoutError):
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return made

    async def prove_alive(self) -> None:
        """Find out whether the model answers at all, so that it was an input that was at fault.

        Raises:
            ModelFailed: it does not.
            TimeoutError: neither does it fail.
        """
        await self.unhurried(self.ask_query(HARMLESS))


async def _answered(call: Awaitable[T]) -> T:
    """What a model answers.

    Raises:
        ModelFailed: for whatever it raises that is none of our errors.
    """
    try:
        return await call
    except ReMeError:
        raise
    except Exception as error:  # an edge: a model of the host's own raises what it likes
        raise ModelFailed(type(error).__name__, str(error) or "it failed", _REMEDY) from error


def _checked(vectors: list[list[float]], count: int) -> list[list[float]]:
    """Vectors that can be kept and compared.

    Raises:
        ModelFailed: they are not so many, not of one width, or no numbers.
    """
    try:
        fits = len(vectors) == count and len({len(vector) for vector in vectors}) == 1
        finite = all(0 < math.hypot(*vector) < math.inf for vector in vectors)
    except (TypeError, ValueError, OverflowError) as error:  # whatever a model calls a vector
        raise ModelFailed(
            str(error), "what it answered are no lists of numbers", _REMEDY
        ) from error
    if not fits:
        raise ModelFailed(len(vectors), f"{count} vectors of one width were asked for", _REMEDY)
    if not finite:
        raise ModelFailed(count, "a vector of this batch has no direction", _REMEDY)
    return vectors
