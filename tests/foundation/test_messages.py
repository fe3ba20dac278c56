"""Plain dictionaries of many shapes become one neutral message, or are refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agentscope_reme import Message
from agentscope_reme.errors import BadMessage
from agentscope_reme.messages import (
    TIME_KEYS,
    DataBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    latest_moment,
    parse_moment,
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


@pytest.mark.parametrize("value", ["not a date", "", None, True, [], 10**30, "2023-13-45"])
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
        {"role": "user", "content": [{"type": "hologram"}]},
    ],
)
def test_what_is_no_message_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        Message.from_dict(row)
