"""Plain dictionaries of many shapes become one neutral message, or are refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agentscope_reme import Message
from agentscope_reme.errors import BadMessage
from agentscope_reme.message_rows import TIME_KEYS
from agentscope_reme.messages import (
    DataBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    latest_moment,
    parse_moment,
    without_recalled,
)
from agentscope_reme.testing import FakeClock

PIXEL = "iVBORw0KGgo="


def test_a_missing_name_means_the_role() -> None:
    message = Message.from_dict({"role": "user", "content": "Jon lost his job today."})
    assert (message.name, message.text, message.id) == ("user", "Jon lost his job today.", None)


@pytest.mark.parametrize("key", TIME_KEYS)
@pytest.mark.parametrize("inside_metadata", [False, True])
def test_event_time_is_found_under_every_documented_name(key: str, inside_metadata: bool) -> None:
    time = {key: "2023-01-19T08:00:00"}
    row: dict[str, Any] = {"role": "user", "content": "x"}
    row |= {"metadata": time} if inside_metadata else time
    message = Message.from_dict(row)
    assert message.created_at == datetime(2023, 1, 19, 8)  # noqa: DTZ001 - naive on purpose
    assert message.created_at_text == "2023-01-19T08:00:00"


@pytest.mark.parametrize("value", [1674115200, 1674115200000, "1674115200", 1674115200.0])
def test_epoch_seconds_and_milliseconds_are_understood(value: object) -> None:
    assert parse_moment(value) == datetime(2023, 1, 19, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", ["not a date", "", None, True, [], 10**30, 10**400, "9" * 400, "2023-13-45"]
)
def test_what_is_no_time_is_none(value: object) -> None:
    assert parse_moment(value) is None


def test_an_unreadable_time_is_kept_as_text() -> None:
    message = Message.from_dict({"role": "user", "content": "x", "created_at": "not a date"})
    assert (message.created_at, message.created_at_text) == (None, "not a date")


def test_the_latest_moment_is_an_instant_seen_in_the_workspace_zone() -> None:
    clock = FakeClock(timezone="Europe/Berlin")
    rows = ["2023-01-19T08:00:00", "2023-01-20T00:30:00+09:00"]
    messages = [Message.from_dict({"role": "user", "content": "x", "created_at": r}) for r in rows]
    latest = latest_moment(messages, clock)
    assert latest is not None
    assert latest.date().isoformat() == "2023-01-19"
    assert latest == datetime(2023, 1, 20, 0, 30, tzinfo=timezone(timedelta(hours=9)))


def test_openai_parts_tool_calls_and_tool_results_are_read() -> None:
    asked = Message.from_dict(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"q": 1}'}}],
        }
    )
    assert asked.blocks == (ToolCallBlock(id="c1", name="look", input='{"q": 1}'),)
    answered = Message.from_dict({"role": "tool", "tool_call_id": "c1", "content": "found"})
    assert answered.blocks == (
        ToolResultBlock(id="c1", name="", output=(TextBlock(text="found"),)),
    )
    shown = Message.from_dict(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ],
        }
    )
    assert shown.images() == [
        (1, DataBlock(media_type="image/png", data=PIXEL)),
        (2, DataBlock(media_type="image/*", url="https://example.org/a.png")),
    ]


def test_a_stored_message_reads_back_as_itself() -> None:
    message = Message.from_dict(
        {
            "id": "m",
            "role": "user",
            "content": [
                {"type": "text", "text": "a\u2028b"},
                {"type": "image", "source": {"media_type": "image/png", "data": PIXEL}},
            ],
            "created_at": "2026-06-20T10:00:00+02:00",
        }
    )
    assert Message.model_validate_json(message.model_dump_json()) == message


@pytest.mark.parametrize(
    "row",
    [
        {"content": "no role"},
        {"role": "wizard", "content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": [5]},
        {"role": "user", "content": b"bytes"},
    ],
)
def test_what_is_no_message_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        Message.from_dict(row)


@pytest.mark.parametrize("kind", ["input_audio", "refusal", "file", "hologram"])
def test_an_unknown_block_is_noted_and_the_rest_of_the_turn_kept(kind: str) -> None:
    parts = [{"type": "text", "text": "listen"}, {"type": kind, kind: {"data": PIXEL}}]
    message = Message.from_dict({"role": "user", "content": parts})
    assert message.text == f"listen\n({kind} not kept)"
    answered = Message.from_dict({"role": "tool", "tool_call_id": "c", "content": parts})
    assert answered.blocks[0].model_dump()["output"][1]["text"] == f"({kind} not kept)"


def test_an_image_that_is_only_an_upload_elsewhere_is_noted() -> None:
    part = {"type": "image_url", "image_url": {"file_id": "f-1"}}
    assert Message.from_dict({"role": "user", "content": [part]}).text == "(image_url not kept)"


def _called(**call: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _with(**block: Any) -> dict[str, Any]:
    return {"role": "user", "content": [block]}


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: Any = "x"
for _ in range(5000):
    DEEP = [{"type": "tool_result", "id": "c", "name": "n", "output": DEEP}]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("hello", "object"),
        ({"role": "user", "content": DEEP}, "deep"),
        ({"role": ["user"], "content": "x"}, "role"),
        ({"role": "assistant", "tool_calls": "look"}, "tool_calls"),
        ({"role": "assistant", "tool_calls": {"id": "c"}}, "tool_calls"),
        ({"role": "assistant", "tool_calls": 5}, "tool_calls"),
        ({"role": "assistant", "tool_calls": ["look"]}, "tool_calls"),
        (_called(id="c", function="look"), "function"),
        (_called(id="c", function={"name": "n", "arguments": {1, 2}}), "arguments"),
        (_called(id="c", function={"name": "n", "arguments": CIRCLE}), "arguments"),
        (_with(type="text"), "text"),
        (_with(type="text", text=["x"]), "text"),
        (_with(type="thinking", thinking={}), "thinking"),
        (_with(type=5), "type"),
        (_with(type=None), "type"),
        (_with(type=" "), "type"),
        (_with(type=["text"]), "type"),
        (_with(type="image_url", image_url=5), "image_url"),
        (_with(type="image_url"), "image_url"),
        (_with(type="image_url", image_url={"url": 5}), "image_url"),
        (_with(type="image", source="here"), "source"),
        (_with(type="image", source={"data": 5}), "data"),
        (_with(type="data", source={"size": "big"}), "size"),
        (_with(type="data", source={"path": ["a"]}), "path"),
        (_with(type="tool_result", output=5), "content"),
        (_with(type="tool_result", omitted=5), "omitted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_row_is_refused_and_told_why(row: Any, named: str) -> None:
    with pytest.raises(BadMessage, match=named):
        Message.from_dict(row)


def test_half_characters_are_replaced_and_the_rest_is_kept() -> None:
    row = {
        "id": "m\ud83d",
        "role": "user",
        "name": "Ann\udc00",
        "content": [
            {"type": "text", "text": "a\ud83db \ud83d\ude00"},
            {"type": "tool_use", "id": "c", "name": "n", "input": {"q": "\udfff"}},
            {"type": "tool_result", "id": "c", "name": "n", "output": "x\ud800"},
        ],
    }
    message = Message.from_dict(row)
    assert (message.id, message.name, message.text) == (
        "m\ufffd",
        "Ann\ufffd",
        "a\ufffdb \U0001f600",
    )
    assert Message.model_validate_json(message.model_dump_json()) == message


def said(*texts: str) -> Message:
    blocks = tuple(TextBlock(text=text) for text in texts)
    return Message(role="user", name="Ann", blocks=blocks)


RECALLED = '<recalled-memory note="Quoted.">\n[a.md] tea > coffee\n</recalled-memory>'


def test_only_the_recalled_span_of_a_turn_is_taken_out() -> None:
    turn = said(f"Before.\n{RECALLED}\nAfter.", f"{RECALLED}\n\nWhat now?", RECALLED)
    assert without_recalled(turn) == said("Before.\n\nAfter.", "What now?")
    assert without_recalled(said(f"{RECALLED} and {RECALLED}")) == said("and")
    assert without_recalled(said(RECALLED)) is None


@pytest.mark.parametrize(
    "text",
    [
        "What does <recalled-memory mean?",
        "It begins with <recalled-memory> and never ends.",
        "</recalled-memory> comes first, <recalled-memory> second",
        "<recalled-memory-notes>mine</recalled-memory-notes>",
        "a <recalled-memory" * 20_000,
        "a <recalled-memory>" * 20_000,
    ],
    ids=["no tag", "open", "reversed", "another tag", "many heads", "many openings"],
)
def test_who_only_speaks_of_the_tag_is_kept(text: str) -> None:
    turn = said(text)
    assert without_recalled(turn) is turn
