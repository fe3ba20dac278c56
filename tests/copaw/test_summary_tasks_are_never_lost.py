"""Background summaries: copied at once, done in order, one at a time, and kept until they are."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import ImageBlock, Msg, URLSource

from agentscope_reme import ReMeCopaw
from agentscope_reme.copaw.pending import MOST_ATTEMPTS
from agentscope_reme.copaw.summary_queue import operation_of
from agentscope_reme.errors import BadMessage
from agentscope_reme.files.journal import Journal, JournalEntry, PathChange
from agentscope_reme.schema import content_hash
from agentscope_reme.testing import FakeClock, Request, ScriptedChatModel, ToolCall
from tests.copaw.conftest import DAY, QUIET, TODAY, Open

DOWN = RuntimeError("Connection error")


def said(text: str) -> list[Msg]:
    return [Msg("user", text, "user")]


def note(text: str, path: str = TODAY) -> ToolCall:
    return ToolCall("write", {"path": path, "content": f"# Notes\n\n- {text}\n"})


def add(text: str) -> ToolCall:
    return ToolCall("edit", {"path": TODAY, "old": "# Notes\n", "new": f"# Notes\n\n- {text}"})


def records(copaw: ReMeCopaw) -> list[Path]:
    return sorted((copaw.working_path / "journal" / "summaries").glob("*.json"))


def notes(copaw: ReMeCopaw) -> str:
    place = copaw.memory_path / f"{DAY}.md"
    return place.read_text() if place.exists() else ""


async def test_a_task_is_done_in_the_background_and_told(open_copaw: Open) -> None:
    async with open_copaw([note("tea"), "Noted tea."]) as copaw:
        copaw.add_async_summary_task(messages=said("I like tea."))
        assert len(copaw.summary_tasks) == 1
        assert (await copaw.status()).queued_jobs == 1
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted tea."
        assert copaw.summary_tasks == []
        assert await copaw.await_summary_tasks() == ""
        assert "tea" in notes(copaw)
        assert records(copaw) == []


async def test_the_messages_are_copied_when_they_are_submitted(open_copaw: Open) -> None:
    model = ScriptedChatModel(["[SILENT]"])
    async with open_copaw(model) as copaw:
        messages = said("marker-one")
        copaw.add_async_summary_task(messages)
        messages[0].content = "marker-two"
        messages.clear()
        await copaw.await_summary_tasks()
    assert "marker-one" in model.requests[0].text
    assert "marker-two" not in model.requests[0].text


async def test_tasks_take_turns_in_the_order_they_came(open_copaw: Open) -> None:
    running: list[str] = []
    most = 0

    async def begin(request: Request) -> ToolCall:
        nonlocal most
        running.append("run")
        most = max(most, len(running))
        await asyncio.sleep(0)
        return add("later") if "second" in request.text else note("first")

    async def end(request: Request) -> str:
        await asyncio.sleep(0)
        running.pop()
        return "second" if "second" in request.text else "first"

    async with open_copaw([begin, end, begin, end, begin, end]) as copaw:
        copaw.add_async_summary_task(said("the first"))
        copaw.add_async_summary_task(said("the second"))
        direct = asyncio.create_task(copaw.summary_memory(said("the second, asked for directly")))
        told = await copaw.await_summary_tasks()
        await direct
        assert told.splitlines() == [
            "Summary task completed: first",
            "Summary task completed: second",
        ]
        assert most == 1
        assert notes(copaw) == "# Notes\n\n- later\n- later\n- first\n"


async def test_nothing_to_summarise_is_no_task_and_no_message_is_refused(
    open_copaw: Open,
) -> None:
    async with open_copaw() as copaw:
        copaw.add_async_summary_task([])
        assert copaw.summary_tasks == []
        with pytest.raises(BadMessage):
            copaw.add_async_summary_task(["not a message", 7])
        assert records(copaw) == []


async def test_the_record_is_durable_before_the_call_returns(open_copaw: Open) -> None:
    async with open_copaw(["[SILENT]"]) as copaw:
        picture = ImageBlock(
            type="image", source=URLSource(type="url", url="data:image/png;base64,AAAA")
        )
        copaw.add_async_summary_task([Msg("user", [picture], "user"), *said("kept")])
        (record,) = records(copaw)
        row = json.loads(record.read_text())
        assert row["day"] == DAY
        assert row["messages"][1]["blocks"] == [{"type": "text", "text": "kept"}]
        assert "AAAA" not in record.read_text()
        await copaw.await_summary_tasks()


async def test_a_failing_model_keeps_the_task_and_the_next_success_takes_it_along(
    open_copaw: Open,
) -> None:
    async with open_copaw([DOWN, note("b"), "Noted b.", add("a"), "Noted a."]) as copaw:
        copaw.add_async_summary_task(said("a"))
        told = await copaw.await_summary_tasks()
        assert told.startswith("Summary task failed: ")
        assert "Connection error" in told
        assert notes(copaw) == ""
        status = await copaw.status()
        assert status.failures == {"summary": 1}
        assert "1 conversation(s) wait to be summarised." in status.answer
        copaw.add_async_summary_task(said("b"))
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted b."
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted a."
        assert notes(copaw) == "# Notes\n\n- a\n- b\n"
        assert records(copaw) == []


async def test_garbage_and_refused_runs_count_as_failures(open_copaw: Open) -> None:
    async with open_copaw(["I am Qwen.", note("x", "daily/x.md"), "Sorry."]) as copaw:
        copaw.add_async_summary_task(said("a"))
        assert "noted nothing" in await copaw.await_summary_tasks()
        assert len(records(copaw)) == 1
        copaw.add_async_summary_task(said("b"))
        assert "was refused" in await copaw.await_summary_tasks()
        assert len(records(copaw)) == 2


async def test_a_conversation_without_a_word_costs_no_model_call(open_copaw: Open) -> None:
    empty = [Msg("user", "", "user"), Msg("Friday", [], "assistant")]
    async with open_copaw() as copaw:
        copaw.add_async_summary_task(empty)
        assert await copaw.await_summary_tasks() == "Summary task completed: [SILENT]"
        assert await copaw.summary_memory(empty) == "[SILENT]"
        assert records(copaw) == []


async def test_nothing_worth_keeping_is_done(open_copaw: Open) -> None:
    async with open_copaw(["[SILENT]"]) as copaw:
        copaw.add_async_summary_task(said("hello"))
        assert await copaw.await_summary_tasks() == "Summary task completed: [SILENT]"
        assert records(copaw) == []


async def test_a_cancelled_task_says_so_and_is_gone_on_with_at_the_next_start(
    open_copaw: Open,
) -> None:
    begun = asyncio.Event()

    async def hang(request: Request) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with open_copaw([hang]) as copaw:
        copaw.add_async_summary_task(said("a"))
        await begun.wait()
        copaw.summary_tasks[0].cancel()
        assert await copaw.await_summary_tasks() == "Summary task was cancelled."
    async with open_copaw([note("a"), "Noted a."]) as copaw:
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted a."


async def test_closing_waits_for_summaries(open_copaw: Open) -> None:
    copaw = await open_copaw([note("a"), "Noted."]).start()
    copaw.add_async_summary_task(said("a"))
    assert await copaw.close() is True
    assert "- a" in notes(copaw)


async def test_closing_does_not_wait_for_ever_and_loses_nothing(open_copaw: Open) -> None:
    async def hang(request: Request) -> str:
        await asyncio.Event().wait()
        return ""

    hurried = QUIET.model_copy(update={"close_drain_seconds": 0.05})
    copaw = await open_copaw([hang], settings=hurried).start()
    copaw.add_async_summary_task(said("a"))
    copaw.add_async_summary_task(said("b"))
    assert await copaw.close() is False
    assert [task.cancelled() for task in copaw.summary_tasks] == [True, True]
    assert len(records(copaw)) == 2
    steps: list[Any] = [note("a"), "1", add("b"), "2"]
    async with open_copaw(steps) as again:
        assert len((await again.await_summary_tasks()).splitlines()) == 2
        assert notes(again) == "# Notes\n\n- b\n- a\n"


def test_without_an_event_loop_the_next_start_does_it(open_copaw: Open) -> None:
    open_copaw().add_async_summary_task(said("a"))

    async def later() -> str:
        async with open_copaw([note("a"), "Noted."]) as copaw:
            return await copaw.await_summary_tasks()

    assert asyncio.run(later()) == "Summary task completed: Noted."


async def test_the_notes_go_to_the_day_of_the_conversation(
    open_copaw: Open, clock: FakeClock
) -> None:
    copaw = open_copaw(None)
    await copaw.start()
    copaw.add_async_summary_task(said("a"))
    assert "chat_model" in await copaw.await_summary_tasks()
    await copaw.close()
    clock.advance(days=3)
    async with open_copaw([note("a"), "Noted."]) as copaw:
        await copaw.await_summary_tasks()
        assert [place.name for place in copaw.memory_path.iterdir()] == [f"{DAY}.md"]


async def test_a_host_that_sets_its_model_later_loses_no_attempt(open_copaw: Open) -> None:
    async with open_copaw(None) as copaw:
        for _ in range(2):
            copaw.add_async_summary_task(said("a"))
        await copaw.await_summary_tasks()
        assert [json.loads(record.read_text())["attempts"] for record in records(copaw)] == [0, 0]
        steps = [note("a"), "1", add("b"), "2", add("c"), "3"]
        copaw.chat_model = ScriptedChatModel(steps)
        copaw.add_async_summary_task(said("a"))
        await copaw.await_summary_tasks()
        await copaw.await_summary_tasks()
        assert records(copaw) == []


async def test_a_task_that_always_fails_is_left_to_a_person(open_copaw: Open) -> None:
    copaw = open_copaw(None)
    copaw.add_async_summary_task(said("poison"))
    for _ in range(MOST_ATTEMPTS):
        async with open_copaw([DOWN]) as copaw:
            await copaw.await_summary_tasks()
    async with open_copaw() as copaw:
        assert copaw.summary_tasks == []
        assert "1 of them failed too often" in (await copaw.status()).answer
        assert len(records(copaw)) == 1


async def test_a_host_that_submits_the_same_messages_again_pays_once(open_copaw: Open) -> None:
    """CoPaw's hook submits before every compaction, also of what it could not compact before."""
    model = ScriptedChatModel([note("a"), "Noted a.", add("b"), "Noted b."])
    first, second = said("marker-one"), said("marker-two")
    async with open_copaw(model) as copaw:
        copaw.add_async_summary_task(first)
        copaw.add_async_summary_task([*first, *second])
        copaw.add_async_summary_task(first)
        assert (await copaw.await_summary_tasks()).splitlines() == [
            "Summary task completed: Noted a.",
            "Summary task completed: Noted b.",
            "Summary task completed: these messages were submitted before",
        ]
        copaw.add_async_summary_task([*first, *second])
        assert "submitted before" in await copaw.await_summary_tasks()
        assert records(copaw) == []
        asked = [request.text for request in model.requests]
        assert sum("marker-one" in text for text in asked[:2]) == 2
        assert not any("marker-one" in text for text in asked[2:])


