"""Memories are added, read, changed, listed and deleted; each call says what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme import MemoryNode, ReMeError
from agentscope_reme.errors import BadInput, Closed, NotFound
from agentscope_reme.testing import FakeClock
from tests.typed.conftest import Open
from tests.typed.models import WordVectors

NAMES = [{"user_name": "alice"}, {"task_name": "deploy"}, {"tool_name": "search"}]


@pytest.mark.parametrize("name", NAMES)
async def test_the_life_of_a_memory(open_memory: Open, name: dict[str, str]) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("prefers concise code", **name, score=0.5, project="x")
        assert isinstance(node, MemoryNode)
        assert await reme.get_memory(node.memory_id) == node
        assert await reme.list_memory(**name) == [node]
        changed = await reme.update_memory(node.memory_id, **name, memory_content="likes comments")
        assert changed.memory_id == node.memory_id
        assert (changed.content, changed.score) == ("likes comments", 0.5)
        assert changed.time_created == node.time_created < changed.time_modified
        assert await reme.list_memory(**name) == [changed]
        await reme.delete_memory(node.memory_id)
        assert await reme.list_memory(**name) == []


async def test_a_node_tells_where_it_comes_from(open_memory: Open) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory(
            "keep it short",
            user_name="alice",
            when_to_use="writing code",
            message_time="2026-02-27T23:30:00Z",
            ref_memory_id="abc",
            author="bob",
            score=0.25,
            team="core",
            rank=3,
            active=True,
        )
    assert node.memory_type == "personal"
    assert node.memory_target == "alice"
    assert node.message_time == "2026-02-28 00:30:00"  # in the zone of the memory
    assert node.time_created.startswith("2026-03-01 09:30")
    assert node.metadata == {"team": "core", "rank": 3, "active": True}
    assert (node.when_to_use, node.ref_memory_id, node.author) == ("writing code", "abc", "bob")


async def test_an_update_keeps_what_is_not_given(open_memory: Open) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("tea", user_name="alice", when_to_use="drinks", a=1, b=2)
        changed = await reme.update_memory(
            node.memory_id, user_name="alice", score=0.9, b=None, c=3
        )
        assert changed.content == "tea"
        assert changed.when_to_use == "drinks"
        assert changed.metadata == {"a": 1, "c": 3}


async def test_the_same_text_of_two_people_is_two_memories(open_memory: Open) -> None:
    async with open_memory() as reme:
        first = await reme.add_memory("likes tea", user_name="alice")
        second = await reme.add_memory("likes tea", user_name="bob")
        assert first.memory_id != second.memory_id
        assert await reme.list_memory(user_name="alice") == [first]
        assert await reme.list_memory(user_name="bob") == [second]


async def test_after_an_update_the_new_text_is_found_and_the_old_one_is_not(
    open_memory: Open,
) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("giraffes in the garden", user_name="alice")
        other = await reme.add_memory("umbrellas in the hall", user_name="alice")
        await reme.update_memory(
            node.memory_id, user_name="alice", memory_content="submarines at sea"
        )
        found = await reme.retrieve_memory(
            "submarines", user_name="alice", retrieve_top_k=1, return_dict=True
        )
        assert [one.memory_id for one in found["retrieved_nodes"]] == [node.memory_id]
        found = await reme.retrieve_memory(
            "umbrellas hall giraffes", user_name="alice", retrieve_top_k=1, return_dict=True
        )
        assert [one.memory_id for one in found["retrieved_nodes"]] == [other.memory_id]


async def test_a_search_changes_no_node(open_memory: Open) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("likes tea", user_name="alice", score=0.25)
        await reme.retrieve_memory("tea", user_name="alice")
        assert await reme.get_memory(node.memory_id) == node


async def test_filters_ranges_order_and_limit(open_memory: Open, clock: FakeClock) -> None:
    async with open_memory() as reme:
        for rank, city in [(2, "Berlin"), (10, "Rome"), (9, "Berlin")]:
            clock.advance(hours=1)
            await reme.add_memory(f"{city} {rank}", user_name="alice", rank=rank, city=city)

        async def listed(**options: Any) -> list[str]:
            return [node.content for node in await reme.list_memory("alice", **options)]

        assert await listed() == ["Berlin 9", "Rome 10", "Berlin 2"]
        assert await listed(sort_key="rank") == ["Rome 10", "Berlin 9", "Berlin 2"]
        assert await listed(sort_key="rank", reverse=False, limit=2) == ["Berlin 2", "Berlin 9"]
        assert await listed(filters={"city": "Berlin"}) == ["Berlin 9", "Berlin 2"]
        assert await listed(filters={"rank": [9, 10]}) == ["Berlin 9", "Rome 10"]
        span = ["2026-03-01 11:00:00", "2026-03-01 11:59:59"]
        assert await listed(filters={"time_created": span}) == ["Rome 10"]
        assert await listed(filters={"city": "Berlin", "rank": [9, 99]}) == ["Berlin 9"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.add_memory("x"), "exactly one of user_name"),
        (lambda r: r.add_memory("x", "alice", "deploy"), "exactly one of user_name"),
        (lambda r: r.add_memory("x", ["alice"]), "`user_name` is no name"),
        (lambda r: r.add_memory("x", "   "), "`user_name` is no name"),
        (lambda r: r.add_memory("x", "a\nb"), "more than one line"),
        (lambda r: r.add_memory("", "alice"), "`memory_content` is no text"),
        (lambda r: r.add_memory(5, "alice"), "`memory_content` is no text"),
        (lambda r: r.add_memory("x", "alice", message_time="soon"), "`message_time` is no time"),
        (lambda r: r.add_memory("x", "alice", score="high"), "`score` is no finite number"),
        (lambda r: r.add_memory("x", "alice", score=float("nan")), "`score` is no finite"),
        (lambda r: r.add_memory("x", "alice", tags=["a"]), "`tags` is neither text"),
        (lambda r: r.add_memory("x", "alice", score=10**400), "`score` is no finite number"),
        (lambda r: r.add_memory("x", "alice", content="y"), "Pass `memory_content`"),
        (lambda r: r.add_memory("x", "alice", memory_target="bob"), "names a field of a memory"),
        (lambda r: r.add_memory("x", "alice", metadata={"a": 1}), "an argument of its own"),
        (lambda r: r.add_memory("x", tool_name="grep", statistics=True), "marks the counts"),
        (lambda r: r.add_memory("x", "alice", **{"": 1}), "no text of 1 to 200 characters"),
        (lambda r: r.add_memory("x", "alice", **{"k" * 201: 1}), "no text of 1 to 200 characters"),
        (lambda r: r.add_memory("x", "alice", **{"a\0": 1}), "characters no store keeps"),
        (lambda r: r.add_memory("x", "alice", **{"a\ud800": 1}), "characters no store keeps"),
        (lambda r: r.add_memory("x", "alice", a="y" * 100_001), "`a` is longer than"),
        (
            lambda r: r.add_memory("x", "alice", **dict.fromkeys(map(str, range(101)), 1)),
            "100 keys",
        ),
        (lambda r: r.update_memory("x", "alice", content="y"), "Pass `memory_content`"),
        (lambda r: r.list_memory(), "exactly one of user_name"),
        (lambda r: r.list_memory("alice", sort_key="a\ud800"), "characters no store keeps"),
        (lambda r: r.list_memory("alice", filters={"a\ud800": 1}), "characters no store keeps"),
        (
            lambda r: r.list_memory("alice", filters={"memory_type": "x"}),
            "history, personal, profile",
        ),
        (lambda r: r.list_memory("alice", limit=0), "`limit` is no number above 0"),
        (lambda r: r.list_memory("alice", sort_key=1), "`sort_key` is no name"),
        (lambda r: r.list_memory("alice", filters=[1]), "`filters` is no mapping"),
        (lambda r: r.list_memory("alice", filters={"rank": [1]}), "needs two ends"),
        (lambda r: r.list_memory("alice", filters={"memory_target": "bob"}), "choose the target"),
        (lambda r: r.list_memory("alice", filters={"memory_type": "tool"}), "of this type"),
        (lambda r: r.get_memory(""), "`memory_id` is no id"),
        (lambda r: r.retrieve_memory("x"), "no user_name, task_name or tool_name"),
        (lambda r: r.retrieve_memory("", user_name="alice"), "nothing is asked"),
        (lambda r: r.retrieve_memory("x", user_name="a", retrieve_top_k=0), "`retrieve_top_k`"),
        (lambda r: r.summarize_memory([]), "no user_name, task_name or tool_name"),
        (lambda r: r.summarize_memory("hello", user_name="alice"), "`messages` must be a list"),
        (lambda r: r.summarize_memory([{"content": "x"}], user_name="alice"), "needs `role`"),
        (lambda r: r.retrieve_profile(user_name=""), "exactly one of user_name"),
        (lambda r: r.retrieve_profile(user_name="alice", top_k=0), "`top_k` is no number"),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_name(
    open_memory: Open, call: Any, said: str
) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match=said):
            await call(reme)
        assert set((await reme.status()).details["nodes"].values()) == {0}


async def test_half_characters_and_huge_limits_cost_no_call(open_memory: Open) -> None:
    async with open_memory([{"queries": ["te\ud800a"]}, {"answer": "te\ud800a"}]) as reme:
        node = await reme.add_memory("te\ud800a", "alice", team="a\ud800")
        assert node.content == "te\ufffda"
        found = await reme.retrieve_memory("te\ud800a", "te\ud800a", user_name="alice")
        assert "te\ufffda" in found
        assert await reme.retrieve_profile("te\ud800a", "alice") == []
        assert await reme.list_memory("alice", limit=10**30) == [node]


async def test_times_of_the_first_years_sort_like_others(open_memory: Open) -> None:
    async with open_memory() as reme:
        old = await reme.add_memory("old", "alice", message_time="0998-05-01 10:00:00")
        new = await reme.add_memory("new", "alice", message_time="2026-02-28 10:00:00")
        assert old.message_time == "0998-05-01 10:00:00"
        assert await reme.list_memory("alice", sort_key="message_time") == [new, old]


async def test_an_unknown_id_is_not_found(open_memory: Open) -> None:
    async with open_memory() as reme:
        for call in (
            reme.get_memory("nobody"),
            reme.delete_memory("nobody"),
            reme.update_memory("nobody", "alice", memory_content="x"),
        ):
            with pytest.raises(NotFound, match="no such memory"):
                await call


async def test_delete_all_forgets_everybody(open_memory: Open) -> None:
    async with open_memory() as reme:
        for name in NAMES:
            await reme.add_memory("x", **name)
        assert await reme.delete_all() == 3
        assert all([await reme.list_memory(**name) == [] for name in NAMES])


async def test_a_closed_memory_says_so_and_can_be_started_again(open_memory: Open) -> None:
    reme = open_memory()
    node = await reme.add_memory("x", "alice")  # starts by itself
    await reme.close()
    await reme.close()
    with pytest.raises(Closed):
        await reme.get_memory(node.memory_id)
    await reme.start()
    await reme.start()
    assert await reme.get_memory(node.memory_id) == node
    await reme.close()


async def test_memories_wait_for_the_next_process(open_memory: Open) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("likes tea", "alice")
    async with open_memory() as reme:
        assert await reme.list_memory("alice") == [node]
        assert node.memory_id in await reme.retrieve_memory("tea", user_name="alice")


async def test_a_failing_embedding_model_costs_nothing(
    open_memory: Open, vectors: WordVectors
) -> None:
    vectors.down = True
    async with open_memory() as reme:
        node = await reme.add_memory("likes oolong tea", "alice")
        assert node.memory_id in await reme.retrieve_memory("oolong", user_name="alice")
        status = await reme.status()
        assert status.vectors_pending == 1
        assert status.failures["embedding"] >= 1
    vectors.down = False
    async with open_memory() as reme:
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0


async def test_every_error_is_one_of_ours(open_memory: Open) -> None:
    async with open_memory() as reme:
        with pytest.raises(ReMeError, match="Use `list_memory`"):
            await reme.get_memory("nobody")


async def test_a_deadline_that_is_no_number_is_refused(open_memory: Open) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="deadline_seconds"):
            await reme.drain("x")  # type: ignore[arg-type]
