"""A model that is missing, down or wrong costs the reading of a conversation, never its words."""

from __future__ import annotations

import asyncio
from typing import Any

from agentscope_reme import Settings
from agentscope_reme.testing import Request, Script
from tests.typed.conftest import Open
from tests.typed.talks import COFFEE, DEPLOY, drafts


async def test_without_a_model_conversations_wait_for_one(open_memory: Open) -> None:
    async with open_memory() as reme:
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert (done["success"], done["pending"], done["nodes"]) == (False, 1, [])
        assert "call again" in done["answer"]
        assert (await reme.status()).details["pending"] == 1
    async with open_memory([drafts("Alice drinks tea.")]) as reme:
        [fact] = await reme.summarize_memory([], user_name="alice")
        assert fact.message_time == "2026-02-28 10:00:00"
        assert (await reme.status()).details["pending"] == 0


async def test_a_model_that_fails_is_asked_again_by_the_next_call(open_memory: Open) -> None:
    script = Script([RuntimeError("down"), drafts("Alice drinks tea."), drafts()])
    async with open_memory(script) as reme:
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert done["pending"] == 1
        assert "down" in done["failed"][0]
        assert (await reme.status()).failures == {"summarize_memory": 1}
        again = await reme.summarize_memory(DEPLOY, user_name="alice", return_dict=True)
        assert again["pending"] == 0
        assert [n.content for n in again["nodes"]] == ["Alice drinks tea."]
    script.assert_exhausted()


async def test_an_answer_that_does_not_fit_changes_nothing(open_memory: Open) -> None:
    for strange in ({"memories": "none"}, {"note": 1}, {"memories": None}):
        async with open_memory([strange]) as reme:
            await reme.add_memory("vegetarian", "alice")
            done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
            assert done["pending"] == 1
            assert {n.content for n in await reme.list_memory("alice")} == {"vegetarian"}
            await reme.delete_all()


async def test_one_stray_item_costs_itself_alone(open_memory: Open) -> None:
    strange: Any = {
        "memories": [{"content": ""}, "words", {"content": "Alice drinks tea.", "turn": 77}],
        "profile": [{"key": "", "value": "x"}, {"key": "drink", "value": "tea"}],
    }
    async with open_memory([strange]) as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
        [fact] = await reme.list_memory("alice")
        assert fact.content == "Alice drinks tea."
        assert fact.message_time == "2026-02-28 10:00:05"  # there is no turn 77
        [line] = await reme.retrieve_profile(user_name="alice")
        assert line.content == "drink: tea"


async def test_a_second_question_that_fails_leaves_nothing_half_done(open_memory: Open) -> None:
    script = Script([drafts("Alice drinks tea."), RuntimeError("down")])
    async with open_memory(script) as reme:
        known = await reme.add_memory("Alice drinks coffee.", "alice")
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert done["pending"] == 1
        assert await reme.list_memory("alice") == [known]


async def test_a_model_that_hangs_is_given_up(open_memory: Open) -> None:
    async def never(_: Request) -> str:
        await asyncio.Event().wait()
        return ""

    async with open_memory(
        [never], settings=Settings(fsync=False, agent_deadline_seconds=0.05)
    ) as reme:
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert done["pending"] == 1
        assert "no answer after 0.05 seconds" in done["failed"][0]


async def test_two_failures_in_a_row_end_the_call(open_memory: Open) -> None:
    async with open_memory() as reme:
        for number in range(4):
            talk = [{"role": "user", "content": f"talk {number}", "id": str(number)}]
            await reme.summarize_memory(talk, user_name="alice")
    for failures in (1, 2):  # together at first, then each for itself
        async with open_memory([RuntimeError("down")] * failures) as reme:
            done = await reme.summarize_memory([], user_name="alice", return_dict=True)
            assert (done["pending"], len(done["failed"])) == (4, failures)
    # The two that failed come last now, so that one hopeless conversation never blocks others.
    script = Script([drafts("a"), drafts("b"), RuntimeError("down"), RuntimeError("down")])
    async with open_memory(script, embedding_model=None) as reme:
        done = await reme.summarize_memory([], user_name="alice", return_dict=True)
        assert [n.content for n in done["nodes"]] == ["a", "b"]
        assert done["pending"] == 2


async def test_short_conversations_that_wait_are_read_together(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.summarize_memory(DEPLOY, "first", user_name="alice")
        await reme.summarize_memory(COFFEE, "second", user_name="alice")
    told = [{"content": "deploys", "turn": 2}, {"content": "drinks tea", "turn": 3}]
    script = Script([drafts(*told)])
    async with open_memory(script) as reme:
        first, second = await reme.summarize_memory([], user_name="alice")
        assert first.message_time == "2026-02-27 08:30:00"
        assert second.message_time == "2026-02-28 10:00:00"
        assert "migrate" in (await reme.get_memory(first.ref_memory_id)).content
        assert "coffee" in (await reme.get_memory(second.ref_memory_id)).content
        assert (await reme.status()).details["pending"] == 0
    assert "Hint: first" in script.requests[0].text


async def test_a_budget_of_calls_leaves_the_rest_waiting(open_memory: Open) -> None:
    async with open_memory() as reme:
        for number in range(3):
            talk = [{"role": "user", "content": "talk " * 11_000, "id": str(number)}]
            await reme.summarize_memory(talk, user_name="alice")
    settings = Settings(fsync=False, job_model_calls=2)
    async with open_memory([drafts()] * 2, settings=settings) as reme:
        done = await reme.summarize_memory([], user_name="alice", return_dict=True)
        assert (done["pending"], done["failed"]) == (1, [])


async def test_a_conversation_kept_for_one_target_waits_for_it_alone(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
    async with open_memory([]) as reme:
        done = await reme.summarize_memory([], user_name="bob", return_dict=True)
        assert (done["pending"], done["nodes"]) == (0, [])
