"""After a Stop event a detached worker archives and distils; nothing that kills it loses a turn."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from tests.claude_code.processes import Desk, event
from tests.claude_code.transcripts import MORE, SESSION, TALK, row, uuids, write_transcript

CARD = "daily/2026-06-20/launch.md"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def pending(desk: Desk) -> list[str]:
    async with ReMe(desk.workspace, settings=Settings(watch=False)) as reme:
        return (await reme.status()).pending_sessions


async def test_a_stop_becomes_a_card_and_a_stop_without_news_nothing(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.stop(transcript)
    desk.served()
    card = (desk.workspace / CARD).read_text("utf-8")
    assert f"[[session/claude_code/{SESSION}.jsonl]]" in card
    assert len(desk.calls) == 2
    desk.stop(transcript)
    desk.served()
    assert len(desk.calls) == 2
    write_transcript(desk.projects, [*TALK, *MORE])
    desk.stop(transcript)
    desk.served()
    assert len(desk.calls) == 3
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in (*TALK, *MORE)]
    assert await pending(desk) == []
    assert desk.log == ""


async def test_without_a_model_it_records_and_a_later_model_catches_up(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.stop(transcript, model=False)
    desk.served()
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in TALK]
    assert await pending(desk) == [f"claude_code/{SESSION}"]
    other = write_transcript(desk.projects, [row("o1", "user", "Another.")], session_id="other")
    desk.stop(other)
    desk.served()
    assert len(desk.cards()) == 2
    assert await pending(desk) == []
    assert desk.log == ""


async def test_a_model_that_is_down_is_asked_again_by_the_next_event(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.model("down")
    desk.stop(transcript)
    desk.served()
    assert desk.cards() == []
    assert "pending" in desk.log
    assert "provider is down" in desk.log
    assert len(desk.calls) == 1
    assert await pending(desk) == [f"claude_code/{SESSION}"]
    desk.model("answers")
    desk.stop(transcript)
    desk.served()
    assert desk.cards() == [CARD]
    assert await pending(desk) == []


async def test_two_events_at_once_take_every_row_once(desk: Desk) -> None:
    first = write_transcript(desk.projects, TALK)
    second = write_transcript(desk.projects, [row("o1", "user", "Another.")], session_id="other")
    hooks = [desk.start(desk.command()) for _ in range(4)]
    for process, transcript in zip(hooks, (first, second) * 2, strict=True):
        process.communicate(event(transcript))
    desk.served()
    desk.served()  # a worker that lost the race may have been late to notice
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in TALK]
    assert uuids(desk.archive("other")) == ["o1"]
    assert desk.cards() == ["daily/2026-06-20/launch-2.md", CARD]
    assert len(desk.calls) == 4
    assert await pending(desk) == []


@pytest.mark.crash
async def test_a_worker_that_is_killed_is_followed_by_the_next(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.model("hang")
    desk.stop(transcript)
    desk.until(lambda: desk.calls)
    os.kill(desk.calls[0], signal.SIGKILL)
    desk.at_rest()
    assert [name.rpartition(".")[2] for name in desk.queue] == ["taken"]
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in TALK]
    desk.model("answers")
    write_transcript(desk.projects, [*TALK, *MORE])
    desk.stop(transcript)
    desk.served()
    assert desk.cards() == [CARD]
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in (*TALK, *MORE)]
    assert await pending(desk) == []


def test_an_event_during_the_work_is_served_by_the_worker_at_work(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.stop(transcript, settle="2.5")
    write_transcript(desk.projects, [*TALK, *MORE])
    desk.stop(transcript)
    desk.served()
    assert len(set(desk.calls)) == 1
    assert len(desk.calls) == 2  # one run for both events
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in (*TALK, *MORE)]


def test_a_missing_transcript_is_logged_and_its_note_dropped(desk: Desk) -> None:
    desk.stop(desk.projects / "-p/gone.jsonl")
    desk.served()
    assert "dropped a note: NotFound" in desk.log
    assert desk.calls == []


def test_a_damaged_note_does_not_block_the_others(desk: Desk) -> None:
    queue = desk.workspace / ".claude_code/queue"
    queue.mkdir(parents=True)
    for number, note in enumerate(
        [b"", b"[]", b"{}", b'{"session_id": 7}', b'{"session_id": "../x"}']
    ):
        (queue / f"{number}.json").write_bytes(note)
    desk.stop(write_transcript(desk.projects, TALK))
    desk.served()
    assert desk.cards() == [CARD]
    assert desk.log.count("dropped a note") == 5


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('no key')", "RuntimeError: no key"),
        ("def open_memory(workspace): return 7", "it returned int, not a ReMe"),
        ("", "AttributeError"),
    ],
)
async def test_a_broken_memory_of_the_person_costs_no_words(
    desk: Desk, code: str, told: str
) -> None:
    desk.memory.write_text(code)
    desk.stop(write_transcript(desk.projects, TALK))
    desk.served()
    assert told in desk.log
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in TALK]
    assert await pending(desk) == [f"claude_code/{SESSION}"]


def test_a_workspace_that_cannot_be_opened_keeps_the_note(desk: Desk) -> None:
    desk.workspace.mkdir()
    (desk.workspace / "session").write_text("in the way")
    desk.stop(write_transcript(desk.projects, TALK))
    desk.until(lambda: "StorageFailed" in desk.log)
    desk.at_rest()
    assert len(desk.queue) == 1
    (desk.workspace / "session").unlink()
    desk.stop(write_transcript(desk.projects, TALK))
    desk.served()
    assert desk.cards() == [CARD]
