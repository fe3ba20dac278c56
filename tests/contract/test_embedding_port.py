"""An embedding port gives one vector per input, or fails in one way; the same on every line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import EmbeddingPort
from tests.contract.parts import IMAGE

Make = Callable[..., EmbeddingPort]
MakeModel = Callable[[Callable[[list[Any]], Any]], Any]


def failing(_: list[Any]) -> Any:
    raise ConnectionError("no route")


async def test_vectors_come_in_order(embedding_port: Make, embedding_model: MakeModel) -> None:
    port = embedding_port(embedding_model(lambda texts: [[float(len(t)), 1.0] for t in texts]))
    assert await port.embed(["a", "bb", "ccc"]) == [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    assert await port.embed([]) == []
    assert port.space_id.endswith("/m/2")


@pytest.mark.parametrize(
    "answer",
    [
        failing,
        lambda texts: [[1.0, 2.0]] * (len(texts) - 1),
        lambda _: [[1.0], [1.0, 2.0]],
        lambda texts: [[]] * len(texts),
        lambda texts: [[float("nan"), 1.0]] * len(texts),
        lambda texts: [[float("inf"), 1.0]] * len(texts),
        lambda texts: [None] * len(texts),
        lambda texts: [["one", "two"]] * len(texts),
        lambda texts: [[None, None]] * len(texts),
        lambda _: None,
        lambda _: 5,
    ],
    ids=["raises", "few", "uneven", "empty", "nan", "inf", "none", "words", "gaps", "null", "5"],
)
async def test_everything_else_is_a_failed_model(
    embedding_port: Make, embedding_model: MakeModel, answer: Callable[[list[Any]], Any]
) -> None:
    with pytest.raises(ModelFailed):
        await embedding_port(embedding_model(answer)).embed(["a", "bb"])


async def test_a_model_of_texts_refuses_images(
    embedding_port: Make, embedding_model: MakeModel
) -> None:
    with pytest.raises(ModelFailed, match=r"image/png|embeds text only"):
        await embedding_port(embedding_model(lambda _: [[1.0, 1.0]])).embed([IMAGE])
