"""The same memory over every store that needs no server, named by a configuration."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from agentscope_reme.testing import Script
from tests.typed.conftest import Open
from tests.typed.models import WordVectors
from tests.typed.talks import COFFEE, decisions, drafts

STORES: list[Any] = ["local", "qdrant"]
if find_spec("chromadb"):
    STORES.append(pytest.param("chroma", marks=pytest.mark.chroma))

UPDATE = {"action": "update", "old": 1, "content": "Alice drinks green tea now.", "score": 0.9}


@pytest.mark.parametrize("backend", STORES)
async def test_a_life_in_a_store(open_memory: Open, backend: str) -> None:
    store = {"default_vector_store_config": {"backend": backend}}
    script = Script([drafts("Alice drinks tea.", profile={"drink": "tea"}), decisions(UPDATE)])
    async with open_memory(script, **store) as reme:
        known = await reme.add_memory("Alice drinks coffee.", "alice", rank=2)
        other = await reme.add_memory("Alice drinks coffee.", "bob")
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert (done["success"], len(done["nodes"])) == (True, 2)
    async with open_memory(**store) as reme:
        [fact] = await reme.list_memory(
            "alice", filters={"rank": [1, 2], "memory_type": "personal"}
        )
        assert (fact.memory_id, fact.content) == (known.memory_id, "Alice drinks green tea now.")
        assert await reme.list_memory("bob") == [other]
        found = await reme.retrieve_memory("green tea on 2026-02-28", user_name="alice")
        assert fact.memory_id in found
        assert other.memory_id not in found
        again = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert (again["messages"], again["pending"]) == ([], 0)
        assert (await reme.get_memory(fact.ref_memory_id)).memory_type == "history"
    async with open_memory(**store, embedding_model=WordVectors(96)) as reme:
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        assert fact.memory_id in await reme.retrieve_memory("green tea", user_name="alice")
        await reme.delete_memory(fact.memory_id)
        assert await reme.list_memory("alice") == []
        assert await reme.delete_all() == 3
