"""The Stop hook needs the standard library only, is quick, and never stops Claude Code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentscope_reme.hooks.claude_code_stop as hook
from tests.claude_code.processes import MODULE, PATIENCE, SCRIPT, Desk, event
from tests.claude_code.transcripts import SESSION, TALK, row, uuids, write_transcript

NO_PYTHON = "/nonexistent/python"
"""Keeps a worker from being started, so that what the hook leaves can be looked at."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def notes(desk: Desk) -> list[dict[str, str]]:
    queue = desk.workspace / hook.FOLDER / hook.QUEUE
    return [json.loads((queue / name).read_bytes()) for name in desk.queue]


def test_importing_it_loads_neither_agentscope_nor_pydantic() -> None:
    program = (
        "import sys, agentscope_reme.hooks.claude_code_stop, agentscope_reme.hooks;"
        "foreign = {'agentscope', 'pydantic', 'filelock', 'numpy', 'yaml', 'watchfiles'};"
        "print(sorted(foreign & {name.split('.')[0] for name in sys.modules}))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout.strip() == b"[]"


def test_the_script_runs_by_its_path_without_any_installed_package(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    bare = [sys.executable, "-I", "-S", SCRIPT, "--settle-seconds", "0"]
    given = {"REME_WORKSPACE": str(desk.workspace), "REME_PYTHON": sys.executable}
    patience = ["--patience-seconds", str(PATIENCE)]
    desk.run([*bare, *patience], event(transcript), **given)
    desk.served()
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in TALK]
    assert desk.log == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00garbage",
        b"[]",
        b"{}",
        b"null",
        b'{"session_id": 7}',
        b'{"session_id": " ", "transcript_path": null}',
        b"[" * 200_000,
        b'{"session_id": "' + b"x" * 2_000_000,
    ],
    ids=lambda data: repr(data[:20]),
)
def test_garbage_is_logged_and_forgotten(desk: Desk, data: bytes) -> None:
    complaints = desk.run(desk.command("--python", NO_PYTHON), data)
    assert complaints == ""
    assert desk.queue == []
    assert desk.log.count("\n") == 1
    assert "stop hook: ValueError" in desk.log


@pytest.mark.parametrize(
    "options",
    [["--no-such-option"], ["--settle-seconds", "soon"], ["--workspace", ""], ["--help"]],
    ids=" ".join,
)
def test_a_wrong_command_line_is_told_and_not_punished(desk: Desk, options: list[str]) -> None:
    process = desk.start([sys.executable, *MODULE, *options])
    _, complaints = process.communicate(b"{}", timeout=PATIENCE)
    assert process.returncode == 0
    assert b"usage:" in complaints or options == ["--help"]
    assert not desk.workspace.exists()


def test_a_workspace_that_cannot_be_written_is_told_and_not_punished(desk: Desk) -> None:
    desk.workspace.write_text("a file")
    complaints = desk.run(desk.command(), event(desk.projects / "-p/x.jsonl"))
    assert "stop hook:" in complaints
    assert desk.workspace.read_text() == "a file"


def test_a_worker_that_cannot_be_started_leaves_the_note_and_a_line(desk: Desk) -> None:
    transcript = write_transcript(desk.projects, TALK)
    desk.stop(transcript, "--python", NO_PYTHON)
    assert notes(desk) == [{"session_id": SESSION, "transcript_path": str(transcript)}]
    assert "FileNotFoundError" in desk.log
    desk.stop(transcript)
    desk.served()
    assert desk.cards() == ["daily/2026-06-20/launch.md"]


def test_events_of_one_session_share_a_note(desk: Desk) -> None:
    for session in ("a", "b", "a"):
        for active in (False, True):
            place = desk.projects / f"-p/{session}.jsonl"
            sent = event(place, stop_hook_active=active, session_id="resumed")
            desk.run(desk.command("--python", NO_PYTHON), sent)
    assert sorted(note["session_id"] for note in notes(desk)) == ["a", "b"]


def test_an_event_without_a_path_is_noted_by_its_session(desk: Desk) -> None:
    desk.run(desk.command("--python", NO_PYTHON), b'{"session_id": "abc"}')
    assert notes(desk) == [{"session_id": "abc"}]


def test_it_returns_within_a_second_however_long_the_transcript(desk: Desk) -> None:
    said = [row(f"u{n}", "user", "x" * 10_000) for n in range(2000)]
    transcript = write_transcript(desk.projects, said)
    assert transcript.stat().st_size > 20_000_000
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        desk.stop(transcript, model=False)
        taken.append(time.perf_counter() - started)
    assert min(taken) < 1
    desk.served()
    assert uuids(desk.archive(SESSION)) == [r["uuid"] for r in said]


def test_it_gives_up_by_itself_when_nobody_ends_its_input(desk: Desk) -> None:
    process = desk.start(desk.command("--patience-seconds", "0.2"))
    assert process.wait(timeout=PATIENCE) == 0  # standard input is still open
    process.communicate()
    assert desk.queue == []


def test_a_project_cannot_put_its_own_code_into_the_hook_or_the_worker(desk: Desk) -> None:
    for name in ("json.py", "asyncio.py", "agentscope_reme.py", "argparse.py"):
        (desk.cwd / name).write_text(f"open({str(desk.cwd / 'ran')!r}, 'w')")
    desk.stop(write_transcript(desk.projects, TALK))
    desk.served()
    assert desk.cards() == ["daily/2026-06-20/launch.md"]
    assert not (desk.cwd / "ran").exists()


def test_a_memory_that_is_itself_claude_code_announces_nothing(desk: Desk) -> None:
    inside = {"REME_CLAUDE_CODE_WORKER": "1"}
    desk.run(desk.command(), event(desk.projects / "-p/x.jsonl"), **inside)
    assert not desk.workspace.exists()


def test_a_large_log_is_put_aside(tmp_path: Path) -> None:
    folder = tmp_path / hook.FOLDER
    folder.mkdir()
    (folder / "hook.log").write_bytes(b"x" * 1_100_000)
    hook.log(tmp_path, "one\nline")
    assert (folder / "hook.log").read_bytes().endswith(b" one line\n")
    assert os.path.getsize(folder / "hook.log.1") == 1_100_000
