"""A change of the model, or of its width, re-embeds in the background and never mixes vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from agentscope_reme.messages import DataBlock
from tests.typed.conftest import Open
from tests.typed.models import WordVectors, vector_of


class Held(WordVectors):
    """Answers queries, but no batches, until it is let go."""

    def __init__(self) -> None:
        super().__init__(96, "other")
        self.let_go = asyncio.Event()

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        if len(inputs) > 1:
            await self.let_go.wait()
        return await super().embed(inputs)


async def fill(open_memory: Open, count: int = 5) -> list[str]:
    async with open_memory() as reme:
        made = [await reme.add_memory(f"fact{n} about tea", "alice") for n in range(count)]
        assert (await reme.status()).vectors_pending == 0
    return [node.memory_id for node in made]


async def test_a_wider_model_makes_every_vector_anew(open_memory: Open) -> None:
    ids = await fill(open_memory)
    wider = WordVectors(96)
    async with open_memory(embedding_model=wider) as reme:
        assert "fact3" in await reme.retrieve_memory("fact3", user_name="alice", retrieve_top_k=1)
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        assert {f"fact{n} about tea" for n in range(5)} <= set(wider.texts)
        found = await reme.retrieve_memory(
            "fact4", user_name="alice", retrieve_top_k=1, return_dict=True
        )
        assert [node.memory_id for node in found["retrieved_nodes"]] == [ids[4]]


async def test_meanwhile_memories_are_found_by_what_is_there(open_memory: Open) -> None:
    ids = await fill(open_memory)
    slow = Held()
    async with open_memory(embedding_model=slow) as reme:
        for number, memory_id in enumerate(ids):
            found = await reme.retrieve_memory(
                f"fact{number}", user_name="alice", retrieve_top_k=1, return_dict=True
            )
            assert [node.memory_id for node in found["retrieved_nodes"]] == [memory_id]
        assert (await reme.status()).vectors_pending == 5
        told = await reme.retrieve_memory("automobiles", user_name="bob")
        assert "compared by their words alone" not in told  # what waits is not about bob
        slow.let_go.set()
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0


async def test_what_was_embedded_is_not_embedded_again(
    open_memory: Open, vectors: WordVectors
) -> None:
    await fill(open_memory)
    asked = len(vectors.texts)
    async with open_memory() as reme:
        assert await reme.drain()
        assert len(vectors.texts) == asked
        [node, *_] = await reme.list_memory("alice")
        await reme.update_memory(node.memory_id, "alice", score=1.0)
        await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        assert len(vectors.texts) == asked


async def test_what_another_process_stored_without_a_vector_gets_one(open_memory: Open) -> None:
    async with open_memory() as reme, open_memory(embedding_model=None) as wordless:
        await reme.add_memory("elephants", "alice")
        node = await wordless.add_memory("zebras", "alice")
        assert node.memory_id in await reme.retrieve_memory("zebras", user_name="alice")
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0


async def test_what_gets_its_vector_between_two_looks_of_a_search_is_found(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_memory() as reme, open_memory(embedding_model=None) as wordless:
        await reme.add_memory("elephants", "alice")
        node = await wordless.add_memory("zebras", "alice")
        store = reme._memory.parts.index.store
        [space] = store.spaces()
        looks = []

        def filled_after(name: str) -> None:
            look = getattr(store, name)

            def first_look(*args: Any, **options: Any) -> Any:
                found = look(*args, **options)
                if not looks:
                    vector = np.array(vector_of("zebras", 48), np.float32)
                    store.put_vectors(space, {node.memory_id: ("zebras", vector)})
                looks.append(name)
                return found

            monkeypatch.setattr(store, name, first_look)

        filled_after("search")
        filled_after("missing_vectors")
        assert node.memory_id in await reme.retrieve_memory("zebras", user_name="alice")
        assert {"search", "missing_vectors"} <= set(looks)


async def test_many_memories_are_found_by_their_words_while_a_new_space_is_filled(
    open_memory: Open,
) -> None:
    ids = await fill(open_memory, 70)
    slow = Held()
    async with open_memory(embedding_model=slow) as reme:
        for _ in range(3):  # the first look may come before the filling has begun
            found = await reme.retrieve_memory(
                "fact66", user_name="alice", retrieve_top_k=1, return_dict=True
            )
            assert [node.memory_id for node in found["retrieved_nodes"]] == [ids[66]]
        added = await reme.add_memory("zebras too", "alice")
        assert added.memory_id in await reme.retrieve_memory("zebras", user_name="alice")
        slow.let_go.set()
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        assert added.memory_id in await reme.retrieve_memory("zebras", user_name="alice")


async def test_two_openers_of_one_store_see_what_the_other_wrote(open_memory: Open) -> None:
    async with open_memory() as first, open_memory() as second:
        node = await first.add_memory("zebras", "alice")
        assert node.memory_id in await second.retrieve_memory("zebras", user_name="alice")
        await second.update_memory(node.memory_id, "alice", memory_content="giraffes")
        assert "giraffes" in await first.retrieve_memory("giraffes", user_name="alice")
        await first.delete_memory(node.memory_id)
        assert await second.list_memory("alice") == []
