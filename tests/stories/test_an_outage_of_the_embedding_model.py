"""While the embedding model is down search answers from keywords; afterwards nothing is missing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dashscope
import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.ports import EmbeddingPort
from agentscope_reme.testing import FakeClock
from tests.loopback.server import LoopbackProvider
from tests.stories.test_search_by_meaning_is_a_bonus import embedding_model


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as server:
        yield server


async def test_a_search_during_an_outage_never_waits_and_it_is_said_once(
    open_memory: Callable[..., ReMe],
    provider: LoopbackProvider,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        assert await reme.drain()
        provider.embed(status=500)
        assert (await reme.search("heron")).counts.vector == 0  # the search that notices it
        for pause in (31, 61, 121):
            clock.advance(pause)
            back = threading.Event()
            provider.embed(status=500, delay_until=back)  # a provider that does not even answer
            for _ in range(3):
                assert (await reme.search("heron")).hits[0].path == "digest/wiki/a.md"
            back.set()
            assert await reme.drain()
        assert (await reme.status()).failures == {"embedding": 4}
    said = [r for r in caplog.records if r.name == "agentscope_reme" and r.levelno >= 30]
    assert len(said) == 1
    assert said[0].levelno == logging.WARNING


async def test_a_try_in_the_background_ends_the_outage_and_fills_the_gaps(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider, clock: FakeClock
) -> None:
    provider.embed(status=500)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()
        await reme.write("digest/wiki/b.md", "egret")
        await reme.drain()
        assert (await reme.status()).vectors_pending == 2
        clock.advance(31)
        assert (await reme.search("heron")).counts.vector == 0
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        assert (await reme.search("heron")).counts.vector == 2


async def test_pauses_grow_and_a_success_makes_them_short_again(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider, clock: FakeClock
) -> None:
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.drain()

        async def tries_after(seconds: float, **answer: Any) -> int:
            before = len(provider.requests)
            clock.advance(seconds)
            if answer:
                provider.embed(**answer)
            await reme.search("heron")
            await reme.drain()
            return len(provider.requests) - before

        assert await tries_after(0, status=500) == 1
        assert await tries_after(31, status=500) == 1
        assert await tries_after(31) == 0  # now it is left alone for a minute
        assert await tries_after(31, status=500) == 1
        assert await tries_after(61) == 0
        assert await tries_after(61) == 1  # it is back
        assert await tries_after(0, status=500) == 1
        assert await tries_after(31) == 1


async def test_writing_and_searching_go_on_while_the_provider_thinks(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider
) -> None:
    """No lock of the store is held while a model is asked."""
    thought = threading.Event()
    provider.embed(delay_until=thought)
    async with open_memory(embedding_model=embedding_model(provider)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        while not provider.requests:
            await asyncio.to_thread(thought.wait, 0.01)
        await reme.write("digest/wiki/b.md", "egret")
        assert [hit.path for hit in (await reme.search("egret")).hits] == ["digest/wiki/b.md"]
        await reme.delete("digest/wiki/b.md")
        assert (await reme.search("egret")).hits == []
        assert (await reme.status()).vectors_pending == 1
        thought.set()
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0


async def test_dashscope_does_not_hold_up_the_event_loop(
    provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its SDK waits without yielding, on AgentScope 1.x and on the first releases of 2.x."""
    monkeypatch.setattr(dashscope, "base_http_api_url", provider.dashscope_url)
    thought = threading.Event()
    provider.embed([[1.0] * 4], delay_until=thought)
    asked = asyncio.create_task(_dashscope().embed(["heron"]))
    while not provider.requests:
        await asyncio.to_thread(thought.wait, 0.01)
    assert not asked.done()
    thought.set()
    assert await asked == [[1.0] * 4]


def _dashscope() -> EmbeddingPort:
    if installed_line() == 1:
        from agentscope.embedding import DashScopeTextEmbedding

        from agentscope_reme.agentscope_v1 import embedding_port as first

        return first(DashScopeTextEmbedding("k", "text-embedding-v4", dimensions=4))
    from agentscope.credential import DashScopeCredential
    from agentscope.embedding import DashScopeEmbeddingModel

    from agentscope_reme.agentscope_v2 import embedding_port as second

    credential = DashScopeCredential(api_key="k")
    return second(DashScopeEmbeddingModel(credential, "text-embedding-v4", 4))
