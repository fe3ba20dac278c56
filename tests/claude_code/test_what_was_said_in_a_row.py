"""Of a transcript's rows only what person and assistant said to each other becomes a turn."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agentscope_reme.errors import BadMessage
from agentscope_reme.files.claude_code_rows import RowReader, rows_of, without_injected
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from tests.claude_code.transcripts import BOOKKEEPING, TALK, lines, row


def heard(*rows: dict[str, Any]) -> list[Message]:
    reader = RowReader()
    said = (reader.said_in(found) for found in rows_of(lines(rows).splitlines(keepends=True)))
    return [message for message in said if message is not None]


def test_a_talk_keeps_words_calls_and_times_and_no_thinking() -> None:
    said = heard(*BOOKKEEPING, *TALK)
    assert [m.id for m in said] == ["u1", "a2", "u2", "a3"]
    assert [m.role for m in said] == ["user", "assistant", "user", "assistant"]
    assert said[0].created_at_text == "2026-06-20T10:00:00.000Z"
    assert said[0].created_at is not None
    assert said[0].created_at.isoformat() == "2026-06-20T10:00:00+00:00"
    assert said[1].blocks == (
        ToolCallBlock(id="toolu_1", name="Read", input='{"file_path": "plan.md"}'),
    )
    assert said[2].blocks == (
        ToolResultBlock(id="toolu_1", name="Read", output=(TextBlock(text="launch: 2 July"),)),
    )
    assert said[3].text == "The launch is on 9 July now."


@pytest.mark.parametrize(
    "content",
    [
        "<system-reminder>Your todo list is empty.</system-reminder>",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n"
        "<command-args></command-args>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "ok <system-reminder>\nmany words of a reminder\n</system-reminder> thanks",
        [
            {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
            {"type": "text", "text": "and now?"},
        ],
        [],
        "",
    ],
)
def test_injected_elements_with_few_other_characters_are_nobodys_words(content: Any) -> None:
    assert heard(row("u", "user", content)) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("yes", "yes"),
        (
            "Use tabs in this project.<system-reminder>private</system-reminder>",
            "Use tabs in this project.",
        ),
        (
            "<command-name>/plan</command-name><command-args>fix the login timeout</command-args>",
            "fix the login timeout",
        ),
        ("What is <system-reminder> for?", "What is <system-reminder> for?"),
        (
            "<b>0123456789</b><bash-input>ls</bash-input>",
            "<b>0123456789</b>",
        ),
    ],
)
def test_the_words_beside_them_are_kept(content: str, words: str) -> None:
    assert [m.text for m in heard(row("u", "user", content))] == [words]


def test_sixteen_other_characters_are_enough() -> None:
    reminder = "<system-reminder>x</system-reminder>"
    assert heard(row("u", "user", "a" * 15 + reminder)) == []
    assert [m.text for m in heard(row("u", "user", "a" * 16 + reminder))] == ["a" * 16]


def test_what_an_assistant_quotes_is_kept_as_it_is() -> None:
    quoted = "It said <system-reminder>x</system-reminder>"
    assert heard(row("a", "assistant", [{"type": "text", "text": quoted}]))[0].text == quoted


@pytest.mark.parametrize(
    "mark",
    [
        {"isSidechain": True},
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isApiErrorMessage": True},
        {"type": "system"},
        {"type": "progress"},
        {"message": None},
        {"message": {"role": "assistant", "model": "<synthetic>", "content": "No response."}},
    ],
)
def test_rows_nobody_said_are_passed_over(mark: dict[str, Any]) -> None:
    assert heard(row("x", "assistant", "A subagent reports at length.") | mark) == []


def test_images_and_a_tool_result_beside_a_reminder_are_kept() -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    content = [
        {"type": "image", "source": picture},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]},
        {"type": "tool_result", "tool_use_id": "t", "content": None},
        {"type": "document", "source": {**picture, "media_type": "application/pdf"}},
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
    ]
    blocks = heard(row("u", "user", content))[0].blocks
    assert [type(b) for b in blocks] == [DataBlock, ToolResultBlock, ToolResultBlock, DataBlock]
    assert isinstance(blocks[3], DataBlock)
    assert blocks[3].media_type == "application/pdf"


@pytest.mark.parametrize("content", [7, {"text": "x"}, [{"type": "text", "text": 7.5}, {"no": 1}]])
def test_a_turn_in_an_unknown_form_is_refused_by_name(content: Any) -> None:
    with pytest.raises(BadMessage):
        heard(row("u", "user", content))


def test_lines_that_are_no_rows_are_passed_over() -> None:
    deep = b'{"uuid": ' + b"[" * 100_000
    broken = [b"", b"\xff\xfe", b'["uuid"]', b'{"uuid": 7}', b'{"uuid": ""}', b'{"uuid": "to', deep]
    whole = json.dumps({"uuid": "x", "type": "system"}).encode()
    found = list(rows_of([*(line + b"\n" for line in broken), whole]))
    assert [(r.uuid, r.raw) for r in found] == [("x", whole)]


def test_many_open_tags_take_no_longer_than_their_length() -> None:
    text = "<system-reminder>" * 100_000
    started = time.perf_counter()
    assert without_injected(text) == (text, False)
    assert time.perf_counter() - started < 5
