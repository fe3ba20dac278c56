"""What the core asks of an embedding model, and what it is glad of beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from agentscope_reme.messages import DataBlock


class EmbeddingPort(Protocol):
    """Turns texts or images into vectors of one space."""

    @property
    def space_id(self) -> str:
        """Names the vector space: provider, model and settings. Vectors of two spaces never mix."""

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per input, in order, all of one width.

        Raises:
            ModelFailed: the provider failed.
        """


@runtime_checkable
class QueryEmbedding(Protocol):
    """What an `EmbeddingPort` can do beside: some models want questions marked as questions.

    For others `EmbeddingPort.embed` makes the vectors of both.
    """

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question, in the space of the passages.

        Raises:
            ModelFailed: the provider failed.
        """


@runtime_checkable
class PreparedEmbedding(Protocol):
    """What an `EmbeddingPort` can do beside: load what its first answer would wait for."""

    async def prepare(self) -> None:
        """Get ready; called once, in the background, before the first question.

        Raises:
            ModelFailed: it cannot.
        """


@runtime_checkable
class ImageEmbedding(Protocol):
    """What an `EmbeddingPort` can say beside: whether it takes pictures as well as texts."""

    @property
    def embeds_images(self) -> bool:
        """Whether `EmbeddingPort.embed` takes images with Base64 data, in the space of texts."""


def embeds_images(model: object) -> bool:
    """Whether an embedding model takes pictures."""
    return isinstance(model, ImageEmbedding) and model.embeds_images


def space_name(provider: str, model: str, dimensions: object, endpoint: object = None) -> str:
    """The `EmbeddingPort.space_id` of a model behind an address.

    Args:
        provider: whose protocol is spoken.
        model: what the provider calls the model.
        dimensions: the width that was asked for, as it was given.
        endpoint: where the provider is reached; equal names elsewhere may be other models.
            ``None`` where the provider itself is meant.
    """
    parts = urlsplit(str(endpoint or ""))
    host = parts.hostname or ""
    if parts.port is not None:
        host = f"{host}:{parts.port}"
    place = f"@{host}{parts.path.rstrip('/')}" if host else ""  # never the user or the query: keys
    return f"{provider}{place}/{model}/{dimensions}"
