"""A search that had to do without the embedding model says so: always in a field, once in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agentscope_reme import ReMe
from agentscope_reme.testing import FakeClock
from tests.loopback.server import LoopbackProvider
from tests.stories.test_search_by_meaning_is_a_bonus import embedding_model

SAID = {"en": "Found by keywords only", "zh": "仅按关键词查找"}


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as server:
        yield server


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_outage_is_said_once_to_who_searches_and_once_in_a_prompt(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider, clock: FakeClock, language: str
) -> None:
    model = embedding_model(provider)
    async with open_memory(embedding_model=model, language=language) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        assert await reme.drain()
        whole = await reme.search("heron")
        assert (whole.keywords_only, whole.notice) == (False, "")
        for _ in range(2):  # two outages
            provider.embed(status=500)
            first, second = await reme.search("heron"), await reme.search("heron")
            assert first.keywords_only
            assert second.keywords_only
            assert SAID[language] in first.notice
            assert first.answer.startswith(first.notice)
            assert second.notice == ""
            assert SAID[language] not in second.answer
            packs = [await reme.recall("heron") for _ in range(2)]
            assert [SAID[language] in pack.answer for pack in packs] == [True, False]
            assert all(pack.keywords_only and "heron" in pack.answer for pack in packs)
            clock.advance(31)
            await reme.search("heron")  # lets the background try
            assert await reme.drain()
            assert not (await reme.search("heron")).keywords_only


async def test_an_agents_tool_says_it_too(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed(status=500)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        (tool,) = reme.tools(include=["memory_search"])
        told = [(await tool.call({"query": query})).text for query in ("egret", "heron")]
    assert told[0].startswith(SAID["en"])
    assert "Nothing in memory matches" in told[0]
    assert SAID["en"] not in told[1]


async def test_who_wants_no_vectors_is_told_nothing(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed(status=500)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        found = await reme.search("heron", vector_weight=0)
        assert (found.keywords_only, found.notice) == (False, "")
    async with open_memory() as reme:
        assert not (await reme.search("heron")).keywords_only


async def test_a_small_pack_keeps_its_room_for_what_is_remembered(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    provider.embed(status=500)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        pack = await reme.recall("heron", budget_tokens=80)
        assert "heron" in pack.answer
        assert SAID["en"] in pack.notice
        assert SAID["en"] not in pack.answer


async def test_a_prompt_without_room_for_it_leaves_it_to_the_next(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        assert await reme.drain()
        provider.embed(status=500)
        assert (await reme.recall("bicycle")).answer == ""  # nothing to say it in front of
        small = await reme.recall("heron", budget_tokens=60)
        assert "heron" in small.answer
        assert SAID["en"] not in small.answer
        packs = [await reme.recall("heron") for _ in range(2)]
        assert [SAID["en"] in pack.answer for pack in packs] == [True, False]
        assert [bool(pack.notice) for pack in packs] == [True, False]
