"""Transcripts as Claude Code writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SESSION = "5f0c8a8e-3f0b-4a51-9d0a-7d6c0f4f1a11"


def row(
    uuid: str, kind: str, content: Any, *, at: str = "10:00:00", **fields: Any
) -> dict[str, Any]:
    """One turn, with what Claude Code writes around it."""
    moment = at if "T" in at else f"2026-06-20T{at}.000Z"
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{uuid}", "type": "message", "model": "claude-sonnet-4-5"}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/mei/launch",
        "sessionId": SESSION,
        "version": "2.0.14",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": moment,
        **fields,
    }


BOOKKEEPING: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Launch plan", "leafUuid": "a2"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
]

TALK: list[dict[str, Any]] = [
    row("u1", "user", "Move the launch to 9 July, the audit needs a week.", at="10:00:00"),
    row(
        "a1",
        "assistant",
        [{"type": "thinking", "thinking": "I should look.", "signature": "c2ln"}],
        at="10:00:02",
    ),
    row(
        "a2",
        "assistant",
        [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "plan.md"}}],
        at="10:00:03",
    ),
    row(
        "u2",
        "user",
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "launch: 2 July"}],
        at="10:00:04",
        toolUseResult={"file": {"content": "launch: 2 July"}},
    ),
    row(
        "a3", "assistant", [{"type": "text", "text": "The launch is on 9 July now."}], at="10:00:09"
    ),
]

MORE: list[dict[str, Any]] = [
    row("u3", "user", "The budget is 12,400 euros.", at="11:00:00"),
    row("a4", "assistant", [{"type": "text", "text": "Noted: 12,400 euros."}], at="11:00:05"),
]


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in rows)


def write_transcript(
    projects: Path,
    rows: Iterable[dict[str, Any]],
    *,
    session_id: str = SESSION,
    project: str = "-p",
) -> Path:
    """The transcript of a session below a folder of projects."""
    place = projects / project / f"{session_id}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(lines(rows))
    return place


def uuids(archive: Path) -> list[str]:
    """The uuids of the rows in an archive, in order; unreadable lines are passed over."""
    found = []
    for line in archive.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line)["uuid"])
        except (ValueError, KeyError):
            continue
    return found
