"""A 1.x message and its neutral form say the same, and binaries never become text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agentscope.message import Msg
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.agentscope_v1 import from_neutral, to_neutral
from agentscope_reme.messages import (
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tests.agentscope_v1.list_memory import PIXEL

BASE64_IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}


def url_block(kind: str, url: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "url", "url": url}}


def test_text_content_is_one_text_block() -> None:
    assert to_neutral(Msg("user", "hello", "user")).blocks == (TextBlock(text="hello"),)


def test_every_known_block_is_converted() -> None:
    msg = Msg(
        "Friday",
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "look"},
            BASE64_IMAGE,
            url_block("audio", "https://example.org/a.mp3?sig=1"),
            url_block("video", "clip"),
            {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "ä.md"}},
        ],
        "assistant",
    )

    assert to_neutral(msg).blocks == (
        ThinkingBlock(text="hm"),
        TextBlock(text="look"),
        DataBlock(media_type="image/png", data=PIXEL),
        DataBlock(media_type="audio/mpeg", url="https://example.org/a.mp3?sig=1"),
        DataBlock(media_type="video/*", url="clip"),
        ToolCallBlock(id="c1", name="read", input='{"path": "ä.md"}'),
    )


def test_a_tool_result_holds_text_and_images_apart() -> None:
    output = [{"type": "text", "text": "found"}, BASE64_IMAGE]
    msg = Msg(
        "system",
        [{"type": "tool_result", "id": "c1", "name": "read_image", "output": output}],
        "system",
    )

    (block,) = to_neutral(msg).blocks

    assert block == ToolResultBlock(
        id="c1",
        name="read_image",
        output=(TextBlock(text="found"), DataBlock(media_type="image/png", data=PIXEL)),
    )


def test_a_tool_result_may_be_plain_text() -> None:
    msg = Msg("system", [{"type": "tool_result", "id": "1", "name": "t", "output": "ok"}], "system")

    assert to_neutral(msg).blocks[0] == ToolResultBlock(
        id="1", name="t", output=(TextBlock(text="ok"),)
    )


def test_a_data_url_becomes_base64_and_not_text() -> None:
    msg = Msg("user", [url_block("image", f"data:image/png;base64,{PIXEL}")], "user")

    assert to_neutral(msg).blocks == (DataBlock(media_type="image/png", data=PIXEL),)


def test_arguments_that_could_not_be_parsed_are_kept_as_the_model_wrote_them() -> None:
    use = {"type": "tool_use", "id": "1", "name": "t", "input": {}, "raw_input": '{"path": "a'}

    (block,) = to_neutral(Msg("a", [use], "assistant")).blocks

    assert block == ToolCallBlock(id="1", name="t", input='{"path": "a')


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "hologram", "data": PIXEL},
        {"text": "no type", "data": PIXEL},
        {"type": "image"},
        {"type": "image", "source": {"type": "url"}},
        {"type": "text"},
        {"type": "tool_result", "id": "x"},
        17,
        None,
    ],
)
def test_unknown_and_broken_blocks_are_tolerated(odd: Any) -> None:
    message = to_neutral(Msg("user", [odd, {"type": "text", "text": "after"}], "user"))

    assert message.text.endswith("after")
    assert PIXEL not in message.model_dump_json()


def test_the_naive_timestamp_is_this_machines_time() -> None:
    msg = Msg("user", "hi", "user", timestamp="2026-03-04 05:06:07.089")

    message = to_neutral(msg)

    assert message.created_at is not None
    assert message.created_at.utcoffset() is not None
    assert message.created_at.replace(tzinfo=None).isoformat() == "2026-03-04T05:06:07.089000"
    assert message.created_at_text == "2026-03-04 05:06:07.089"


@pytest.mark.parametrize("stamp", ["yesterday", "12/31/2025", 5])
def test_a_timestamp_nobody_can_read_is_kept_as_text(stamp: Any) -> None:
    msg = Msg("user", "hi", "user")
    msg.timestamp = stamp

    message = to_neutral(msg)

    assert message.created_at_text == str(stamp)


def test_a_message_survives_the_way_back() -> None:
    msg = Msg(
        "Friday",
        [
            {"type": "text", "text": "look"},
            BASE64_IMAGE,
            url_block("image", "/tmp/local.png"),
            {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
        ],
        "assistant",
        timestamp="2026-03-04 05:06:07.089",
    )

    back = from_neutral(to_neutral(msg))

    expected = msg.to_dict()
    expected["content"][3]["raw_input"] = '{"path": "a"}'
    assert back.to_dict() == expected


def test_what_was_left_out_of_a_log_comes_back_as_words() -> None:
    message = Message(
        id="m1",
        role="system",
        name="system",
        blocks=(
            ToolResultBlock(id="1", name="t", omitted="42 bytes"),
            DataBlock(media_type="image/png", path="session/images/a.png"),
            DataBlock(media_type="application/pdf", data=PIXEL),
        ),
    )

    msg = from_neutral(message)

    assert msg.id == "m1"
    assert PIXEL not in json.dumps(msg.to_dict())
    assert "session/images/a.png" in json.dumps(msg.to_dict())
    assert "42 bytes" in json.dumps(msg.to_dict())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4))
def test_no_content_makes_the_conversion_fail(content: list[Any]) -> None:
    to_neutral(Msg("user", content, "user"))


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_tool_arguments_survive_the_way_back(arguments: dict[str, Any]) -> None:
    use = {"type": "tool_use", "id": "1", "name": "t", "input": arguments}

    back = from_neutral(to_neutral(Msg("a", [use], "assistant")))

    assert back.content[0]["input"] == arguments