async def test_what_failed_is_tried_again_when_it_is_submitted_again(open_copaw: Open) -> None:
    messages = said("a")
    async with open_copaw([DOWN, note("a"), "Noted a."]) as copaw:
        copaw.add_async_summary_task(messages)
        assert "failed" in await copaw.await_summary_tasks()
        copaw.add_async_summary_task(messages)
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted a."
        assert records(copaw) == []


async def test_what_was_given_up_costs_no_run_however_often_it_is_submitted(
    open_copaw: Open,
) -> None:
    messages = said("poison")
    async with open_copaw([DOWN] * MOST_ATTEMPTS) as copaw:
        for _ in range(MOST_ATTEMPTS + 2):
            copaw.add_async_summary_task(messages)
            told = await copaw.await_summary_tasks()
        assert "failed too often" in told
        assert len(records(copaw)) == 1
    async with open_copaw() as copaw:
        copaw.add_async_summary_task(messages)
        assert "failed too often" in await copaw.await_summary_tasks()
        assert len(records(copaw)) == 1


async def test_what_was_cancelled_is_done_when_it_is_submitted_again(open_copaw: Open) -> None:
    messages = said("a")
    async with open_copaw([note("a"), "Noted a."]) as copaw:
        copaw.add_async_summary_task(messages)
        copaw.summary_tasks[0].cancel()
        assert await copaw.await_summary_tasks() == "Summary task was cancelled."
        copaw.add_async_summary_task(messages)
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted a."


