"""Conversations that wait to be summarised: copies of what was said, so forgetting reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.summary_records import message_rows, record_places, without_messages
from agentscope_reme.files.traces import Traces
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.forget_sessions import Conversation, Conversations, LogLine, words_said
from agentscope_reme.vault.erasure import Rewrite
from agentscope_reme.workspace import Workspace

SUMMARY: Final = "summary"
"""The layer of such a conversation; its lines are the messages, numbered from 1."""


def add_summaries(talks: Conversations, workspace: Workspace, disk: Disk) -> None:
    """Take the waiting conversations in.

    Raises:
        StorageFailed: one cannot be read: nobody could say whether it holds what is forgotten.
    """
    for place in record_places(workspace):
        with suppress(NotFound):  # done meanwhile
            data = disk.read(place)
            path = place.relative_to(workspace.root).as_posix()
            talks.add(Conversation(path, f"{SUMMARY} {place.stem}", SUMMARY, data, _lines(data)))


def sweep_summaries(talks: Conversations, traces: Traces) -> None:
    """Let the messages go that repeat what goes, in whatever conversation it was said."""
    for talk in talks.loaded:
        if talk.layer == SUMMARY:
            talk.gone |= {line.number for line in talk.lines if traces.in_text(line.text)}


def rewritten_summaries(talks: Conversations) -> Mapping[str, Rewrite]:
    """What their files shall hold; nothing for those of which no message is left."""
    return {
        talk.path: Rewrite(_without_gone(talk), content_hash(talk.data), len(talk.data))
        for talk in talks.touched
        if talk.layer == SUMMARY
    }


def _without_gone(talk: Conversation) -> bytes:
    try:
        return without_messages(talk.data, {number - 1 for number in talk.gone}) or b""
    except (ValueError, KeyError, TypeError):  # nobody can tell what else stands in it
        return b""


def _lines(data: bytes) -> list[LogLine]:
    try:
        rows = message_rows(data)
    except (ValueError, KeyError, TypeError):
        return [LogLine(1, data, text=data.decode("utf-8", "replace"))]
    return [
        LogLine(number, b"", str(row.get("id") or ""), words_said(row))
        for number, row in enumerate(rows, 1)
    ]
