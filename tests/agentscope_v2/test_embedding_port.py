"""Vectors come back one per input, in order, and belong to a named space."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.credential import CredentialBase
from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse

from agentscope_reme.agentscope_v2 import embedding_port
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock
from tests.agentscope_v2.agents import PIXEL


class Lengths(EmbeddingModelBase[Any]):
    def __init__(self, *, multimodal: bool = False, uneven: bool = False) -> None:
        super().__init__(CredentialBase(), "lengths", 2, None, 100, 2, 0, 0.0)
        self.supports_multimodal = multimodal
        self._uneven = uneven

    async def _call_api(self, inputs: list[Any], **kwargs: Any) -> EmbeddingResponse:
        if "down" in inputs:
            raise ConnectionError("no route")
        sizes = [len(i) if isinstance(i, str) else -1 for i in inputs]
        return EmbeddingResponse(embeddings=[[float(n)] * (1 + n * self._uneven) for n in sizes])


async def test_order_is_kept_across_batches() -> None:
    vectors = await embedding_port(Lengths()).embed(["a", "bb", "ccc", "dddd", "eeeee"])
    assert vectors == [[1.0], [2.0], [3.0], [4.0], [5.0]]


async def test_nothing_is_nothing() -> None:
    assert await embedding_port(Lengths()).embed([]) == []


def test_a_space_is_named_by_class_model_and_width() -> None:
    assert embedding_port(Lengths()).space_id == "Lengths/lengths/2"


async def test_images_need_a_multimodal_model() -> None:
    image = DataBlock(media_type="image/png", data=PIXEL)
    assert await embedding_port(Lengths(multimodal=True)).embed(["a", image]) == [[1.0], [-1.0]]
    with pytest.raises(ModelFailed, match="embeds text only"):
        await embedding_port(Lengths()).embed([image])


async def test_failures_are_model_failures() -> None:
    with pytest.raises(ModelFailed, match="no route"):
        await embedding_port(Lengths()).embed(["down"])
    with pytest.raises(ModelFailed, match="widths"):
        await embedding_port(Lengths(uneven=True)).embed(["a", "bb"])