async def test_an_unreadable_record_stops_nobody(open_copaw: Open) -> None:
    copaw = open_copaw(None)
    copaw.add_async_summary_task(said("a"))
    records(copaw)[0].with_name("0000.json").write_text("{torn")
    async with open_copaw([note("a"), "Noted."]) as copaw:
        assert await copaw.await_summary_tasks() == "Summary task completed: Noted."
        status = await copaw.status()
        assert "cannot be read" in status.last_failures["summary"]


async def test_two_memories_on_one_folder_edit_one_after_the_other(open_copaw: Open) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> ToolCall:
        begun.set()
        await go_on.wait()
        return note("slow")

    async with (
        open_copaw([slow, "Noted slow."]) as one,
        open_copaw([add("fast"), "Noted fast."]) as two,
    ):
        one.add_async_summary_task(said("a"))
        await begun.wait()
        two.add_async_summary_task(said("b"))
        await asyncio.sleep(0)
        assert notes(two) == ""
        go_on.set()
        await one.await_summary_tasks()
        assert await two.await_summary_tasks() == "Summary task completed: Noted fast."
        assert notes(two) == "# Notes\n\n- fast\n- slow\n"


@pytest.mark.parametrize(("state", "noted"), [("done", 0), ("never made", 1)])
async def test_a_crash_between_commit_and_record_notes_nothing_twice_and_loses_nothing(
    open_copaw: Open, state: str, noted: int
) -> None:
    """The line of the journal stands before the file: it may speak of what never came to be."""
    copaw = open_copaw(None)
    copaw.add_async_summary_task(said("a"))
    (record,) = records(copaw)
    async with copaw:
        parts = copaw._memory.parts
        journal = Journal(parts.workspace, disk=parts.disk, clock=parts.clock)
        place, text = copaw.memory_path / f"{DAY}.md", b"# Notes\n"
        parts.disk.stage(place, text)
        change = PathChange(TODAY, None, content_hash(text))
        name = operation_of(record.stem)
        journal.append(JournalEntry("c-1", journal.now(), "summary", name, (change,)))
        if state == "done":
            place.write_bytes(text)
    async with open_copaw([note("a"), "Noted."][: 2 * noted]) as again:
        await again.await_summary_tasks()
        assert notes(again).count("- a") == noted
        assert records(again) == []


async def test_no_task_or_thread_is_left_behind(open_copaw: Open) -> None:
    before = asyncio.all_tasks()
    async with open_copaw([note("a"), "Noted."]) as copaw:
        copaw.add_async_summary_task(said("a"))
    assert asyncio.all_tasks() == before
