"""An embedding model in the process: equal words are near, and a test may break it."""

from __future__ import annotations

from collections.abc import Sequence

from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock
from tests.loopback.vectors import vector_of


class WordVectors:
    """An `EmbeddingPort` of any name and width.

    Attributes:
        texts: everything it was asked for, in order.
        down: refuses to answer while this is true.
    """

    def __init__(self, width: int = 48, name: str = "words") -> None:
        self.width = width
        self.name = name
        self.texts: list[str] = []
        self.down = False

    @property
    def space_id(self) -> str:
        return self.name

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        if self.down:
            raise ModelFailed(self.name, "it is down", "Start it again.")
        texts = [str(item) for item in inputs]
        self.texts += texts
        return [vector_of(text, self.width) for text in texts]
