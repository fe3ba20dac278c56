"""What left a context window is kept in full, and search finds what no other file says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.results import SearchResult

QUESTION = {"id": "q1", "role": "user", "content": "Is the marmot awake?"}
STEP = {
    "id": "a1",
    "role": "assistant",
    "name": "Friday",
    "content": [
        {"type": "tool_call", "id": "c1", "name": "camera", "input": '{"cave": "north"}'},
        {
            "type": "tool_result",
            "id": "c1",
            "name": "camera",
            "output": [{"type": "text", "text": "Thermogram 4711: one axolotl, asleep."}],
        },
        {"type": "text", "text": "The marmot sleeps."},
    ],
}


def places(found: SearchResult) -> list[str]:
    return [hit.path for hit in found.hits]


async def test_a_tool_result_is_found_in_the_archive(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.record("s", [QUESTION, STEP], distil=False)
        assert not (await reme.search("axolotl thermogram")).hits
        await reme.archive("s", [QUESTION, STEP])
        found = await reme.search("axolotl thermogram")
        assert places(found) == ["session/agentscope/s.jsonl"]
        assert "Thermogram 4711: one axolotl, asleep." in found.answer
        assert 'camera {"cave": "north"} answered:' in found.answer


async def test_distilled_files_answer_before_it(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.archive("s", [STEP])
        await reme.write("digest/wiki/axolotl.md", "The axolotl and a good many other animals.")
        assert places(await reme.search("axolotl")) == [
            "digest/wiki/axolotl.md",
            "session/agentscope/s.jsonl",
        ]


async def test_words_of_the_log_are_found_once(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.record("s", [QUESTION, STEP], distil=False)
        await reme.archive("s", [QUESTION, STEP])
        assert places(await reme.search("marmot")) == ["session/dialog/s.jsonl"]


async def test_words_nobody_recorded_are_found_in_the_archive(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as reme:
        await reme.archive("s", [QUESTION, STEP])
        assert places(await reme.search("marmot")) == ["session/agentscope/s.jsonl"]


async def test_a_part_of_a_recorded_message_counts_as_recorded(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as reme:
        await reme.record("s", [QUESTION, STEP], distil=False)
        await reme.archive("s", [{**STEP, "id": "a1:0123456789ab"}])
        assert places(await reme.search("marmot")) == ["session/dialog/s.jsonl"]


async def test_answers_of_the_memory_itself_are_not_found_again(
    open_memory: Callable[..., ReMe],
) -> None:
    recalled = {**STEP["content"][1], "name": "memory_search"}  # type: ignore[dict-item]
    async with open_memory() as reme:
        await reme.archive("s", [{**STEP, "content": [recalled]}])
        assert not (await reme.search("axolotl")).hits
        kept = await reme.read("session/agentscope/s.jsonl")
        assert "one axolotl, asleep" in kept.answer


async def test_it_grows_and_is_found_by_the_next_process(open_memory: Callable[..., ReMe]) -> None:
    later = {"id": "a2", "role": "user", "content": "And the pangolin?"}
    async with open_memory() as reme:
        await reme.archive("s", [STEP])
        await reme.archive("s", [STEP, later])
        before = (await reme.search("pangolin axolotl")).hits
    async with open_memory() as again:
        await again.reindex()
        after = (await again.search("pangolin axolotl")).hits
        assert [hit.text for hit in after] == [hit.text for hit in before]
        assert (await again.doctor()).success


async def test_what_was_forgotten_does_not_come_back_by_the_window(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as reme:
        await reme.record("s", [QUESTION, STEP], distil=False)
        gone = await reme.forget(query="marmot", dry_run=True)
        await reme.forget(query="marmot", dry_run=False)
        assert gone.success
        await reme.archive("s", [QUESTION, STEP, {**STEP, "id": "a1:0123456789ab"}])
        assert not (await reme.search("marmot axolotl")).hits


async def test_forgetting_takes_the_tool_results_of_a_turn(
    open_memory: Callable[..., ReMe],
) -> None:
    parts = [{**STEP, "id": f"a1:0123456789a{number}"} for number in range(2)]
    async with open_memory() as reme:
        await reme.record("s", [QUESTION, STEP], distil=False)
        await reme.archive("s", parts)
        await reme.forget(query="marmot sleeps", dry_run=False)
        root = reme.workspace.root
        files = [p for p in root.rglob("*") if p.is_file() and "metadata" not in p.parts]
        texts = await asyncio.to_thread(lambda: b"".join(p.read_bytes() for p in files))
        assert b"axolotl" not in texts
        assert not (await reme.search("axolotl")).hits


@pytest.mark.parametrize("other", [{"user": "bob"}, {}], ids=["another user", "no user"])
async def test_it_is_not_found_by_anybody_else(
    open_memory: Callable[..., ReMe], other: dict[str, Any]
) -> None:
    async with open_memory(user="mei") as mei:
        await mei.archive("s", [QUESTION, STEP])
        async with open_memory(**other) as bob:
            assert not (await bob.search("axolotl marmot")).hits
