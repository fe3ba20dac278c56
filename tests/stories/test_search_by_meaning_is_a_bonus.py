"""Vectors add to keyword search; when they are missing, late or down, nothing else suffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from tests.loopback.server import LoopbackProvider

WIDTH = 8


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as server:
        yield server


def embedding_model(provider: LoopbackProvider) -> Any:
    """AgentScope's own OpenAI-compatible embedding class, over a real socket."""
    if installed_line() == 1:
        from agentscope.embedding import OpenAITextEmbedding

        return OpenAITextEmbedding(
            "k", "small", dimensions=WIDTH, base_url=provider.openai_url, max_retries=0
        )
    from agentscope.credential import OpenAICredential
    from agentscope.embedding import OpenAIEmbeddingModel

    credential = OpenAICredential(api_key="k", base_url=provider.openai_url)
    return OpenAIEmbeddingModel(credential, "small", WIDTH, max_retries=0)


def unit(axis: int) -> list[float]:
    return [1.0 if index == axis else 0.0 for index in range(WIDTH)]


async def test_a_passage_is_found_by_meaning_alone(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed([unit(3)])
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/cat.md", "Felines sleep most of the day.")
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        provider.embed([unit(3)])
        found = await reme.search("how long does a kitten nap")
    assert found.hits[0].path == "digest/wiki/cat.md"
    assert found.hits[0].scores == {"vector": pytest.approx(1.0)}
    assert (found.counts.keyword, found.counts.vector, found.counts.hybrid) == (0, 1, False)


async def test_both_branches_are_fused_and_show_why(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed([unit(0)])
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        provider.embed([unit(1)])
        await reme.write("digest/wiki/b.md", "egret")
        await reme.drain()
        provider.embed([unit(1)])
        found = await reme.search("heron", fusion="rrf")
        provider.embed([unit(1)])
        by_score = await reme.search("heron")
    assert [hit.path for hit in found.hits] == ["digest/wiki/a.md", "digest/wiki/b.md"]
    assert found.counts.hybrid
    assert found.hits[0].ranks == {"keyword": 1, "vector": 2}
    assert found.hits[0].score == pytest.approx(0.3 / 61 + 0.7 / 62)
    assert found.hits[1].score == pytest.approx(0.7 / 61)
    assert [hit.parts for hit in by_score.hits] == [
        {"keyword": pytest.approx(0.7), "vector": pytest.approx(0.0)},
        {"vector": pytest.approx(0.3)},
    ]
    assert "keyword=" in found.answer
    assert "vector=" in found.answer


async def test_an_outage_answers_from_keywords_at_once_and_is_not_asked_again(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed(status=500)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        assert (await reme.status()).vectors_pending == 1
        for _ in range(3):
            assert (await reme.search("heron")).hits[0].path == "digest/wiki/a.md"
        assert len(provider.requests) == 1  # the run that fills in vectors; then it is left alone
        assert (await reme.status()).failures == {"embedding": 1}
        reme.clock.advance(31)  # type: ignore[attr-defined]  # a FakeClock
        provider.embed(status=500)
        assert (await reme.search("heron")).counts.returned == 1
        assert await reme.drain()  # one try in the background; the search did not wait for it
        assert (await reme.search("heron")).counts.returned == 1
        assert len(provider.requests) == 2
        assert (await reme.status()).failures == {"embedding": 2}


async def test_missing_vectors_are_filled_in_when_the_model_is_back(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    async with open_memory() as reme:
        await reme.write("digest/wiki/a.md", "heron")
    provider.embed([unit(2)])
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.drain()
        assert (await reme.status()).vectors_pending == 0


async def test_renaming_and_tagging_embed_nothing_again(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed([unit(2)])
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        await reme.frontmatter_update("digest/wiki/a.md", {"memory_tags": ["birds"]})
        await reme.move("digest/wiki/a.md", "digest/personal/b.md")
        await reme.drain()
        assert len(provider.requests) == 1
        assert (await reme.status()).vectors_pending == 0
