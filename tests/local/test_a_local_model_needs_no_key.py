"""A real model inside the process: no key, no server, any language, and nobody waits for it."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme import LocalEmbedding, ReMe, Settings
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock

pytestmark = pytest.mark.local

NOTES = {
    "digest/wiki/sleep.md": "Felines doze for most of the day and hunt at dusk.",
    "digest/wiki/train.md": "The express to Hangzhou leaves at seven from platform two.",
    "digest/wiki/tea.md": "Longjing is pan-fired; steep it below eighty degrees.",
    "digest/personal/allergy.md": "她对花生过敏，聚餐前一定要先问清楚配料。",
    "digest/personal/run.md": "每个周末的早晨他都去湖边慢跑十公里。",
}
QUESTIONS = {
    "how long do kittens nap": "digest/wiki/sleep.md",
    "when is my railway departure": "digest/wiki/train.md",
    "哪些食物她不能吃": "digest/personal/allergy.md",
    "他平时做什么运动": "digest/personal/run.md",
    "which food is dangerous for her": "digest/personal/allergy.md",
}


@pytest.fixture(scope="module")
def model() -> LocalEmbedding:
    return LocalEmbedding()


async def test_passages_are_found_by_meaning_across_languages(
    model: LocalEmbedding, tmp_path: Path
) -> None:
    settings = Settings(watch=False, fsync=False, embedding_deadline_ms=60_000)
    async with ReMe(tmp_path, settings=settings, embedding_model=model) as reme:
        for path, text in NOTES.items():
            await reme.write(path, text)
        assert await reme.drain(60)
        assert (await reme.status()).vectors_pending == 0
        for question, wanted in QUESTIONS.items():
            found = await reme.search(question, limit=1, vector_weight=1.0)
            assert found.hits[0].path == wanted
        assert (await reme.status()).failures == {}


async def test_questions_and_passages_are_marked_apart(model: LocalEmbedding) -> None:
    (passage,) = await model.embed(["green tea"])
    question = await model.embed_query("green tea")
    assert len(passage) == len(question) == 384
    assert np.linalg.norm(passage) == pytest.approx(1, abs=1e-4)
    assert 0.8 < np.dot(passage, question) < 0.9999


async def test_vectors_are_the_same_alone_in_a_batch_and_beside_questions(
    model: LocalEmbedding,
) -> None:
    texts = [f"note number {number} about herons" for number in range(20)]
    alone = [(await model.embed([text]))[0] for text in texts[:3]]
    many, *questions = await asyncio.gather(
        model.embed(texts), *(model.embed_query("where do herons nest") for _ in range(8))
    )
    assert np.allclose(alone, many[:3], atol=1e-5)
    assert np.allclose(questions, questions[0], atol=1e-5)


@pytest.mark.parametrize(
    "text", ["", "a\0b", "lone \ud800 surrogate", "很长的文本" * 200, "\U0001f9a9"]
)
async def test_any_text_has_a_direction(model: LocalEmbedding, text: str) -> None:
    (vector,) = await model.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


async def test_what_stands_behind_a_nul_counts(model: LocalEmbedding) -> None:
    first, second = await model.embed(["heron\0 in the marsh", "heron\0 on the moon"])
    assert not np.allclose(first, second, atol=1e-3)


async def test_images_are_refused(model: LocalEmbedding) -> None:
    with pytest.raises(ModelFailed, match="embeds text only"):
        await model.embed([DataBlock(media_type="image/png", data="AAAA")])


async def test_the_event_loop_and_the_environment_are_left_alone(model: LocalEmbedding) -> None:
    before = dict(os.environ)
    threads: set[str] = set()
    original = model._loaded

    def watched() -> object:
        threads.add(threading.current_thread().name)
        return original()

    model._loaded = watched  # type: ignore[method-assign]
    try:
        await asyncio.gather(model.embed(["heron"]), model.embed_query("heron"))
    finally:
        del model._loaded
    assert {name.rsplit("_", 1)[0] for name in threads} == {
        "reme-local-passages",
        "reme-local-questions",
    }
    assert dict(os.environ) == before


async def test_its_threads_end_with_it() -> None:
    model = LocalEmbedding()
    await model.embed_query("heron")
    mine = [t for t in threading.enumerate() if t.name.startswith("reme-local-questions")]
    del model
    for thread in mine[-1:]:
        await asyncio.to_thread(thread.join, 30)
        assert not thread.is_alive()
