"""`EmbeddingPort` over the embedding models of AgentScope 1.x.

They have no common call signature, two block the event loop inside ``async def``, and none says
how many inputs it takes at once; all of that is settled here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final

from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse

from agentscope_reme.agentscope_v1.messages import from_neutral
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message
from agentscope_reme.ports import space_name

_LARGEST_BATCH: Final = 64
_TOO_MANY: Final = (400, 413, 422)  # providers refuse an over-long batch with one of these
_BLOCKING: Final = frozenset(
    {"DashScopeTextEmbedding", "DashScopeMultiModalEmbedding", "GeminiTextEmbedding"}
)
"""Classes whose ``__call__`` waits for the network without yielding to the event loop."""


class ModelEmbeddings:
    """Vectors from a 1.x embedding model.

    Args:
        model: any of AgentScope's classes, or a subclass of `EmbeddingModelBase`.
    """

    def __init__(self, model: EmbeddingModelBase) -> None:
        self._model = model
        self._multimodal = "image" in getattr(model, "supported_modalities", ())
        self._blocking = any(cls.__name__ in _BLOCKING for cls in type(model).__mro__)
        self._batch = _LARGEST_BATCH

    @property
    def space_id(self) -> str:
        """Class, address, model and requested width: what decides which vectors compare."""
        model = self._model
        address = getattr(getattr(model, "client", None), "base_url", None)
        return space_name(type(model).__name__, model.model_name, model.dimensions, address)

    @property
    def embeds_images(self) -> bool:
        """Whether the model's class says that it takes images."""
        return self._multimodal

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per input, in order.

        A batch the provider finds too long is halved until it fits; the size that fits is
        remembered.

        Raises:
            ModelFailed: the provider failed, an input is of a kind the model does not take, or the
                vectors do not match the inputs.
        """
        given = [self._input(item) for item in inputs]
        vectors: list[list[float]] = []
        while len(vectors) < len(given):
            batch = given[len(vectors) : len(vectors) + self._batch]
            try:
                vectors.extend(await self._call(batch))
            except _BatchRefused as refusal:
                if len(batch) == 1:
                    raise refusal.failure from refusal
                self._batch = len(batch) // 2
        if len({len(vector) for vector in vectors}) > 1:
            raise self._failed("the vectors differ in width", "Use a model with a fixed width.")
        return vectors

    def _input(self, item: str | DataBlock) -> Any:
        if isinstance(item, str):
            return {"type": "text", "text": item} if self._multimodal else item
        travels = item.data or (item.url or "").startswith(("http://", "https://"))
        if not self._multimodal or not travels:
            raise self._failed(
                f"it cannot embed {item.media_type}", "Embed text, or use a multimodal model."
            )
        return from_neutral(Message(role="user", name="user", blocks=(item,))).content[0]

    async def _call(self, batch: list[Any]) -> list[list[float]]:
        try:
            if self._blocking:
                # A loop of its own in a thread: the SDK behind it waits synchronously.
                response = await asyncio.to_thread(lambda: asyncio.run(self._respond(batch)))
            else:
                response = await self._respond(batch)
        except Exception as error:  # every provider client has its own errors
            failure = self._failed(
                f"the call failed with {type(error).__name__}: {error!s:.500}",
                "Check its address, key and quota; search works by keywords meanwhile.",
            )
            if _says_too_many(error):
                raise _BatchRefused(failure) from error
            raise failure from error
        return self._checked(getattr(response, "embeddings", None), len(batch))

    async def _respond(self, batch: list[Any]) -> EmbeddingResponse:
        return await self._model(batch)

    def _checked(self, vectors: Any, expected: int) -> list[list[float]]:
        if not isinstance(vectors, Sequence):
            raise self._failed(f"it returned {vectors!r:.100}, not vectors", "Check the model.")
        if len(vectors) != expected:
            raise self._failed(
                f"it returned {len(vectors)} vectors for {expected} inputs", "Try it again."
            )
        try:
            made = [[float(number) for number in vector] for vector in vectors]
        except (TypeError, ValueError, OverflowError) as error:
            raise self._failed(
                f"it returned something else than vectors: {error!s:.200}", "Check the model."
            ) from error
        if not all(vector and all(map(math.isfinite, vector)) for vector in made):
            raise self._failed("it returned a vector that is empty or not finite", "Try it again.")
        return made

    def _failed(self, reason: str, remedy: str) -> ModelFailed:
        return ModelFailed(self._model.model_name, reason, remedy)


class _BatchRefused(Exception):
    def __init__(self, failure: ModelFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


def _says_too_many(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    # The DashScope classes put the provider's answer, status included, into a RuntimeError.
    return status in _TOO_MANY or (
        isinstance(error, RuntimeError) and '"status_code": 400' in str(error)
    )
