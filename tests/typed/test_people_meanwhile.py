"""While a model reads, people go on: their changes stand, and their replies do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

from agentscope_reme import Settings
from agentscope_reme.errors import Closed, NotFound
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import Request, Script
from tests.typed.conftest import Open
from tests.typed.models import WordVectors
from tests.typed.talks import ADD, COFFEE, DEPLOY, decisions, drafts

UPDATE = {"action": "update", "old": 1, "content": "by the model", "score": 0.9}


async def test_a_change_by_hand_is_not_overwritten(open_memory: Open) -> None:
    async def change(_: Request) -> dict[str, Any]:
        await reme.update_memory(known.memory_id, "alice", memory_content="by hand")
        return decisions(UPDATE)

    async with open_memory(Script([drafts("Alice drinks tea."), change])) as reme:
        known = await reme.add_memory("Alice drinks coffee.", "alice")
        await reme.summarize_memory(COFFEE, user_name="alice")
        told = {node.content for node in await reme.list_memory("alice")}
        assert told == {"by hand", "Alice drinks tea."}


async def test_a_memory_that_was_deleted_is_not_brought_back(open_memory: Open) -> None:
    async def delete(_: Request) -> dict[str, Any]:
        await reme.delete_memory(known.memory_id)
        return decisions(UPDATE)

    async with open_memory(Script([drafts("Alice drinks tea."), delete])) as reme:
        known = await reme.add_memory("Alice drinks coffee.", "alice")
        await reme.summarize_memory(COFFEE, user_name="alice")
        assert [n.content for n in await reme.list_memory("alice")] == ["Alice drinks tea."]


async def test_of_a_conversation_that_was_deleted_nothing_is_learnt(open_memory: Open) -> None:
    async def delete(_: Request) -> dict[str, Any]:
        await reme.delete_all()
        return drafts("Alice drinks tea.", profile={"drink": "tea"})

    async with open_memory(Script([delete])) as reme:
        assert await reme.summarize_memory(COFFEE, user_name="alice") == []
        assert set((await reme.status()).details["nodes"].values()) == {0}


async def test_a_failure_does_not_bring_a_deleted_conversation_back(open_memory: Open) -> None:
    async def delete(_: Request) -> dict[str, Any]:
        await reme.delete_all()
        raise RuntimeError("down")

    async with open_memory(Script([delete])) as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
        assert (await reme.status()).details["nodes"]["history"] == 0


async def test_a_conversation_is_kept_while_another_one_is_read(open_memory: Open) -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def think(_: Request) -> dict[str, Any]:
        asked.set()
        await let_go.wait()
        return drafts("first")

    async with open_memory([think, drafts("second"), decisions(ADD)]) as reme:
        slow = asyncio.create_task(reme.summarize_memory(COFFEE, user_name="alice"))
        await asked.wait()
        summarize = reme.tools(user_name="alice", include=["summarize_memory"])[0]
        kept = await summarize.call({"facts": ["a note"]})  # as a reply does it
        assert kept.text == "Saved."
        histories = await reme.list_memory("alice", filters={"memory_type": "history"})
        assert len(histories) == 2
        let_go.set()
        await slow
        assert await reme.drain()
        assert {n.content for n in await reme.list_memory("alice")} == {"first", "second"}


async def test_targets_do_not_wait_for_each_other(open_memory: Open) -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def think(_: Request) -> dict[str, Any]:
        asked.set()
        await let_go.wait()
        return drafts("of alice")

    async with open_memory([think, drafts("of bob")]) as reme:
        slow = asyncio.create_task(reme.summarize_memory(COFFEE, user_name="alice"))
        await asked.wait()
        [fact] = await reme.summarize_memory(DEPLOY, user_name="bob")
        assert fact.content == "of bob"
        let_go.set()
        await slow


async def test_closing_leaves_what_is_not_read_to_the_next_process(open_memory: Open) -> None:

    asked = asyncio.Event()

    async def think(_: Request) -> dict[str, Any]:
        asked.set()
        await asyncio.Event().wait()
        return drafts()

    impatient = Settings(fsync=False, close_drain_seconds=0.05)
    reme = open_memory([think], settings=impatient)
    summarize = reme.tools(user_name="alice", include=["summarize_memory"])[0]
    await summarize.call({"facts": ["Alice drinks tea."]})
    await asked.wait()
    await reme.close()
    async with open_memory([drafts("Alice drinks tea.")]) as again:
        [fact] = await again.summarize_memory([], user_name="alice")
        assert fact.content == "Alice drinks tea."


async def test_closing_waits_for_a_conversation_that_is_being_read(open_memory: Open) -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def think(_: Request) -> dict[str, Any]:
        asked.set()
        await let_go.wait()
        return drafts("Alice drinks tea.")

    reme = open_memory([think])
    reading = asyncio.create_task(reme.summarize_memory(COFFEE, user_name="alice"))
    await asked.wait()
    closing = asyncio.create_task(reme.close())
    await asyncio.wait({closing}, timeout=0.01)
    with pytest.raises(Closed, match="was closed"):
        await reme.list_memory("alice")
    let_go.set()
    assert [fact.content for fact in await reading] == ["Alice drinks tea."]
    await closing
    async with open_memory([]) as again:
        assert [n.content for n in await again.list_memory("alice")] == ["Alice drinks tea."]


async def test_who_is_closed_while_reading_hears_that_nothing_is_lost(open_memory: Open) -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def think(_: Request) -> dict[str, Any]:
        asked.set()
        await let_go.wait()
        return drafts("Alice drinks tea.")

    reme = open_memory([think], settings=Settings(fsync=False, close_drain_seconds=0.01))
    reading = asyncio.create_task(reme.summarize_memory(COFFEE, user_name="alice"))
    await asked.wait()
    await reme.close()
    let_go.set()
    with pytest.raises(Closed, match="It is kept and waits"):
        await reading
    async with open_memory([drafts("Alice drinks tea.")]) as again:
        [fact] = await again.summarize_memory([], user_name="alice")
        assert fact.content == "Alice drinks tea."


class SlowVectors(WordVectors):
    """Thinks about texts with "slowly" in them until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        if any("slowly" in str(text) for text in inputs):
            self.asked.set()
            await self.let_go.wait()
        return await super().embed(inputs)


