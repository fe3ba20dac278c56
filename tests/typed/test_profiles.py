"""A profile holds few lasting attributes; the newest value counts, the oldest lines make room."""

from __future__ import annotations

from agentscope_reme.testing import FakeClock, Script
from tests.typed.conftest import Open
from tests.typed.talks import COFFEE, DEPLOY, drafts

PROFILE = {"memory_type": "profile"}


async def test_a_line_is_replaced_in_its_place(open_memory: Open) -> None:
    script = Script([drafts(profile={"Drink": "coffee"}), drafts(profile={"drink": "tea"})])
    async with open_memory(script) as reme:
        [first] = await reme.summarize_memory(DEPLOY, user_name="alice")
        [second] = await reme.summarize_memory(COFFEE, user_name="alice")
        assert first.memory_id == second.memory_id
        assert second.content == "Drink: tea"
        assert await reme.list_memory("alice", filters=PROFILE) == [second]
    assert "- Drink: coffee" in script.requests[1].text


async def test_a_line_that_no_longer_holds_is_removed(open_memory: Open) -> None:
    script = Script([drafts(profile={"car": "Fiat"}), drafts(profile={"car": "", "bike": ""})])
    async with open_memory(script) as reme:
        [line] = await reme.summarize_memory(DEPLOY, user_name="alice")
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert done["tools"] == [{"name": "delete_memory", "memory_id": line.memory_id}]
        assert await reme.list_memory("alice", filters=PROFILE) == []


async def test_the_oldest_lines_make_room(open_memory: Open) -> None:
    steps = [drafts(profile={f"key {n}": "x"}) for n in range(5)]
    steps.append(drafts(profile={"key 2": "newer", "key 9": "x"}))
    async with open_memory(steps, profile_max_capacity=3) as reme:
        for number in range(6):
            talk = [{"role": "user", "content": "hm", "id": str(number)}]
            await reme.summarize_memory(talk, user_name="alice")
        told = {line.content for line in await reme.list_memory("alice", filters=PROFILE)}
        assert told == {"key 2: newer", "key 9: x", "key 4: x"}


async def test_a_profile_is_shown_and_searched(open_memory: Open, clock: FakeClock) -> None:
    async with open_memory([drafts(profile={"drink": "tea", "town": "Rome"})]) as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
        found = await reme.retrieve_profile("which town", user_name="alice", top_k=1)
        assert [line.content for line in found] == ["town: Rome"]
        assert await reme.retrieve_profile("town", user_name="bob") == []
        assert len(await reme.retrieve_profile(user_name="alice")) == 2
        [line] = found
        changed = await reme.update_memory(line.memory_id, "alice", memory_content="town: Oslo")
        assert changed.metadata == {"key": "town"}


async def test_a_memory_may_do_without_profiles(open_memory: Open) -> None:
    script = Script([drafts("likes tea", profile={"drink": "tea"})])
    async with open_memory(script, enable_profile=False) as reme:
        written = await reme.summarize_memory(COFFEE, user_name="alice")
        assert [node.content for node in written] == ["likes tea"]
        assert await reme.list_memory("alice", filters=PROFILE) == []
