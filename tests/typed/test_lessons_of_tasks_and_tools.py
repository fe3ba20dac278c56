"""Lessons come from successes and failures, are validated, and the use of tools is counted."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme.testing import Script
from tests.typed.conftest import Open
from tests.typed.models import WordVectors
from tests.typed.talks import ADD, DEPLOY, decisions, lesson

BACKUP = lesson("deploying with a migration", "Back up, then `migrate --safe`.")
PLAIN = lesson("deploying with a migration", "Plain `migrate` fails on locks.", "failure")


async def test_lessons_of_a_task(open_memory: Open) -> None:
    script = Script([{"memories": [BACKUP, PLAIN]}, decisions(ADD, {**ADD, "score": 0.5})])
    async with open_memory(script) as reme:
        written = await reme.summarize_memory(DEPLOY, "it worked in the end", task_name="deploy")
        assert [node.metadata["outcome"] for node in written] == ["success", "failure"]
        assert [node.score for node in written] == [0.8, 0.5]
        assert {node.when_to_use for node in written} == {"deploying with a migration"}
        assert {node.memory_type for node in written} == {"procedural"}
        assert written[0].message_time == "2026-02-27 08:30:00"
    first, second = script.requests
    assert "lessons that help whoever does such a task again" in first.text.replace("\\n", " ")
    assert "Hint: it worked in the end" in first.text
    assert "(failure) deploying with a migration: Plain" in second.text


async def test_a_lesson_below_half_is_not_kept_and_said_so(open_memory: Open) -> None:
    script = Script([{"memories": [BACKUP, PLAIN]}, decisions({**ADD, "score": 0.49})])
    async with open_memory(script) as reme:
        done = await reme.summarize_memory(DEPLOY, task_name="deploy", return_dict=True)
        assert done["nodes"] == []
        assert done["success"]
        assert "validated with 0.49, below 0.5" in done["refused"][0]
        assert "it was not validated" in done["refused"][1]
        assert "Not kept" in done["answer"]


async def test_the_same_lesson_twice_in_one_answer_is_one(open_memory: Open) -> None:
    script = Script([{"memories": [BACKUP, BACKUP]}, decisions(ADD)])
    async with open_memory(script) as reme:
        assert len(await reme.summarize_memory(DEPLOY, task_name="deploy")) == 1


async def test_a_lesson_that_is_known_is_completed(open_memory: Open) -> None:
    update = {"action": "update", "old": 1, "content": "Back up twice.", "score": 0.9}
    script = Script([{"memories": [BACKUP]}, decisions(update)])
    async with open_memory(script) as reme:
        old = await reme.add_memory(
            "Back up.", task_name="deploy", when_to_use="deploying with a migration"
        )
        [new] = await reme.summarize_memory(DEPLOY, task_name="deploy")
        assert new.memory_id == old.memory_id
        assert (new.content, new.metadata["outcome"]) == ("Back up twice.", "success")


def call(number: int, name: str = "search", at: str = "2026-02-27 08:00:00") -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {"q": number}}
    return {"role": "assistant", "content": [block], "time_created": at}


def answered(number: int, text: str, name: str = "search", **more: Any) -> dict[str, Any]:
    output = [{"type": "text", "text": text}]
    block = {"type": "tool_result", "id": f"c{number}", "name": name, "output": output, **more}
    return {"role": "system", "content": [block], "time_created": "2026-02-27 08:00:01"}


USE = [
    call(1),
    answered(1, "three results"),
    call(2, at="2026-02-27 09:00:00"),
    answered(2, "Error: q must be a string"),
    call(3, "other"),
    answered(3, "Error: not mine", "other"),
    call(4),
]


async def test_the_use_of_a_tool_is_counted_by_code(open_memory: Open) -> None:
    async with open_memory([{"memories": []}]) as reme:
        [node] = await reme.summarize_memory(USE, tool_name="search")
        assert node.metadata == {
            "statistics": True,
            "calls": 3,
            "successes": 1,
            "failures": 1,
            "last_used": "2026-02-27 09:00:00",
        }
        assert "Called 3 times: 1 succeeded, 1 failed, success rate 50%" in node.content


async def test_counts_grow_with_new_calls_only(open_memory: Open) -> None:
    async with open_memory([{"memories": []}] * 2) as reme:
        [first] = await reme.summarize_memory(USE[:2], tool_name="search")
        assert await reme.summarize_memory(USE[:2], tool_name="search") == []
        [second] = await reme.summarize_memory(USE, tool_name="search")
        assert second.memory_id == first.memory_id
        assert [second.metadata[key] for key in ("calls", "successes", "failures")] == [3, 1, 1]
        assert await reme.list_memory(tool_name="search") == [second]


async def test_counts_are_kept_when_the_model_fails(open_memory: Open) -> None:
    async with open_memory([RuntimeError("down")]) as reme:
        [node] = await reme.summarize_memory(USE, tool_name="search")
        assert node.metadata["calls"] == 3
    async with open_memory([{"memories": []}]) as reme:
        await reme.summarize_memory([], tool_name="search")
        assert await reme.list_memory(tool_name="search") == [node]


@pytest.mark.parametrize(
    ("text", "more", "failed"),
    [
        ("fine", {}, False),
        ("No errors were found.", {}, False),
        ("Error: no such file", {}, True),
        ("ValueError: x", {}, True),
        ("Traceback (most recent call last):", {}, True),
        ("错误：没有这个文件", {}, True),
        ('{"success": false, "data": 1}', {}, True),
        ('{"error": {"code": 5}}', {}, True),
        ('{"error": null, "rows": []}', {}, False),
        ("all good", {"is_error": True}, True),
        ("all good", {"state": "error"}, True),
        ("", {}, False),
    ],
)
async def test_what_counts_as_a_failure(
    open_memory: Open, text: str, more: dict[str, Any], failed: bool
) -> None:
    async with open_memory() as reme:
        [node] = await reme.summarize_memory(
            [call(1), answered(1, text, **more)], tool_name="search"
        )
        assert (node.metadata["failures"], node.metadata["successes"]) == (failed, not failed)


async def test_openai_style_tool_messages_are_counted(open_memory: Open) -> None:
    function = {"name": "search", "arguments": "{}"}
    talk = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ]
    async with open_memory() as reme:
        [node] = await reme.summarize_memory(talk, tool_name="search")
        assert [node.metadata[key] for key in ("calls", "successes")] == [1, 1]


async def test_lessons_of_a_tool(open_memory: Open) -> None:
    script = Script(
        [{"memories": [lesson("searching", "q is a string", "failure")]}, decisions(ADD)]
    )
    async with open_memory(script) as reme:
        written = await reme.summarize_memory(USE, tool_name="search")
        assert [node.memory_type for node in written] == ["tool", "tool"]
        answer = await reme.list_memory(tool_name="search", filters={"outcome": "failure"})
        assert [node.content for node in answer] == ["q is a string"]
    asked = script.requests[0].text
    assert "The tool: search" in asked
    assert "(calls search with" in asked
    assert "(search answered: Error: q must be a string)" in asked


@pytest.mark.parametrize("vectors_work", [True, False])
async def test_the_counts_take_no_place_of_a_lesson(
    open_memory: Open, vectors: WordVectors, vectors_work: bool
) -> None:
    vectors.down = not vectors_work
    async with open_memory() as reme:
        await reme.summarize_memory([call(1), answered(1, "3 hits")], tool_name="search")
        known = await reme.add_memory("search is used with quotes", tool_name="search")
        found = await reme.retrieve_memory(
            "How often is search used, and how reliable is it?",
            tool_name="search",
            retrieve_top_k=1,
            return_dict=True,
        )
        assert known in found["retrieved_nodes"]
        assert len(found["retrieved_nodes"]) == 2
