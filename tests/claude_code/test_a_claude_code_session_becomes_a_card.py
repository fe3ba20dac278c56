"""A Claude Code session is archived, distilled into a card with its source, and found again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.claude_code.transcripts import (
    BOOKKEEPING,
    MORE,
    SESSION,
    TALK,
    lines,
    row,
    uuids,
    write_transcript,
)

Opener = Callable[..., ReMe]
ARCHIVE = f"session/claude_code/{SESSION}.jsonl"
LOGGED = f"claude_code/{SESSION}"
CARD = "daily/2026-06-20/launch.md"
WRITE = ToolCall(
    "daily_write", {"name": "launch", "description": "Launch on 9 July.", "content": "On 9 July."}
)
ADD = ToolCall("edit", {"path": CARD, "old": "On 9 July.", "new": "On 9 July, for 12,400 euros."})


async def test_the_card_is_dated_by_the_rows_and_linked_to_the_archive(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, [*BOOKKEEPING, *TALK])
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory_cc(
            session_id=SESSION, hint="dates matter", projects_dir=projects
        )
        front = (await reme.frontmatter_read(CARD)).frontmatter
        read = await reme.read(CARD, neighbors=True)
        found = await reme.search("launch 9 July")
        archived = (reme.workspace.root / ARCHIVE).read_bytes()
    assert (result.success, result.path, result.date) == (True, CARD, "2026-06-20")
    assert (result.created, result.pending, result.session_path) == (True, False, ARCHIVE)
    assert front["source_conversation"] == f"[[{ARCHIVE}]]"
    assert front["session_id"] == LOGGED
    assert [link.target_path for link in read.outlinks] == [ARCHIVE]
    assert found.hits[0].path == CARD
    assert archived == lines(TALK)
    asked = model.requests[0].text
    assert "[user @ 2026-06-20T12:00:00+02:00] Move the launch to 9 July" in asked
    assert "The launch is on 9 July now." in asked
    assert "I should look" not in asked
    assert "launch: 2 July" not in asked
    assert "dates matter" in asked


async def test_tool_results_stand_in_the_log_as_a_reference(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, TALK)
    async with open_memory() as reme:
        result = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        logs = list((reme.workspace.root / "session/dialog").iterdir())
    assert (result.success, result.pending) == (True, True)
    assert "there is no model" in result.answer
    log = logs[0].read_text("utf-8")
    assert '"omitted":"sha256=' in log
    assert "launch: 2 July" not in log


async def test_only_what_is_new_goes_to_the_model_and_nothing_new_calls_none(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, TALK)
    model = ScriptedChatModel([WRITE, "Recorded.", ADD, "Updated."])
    async with open_memory(model) as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
    async with open_memory(model) as reme:
        again = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        write_transcript(projects, [*TALK, *MORE])
        updated = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        twice = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        card = (reme.workspace.root / CARD).read_text("utf-8")
        archive = reme.workspace.root / ARCHIVE
    for silent in (again, twice):
        assert (silent.success, silent.model_calls, silent.modified) == (True, 0, False)
        assert silent.path == CARD
    assert (updated.path, updated.created, updated.modified) == (CARD, False, True)
    assert "12,400" in card
    assert "12,400" in model.requests[2].text
    assert "Move the launch" not in model.requests[2].text
    assert uuids(archive) == [r["uuid"] for r in (*TALK, *MORE)]
    model.assert_exhausted()


async def test_a_failing_model_leaves_the_increment_pending(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, TALK)
    model = ScriptedChatModel([ConnectionError("provider is down"), WRITE, "Recorded."])
    async with open_memory(model) as reme:
        failed = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        assert (failed.success, failed.pending, failed.path) == (False, True, None)
        assert uuids(reme.workspace.root / ARCHIVE) == [r["uuid"] for r in TALK]
        assert (await reme.status()).pending_sessions == [LOGGED]
        event = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        assert (event.success, event.path) == (True, CARD)
        assert (await reme.status()).pending_sessions == []


async def test_catching_up_needs_no_transcript_and_links_to_the_archive(
    open_memory: Opener, projects: Path
) -> None:
    place = write_transcript(projects, TALK)
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
    place.unlink()  # Claude Code deletes old transcripts
    async with open_memory(ScriptedChatModel([WRITE, "Recorded."])) as reme:
        result = await reme.auto_memory()
        front = (await reme.frontmatter_read(CARD)).frontmatter
        after = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
    assert (result.path, result.session_path) == (CARD, ARCHIVE)
    assert front["source_conversation"] == f"[[{ARCHIVE}]]"
    assert (after.model_calls, after.path) == (0, CARD)


async def test_a_crash_between_archive_and_log_loses_no_turn(
    open_memory: Opener, projects: Path
) -> None:
    place = write_transcript(projects, TALK)
    async with open_memory() as reme:
        archive = reme.workspace.root / ARCHIVE
        archive.parent.mkdir()
        archive.write_bytes(lines(TALK[:4]) + lines(TALK[4:])[:40])  # torn in the last row
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        kept = archive.read_bytes()
        place.unlink()
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        log = next((reme.workspace.root / "session/dialog").iterdir()).read_text("utf-8")
    assert kept == lines(TALK[:4]) + lines(TALK[4:])[:40] + b"\n" + lines(TALK[4:])
    assert [log.count(words) for words in ("Move the launch", "is on 9 July now")] == [1, 1]
    assert archive.read_bytes() == kept


async def test_a_row_that_is_still_being_written_comes_with_the_next_event(
    open_memory: Opener, projects: Path
) -> None:
    place = write_transcript(projects, TALK)
    whole = place.read_bytes()
    async with open_memory() as reme:
        place.write_bytes(whole[:-20])
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        assert uuids(reme.workspace.root / ARCHIVE) == ["u1", "a1", "a2", "u2"]
        place.write_bytes(whole)
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        assert (reme.workspace.root / ARCHIVE).read_bytes() == whole


async def test_days_of_one_session_have_a_card_each(open_memory: Opener, projects: Path) -> None:
    later = row("u9", "user", "The audit is done, launch stays.", at="2026-06-21T22:30:00Z")
    write_transcript(projects, [*TALK, later])
    model = ScriptedChatModel([WRITE, "Recorded."] * 2)
    async with open_memory(model) as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        cards = sorted(p.parent.name for p in (reme.workspace.root / "daily").glob("*/*.md"))
    assert cards == ["2026-06-20", "2026-06-22"]  # 22:30 UTC is the next day in Berlin


async def test_an_ordinary_session_of_the_same_id_is_another_session(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, TALK)
    model = ScriptedChatModel([WRITE, "Recorded."] * 2)
    turn = {"role": "user", "content": "Mine.", "created_at": "2026-06-20T09:00:00Z"}
    async with open_memory(model) as reme:
        own = await reme.auto_memory([turn], session_id=SESSION)
        theirs = await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        sources = [
            (await reme.frontmatter_read(str(path))).frontmatter["source_conversation"]
            for path in (own.path, theirs.path)
        ]
    assert (own.path, theirs.path) == (CARD, "daily/2026-06-20/launch-2.md")
    assert sources == [f"[[session/dialog/{SESSION}.jsonl]]", f"[[{ARCHIVE}]]"]
    assert (own.created, theirs.created) == (True, True)


async def test_the_newest_transcript_of_the_usual_place_is_taken(
    open_memory: Opener, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_transcript(projects, MORE, project="-old")
    write_transcript(projects, TALK, project="-new")
    os.utime(old, (1, 1))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(projects.parent))
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id=SESSION)
        assert (reme.workspace.root / ARCHIVE).read_bytes() == lines(TALK)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    home = projects.parents[1] / "home"
    write_transcript(home / ".claude/projects", MORE, session_id="other")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id="other")
        assert uuids(reme.workspace.root / "session/claude_code/other.jsonl") == ["u3", "a4"]


@pytest.mark.parametrize("session", ["../x", "a/b", "a\\b", "", " ", "..", "a\0b", "C:x", None, 7])
async def test_an_id_that_is_no_file_name_is_refused(
    open_memory: Opener, projects: Path, session: Any
) -> None:
    write_transcript(projects, TALK, session_id="x")
    async with open_memory() as reme:
        with pytest.raises(BadInput):
            await reme.auto_memory_cc(session_id=session, projects_dir=projects / "-p")
        assert list((reme.workspace.root / "session").rglob("*.jsonl")) == []


async def test_an_unknown_session_is_not_found(open_memory: Opener, projects: Path) -> None:
    (projects / "-p" / f"{SESSION}.jsonl").mkdir(parents=True)
    async with open_memory() as reme:
        for folder in (projects, projects / "nowhere"):
            with pytest.raises(NotFound, match="no transcript"):
                await reme.auto_memory_cc(session_id=SESSION, projects_dir=folder)


async def test_ids_that_need_another_file_name_keep_their_archives_apart(
    open_memory: Opener, projects: Path
) -> None:
    names = ["a session", "Chat", "chat", "x" * 150]
    for name in names:
        write_transcript(projects, [row(f"u-{name}", "user", "Hello.")], session_id=name)
    async with open_memory() as reme:
        for _ in range(2):
            results = [
                await reme.auto_memory_cc(session_id=name, projects_dir=projects) for name in names
            ]
        paths = [result.session_path for result in results]
        archives = [uuids(reme.workspace.root / path) for path in paths]
        waiting = (await reme.status()).pending_sessions
    assert archives == [[f"u-{name}"] for name in names]
    assert paths[0] == "session/claude_code/a%20session.jsonl"
    assert waiting == sorted(f"claude_code/{name}" for name in names)


async def test_a_turn_nobody_can_read_is_archived_and_reported(
    open_memory: Opener, projects: Path
) -> None:
    write_transcript(projects, [row("u0", "user", 7), *TALK])
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        status = await reme.status()
        assert uuids(reme.workspace.root / ARCHIVE)[0] == "u0"
        assert len(next((reme.workspace.root / "session/dialog").iterdir()).read_bytes()) > 0
    assert status.failures == {"auto_memory_cc": 1}


async def test_raw_rows_are_not_searched_but_what_was_said_is(
    open_memory: Opener, projects: Path
) -> None:
    hidden = row("s1", "assistant", "The subagent mentions a xylophone.", isSidechain=True)
    write_transcript(projects, [*TALK, hidden])
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        await reme.reindex()
        assert (await reme.search("xylophone")).hits == []
        hit = (await reme.search("audit needs a week")).hits[0]
        assert hit.path == f"session/dialog/claude_code%2F{SESSION}.jsonl"
        assert (await reme.doctor()).differences == []


async def test_two_calls_at_once_take_every_row_once(open_memory: Opener, projects: Path) -> None:
    write_transcript(projects, TALK)
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        results = await asyncio.gather(
            *(reme.auto_memory_cc(session_id=SESSION, projects_dir=projects) for _ in range(4))
        )
        assert uuids(reme.workspace.root / ARCHIVE) == [r["uuid"] for r in TALK]
    assert {result.path for result in results} == {CARD}
    assert sum(result.created for result in results) == 1
    model.assert_exhausted()


async def test_recalled_memory_in_a_session_is_not_remembered_again(
    open_memory: Opener, projects: Path
) -> None:
    recalled = "<recalled-memory>old fact</recalled-memory>What is new?"
    write_transcript(projects, [row("u1", "user", recalled)])
    async with open_memory(settings=Settings(watch=False, fsync=False)) as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=projects)
        log = next((reme.workspace.root / "session/dialog").iterdir()).read_text("utf-8")
    assert "What is new?" in log
    assert "old fact" not in log
