"""Vectors come back one for each input, whatever the class behind the port."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest
from agentscope.embedding import (
    DashScopeTextEmbedding,
    EmbeddingModelBase,
    EmbeddingResponse,
)

from agentscope_reme.agentscope_v1 import embedding_port
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock
from tests.agentscope_v1.list_memory import PIXEL


class TooMany(Exception):
    status_code = 400


class TextModel(EmbeddingModelBase):
    """Embeds a text as its length; refuses more than `most` texts at once."""

    supported_modalities: ClassVar = ["text"]

    def __init__(self, most: int = 1000, width: int = 2) -> None:
        super().__init__("lengths", width)
        self.most = most
        self.batches: list[int] = []

    async def __call__(self, text: list[str], **_: Any) -> EmbeddingResponse:
        self.batches.append(len(text))
        if len(text) > self.most:
            raise TooMany("batch size is invalid")
        return EmbeddingResponse(embeddings=[[float(len(t)), 1.0] for t in text])


class PictureModel(EmbeddingModelBase):
    supported_modalities: ClassVar = ["text", "image"]

    def __init__(self) -> None:
        super().__init__("pictures", 1)
        self.inputs: list[Any] = []

    async def __call__(self, inputs: list[dict[str, Any]], **_: Any) -> EmbeddingResponse:
        self.inputs.extend(inputs)
        return EmbeddingResponse(embeddings=[[1.0] for _ in inputs])


async def test_order_is_kept_over_batches() -> None:
    model = TextModel()
    texts = ["x" * n for n in range(1, 131)]

    vectors = await embedding_port(model).embed(texts)

    assert [vector[0] for vector in vectors] == list(range(1, 131))
    assert model.batches == [64, 64, 2]


async def test_a_batch_that_is_too_long_is_halved_and_the_size_remembered() -> None:
    model = TextModel(most=10)
    port = embedding_port(model)

    vectors = await port.embed(["x" * n for n in range(1, 25)])

    assert [vector[0] for vector in vectors] == list(range(1, 25))
    assert model.batches == [24, 12, 6, 6, 6, 6]


async def test_a_text_that_is_refused_alone_is_a_failure() -> None:
    with pytest.raises(ModelFailed, match="batch size is invalid"):
        await embedding_port(TextModel(most=0)).embed(["a", "b"])


async def test_nothing_to_embed_asks_nothing() -> None:
    model = TextModel()

    assert await embedding_port(model).embed([]) == []
    assert model.batches == []


async def test_images_go_to_a_multimodal_model_as_blocks() -> None:
    model = PictureModel()
    image = DataBlock(media_type="image/png", data=PIXEL)

    assert await embedding_port(model).embed(["a cat", image]) == [[1.0], [1.0]]
    assert model.inputs == [
        {"type": "text", "text": "a cat"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
        },
    ]


@pytest.mark.parametrize(
    ("model", "image"),
    [
        (TextModel(), DataBlock(media_type="image/png", data=PIXEL)),
        (PictureModel(), DataBlock(media_type="image/png", url="file:///etc/shadow.png")),
    ],
    ids=["text model", "local file"],
)
async def test_what_cannot_be_embedded_is_refused(
    model: EmbeddingModelBase, image: DataBlock
) -> None:
    with pytest.raises(ModelFailed, match="cannot embed image/png"):
        await embedding_port(model).embed([image])


@pytest.mark.parametrize(
    "answer", [[], [[1.0], [1.0]], [[float("nan")]], [[]]], ids=["none", "two", "nan", "empty"]
)
async def test_vectors_that_do_not_match_the_inputs_are_a_failure(
    answer: list[list[float]],
) -> None:
    class Wrong(TextModel):
        async def __call__(self, text: list[str], **_: Any) -> EmbeddingResponse:
            return EmbeddingResponse(embeddings=answer)

    with pytest.raises(ModelFailed):
        await embedding_port(Wrong()).embed(["a"])


async def test_vectors_of_two_widths_are_a_failure() -> None:
    class Uneven(TextModel):
        async def __call__(self, text: list[str], **_: Any) -> EmbeddingResponse:
            return EmbeddingResponse(embeddings=[[1.0] * len(t) for t in text])

    with pytest.raises(ModelFailed, match="differ in width"):
        await embedding_port(Uneven()).embed(["a", "bb"])


async def test_a_blocking_class_runs_in_a_thread() -> None:
    class Recorder(DashScopeTextEmbedding):
        async def __call__(self, text: list[str], **_: Any) -> EmbeddingResponse:
            threads.append(threading.current_thread())
            return EmbeddingResponse(embeddings=[[1.0] for _ in text])

    threads: list[threading.Thread] = []

    await embedding_port(Recorder("k", "text-embedding-v4")).embed(["a"])

    assert threads[0] is not threading.main_thread()


def test_the_space_is_named_after_class_model_and_width() -> None:
    assert embedding_port(TextModel(width=2)).space_id == "TextModel/lengths/2"
    assert embedding_port(TextModel(width=3)).space_id != embedding_port(TextModel()).space_id
