"""The same memory with its vectors in Chroma: what ``auto`` means where it is installed."""

from __future__ import annotations

import json

import pytest

from tests.copaw.conftest import Open
from tests.loopback.server import LoopbackProvider

pytestmark = pytest.mark.chroma


@pytest.mark.parametrize("backend", ["auto", "chroma"])
async def test_what_is_written_is_found_by_meaning_after_a_restart(
    monkeypatch: pytest.MonkeyPatch, provider: LoopbackProvider, open_copaw: Open, backend: str
) -> None:
    monkeypatch.setenv("MEMORY_STORE_BACKEND", backend)
    monkeypatch.setenv("EMBEDDING_MODEL_NAME", "m")
    monkeypatch.setenv("EMBEDDING_BASE_URL", provider.openai_url)
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "8")
    async with open_copaw() as copaw:
        await copaw._memory.write("memory/a.md", "tea with milk")
        await copaw._memory.drain()
        assert f"Store: chroma ({backend})." in (await copaw.status()).notices
    asked = len(provider.requests)
    async with open_copaw() as copaw:
        await copaw._memory.drain()
        assert len(provider.requests) == asked
        (row,) = json.loads((await copaw.memory_search("tea", min_score=0)).content[0]["text"])
        assert set(row["metadata"]) >= {"keyword", "vector"}
        assert (copaw.working_path / "metadata" / "chroma").is_dir()