PATIENT = Settings(fsync=False, embedding_deadline_ms=60_000)


async def test_an_update_whose_vector_takes_long_brings_nothing_back(open_memory: Open) -> None:
    slow = SlowVectors()
    async with open_memory(embedding_model=slow, settings=PATIENT) as reme:
        node = await reme.add_memory("tea", "alice")
        update = reme.update_memory(node.memory_id, "alice", memory_content="slowly")
        running = asyncio.create_task(update)
        await slow.asked.wait()
        await reme.delete_memory(node.memory_id)
        slow.let_go.set()
        with pytest.raises(NotFound):
            await running
        assert await reme.list_memory("alice") == []


async def test_two_updates_at_once_are_both_kept(open_memory: Open) -> None:
    slow = SlowVectors()
    async with open_memory(embedding_model=slow, settings=PATIENT) as reme:
        node = await reme.add_memory("tea", "alice", a=1)
        update = reme.update_memory(node.memory_id, "alice", memory_content="slowly", a=None)
        running = asyncio.create_task(update)
        await slow.asked.wait()
        await reme.update_memory(node.memory_id, "alice", score=0.9, b=2)
        slow.let_go.set()
        both = await running
        assert (both.content, both.score, both.metadata) == ("slowly", 0.9, {"b": 2})
        assert await reme.get_memory(node.memory_id) == both


async def test_what_is_deleted_while_vectors_are_made_stays_deleted(open_memory: Open) -> None:
    slow = SlowVectors()
    learnt = drafts(profile={"pace": "slowly"})
    async with open_memory([learnt], embedding_model=slow, settings=PATIENT) as reme:
        running = asyncio.create_task(reme.summarize_memory(COFFEE, user_name="alice"))
        await slow.asked.wait()
        assert await reme.delete_all() == 1
        slow.let_go.set()
        assert await running == []
        assert set((await reme.status()).details["nodes"].values()) == {0}


async def test_what_another_process_has_read_meanwhile_is_not_learnt_twice(
    open_memory: Open,
) -> None:
    async def other_reads(_: Request) -> dict[str, Any]:
        async with open_memory(Script([drafts("Alice drinks coffee.")])) as other:
            await other.summarize_memory(COFFEE, user_name="alice")
        return drafts("Alice likes coffee.")

    async with open_memory([other_reads, decisions(ADD)]) as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
        assert [n.content for n in await reme.list_memory("alice")] == ["Alice drinks coffee."]


async def test_what_another_process_keeps_at_that_moment_is_not_kept_twice(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    async with open_memory() as mine, open_memory() as other:
        store = mine._memory.parts.index.store
        changing = store.changing

        def later() -> AbstractContextManager[None]:
            monkeypatch.setattr(store, "changing", changing)
            keeping = other.summarize_memory(COFFEE, user_name="alice")
            asyncio.run_coroutine_threadsafe(keeping, loop).result(30)
            return changing()

        monkeypatch.setattr(store, "changing", later)
        await mine.summarize_memory(COFFEE, user_name="alice")
        assert (await mine.status()).details["nodes"]["history"] == 1
