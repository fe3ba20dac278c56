"""A 2.x message keeps its words, images, tool steps and time on the way to memory and back."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from agentscope import message as scope

from agentscope_reme.agentscope_v2 import from_neutral, to_neutral
from agentscope_reme.messages import (
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tests.agentscope_v2.agents import PIXEL


def url_block(url: str, media_type: str = "image/png") -> scope.DataBlock:
    source = scope.URLSource.model_validate({"url": url, "media_type": media_type})
    return scope.DataBlock(source=source)


def test_every_kind_of_block_is_read_and_hints_are_not() -> None:
    msg = scope.AssistantMsg(
        "Friday",
        [
            scope.HintBlock(hint="be brief"),
            scope.ThinkingBlock(thinking="hm"),
            scope.TextBlock(text="Look:"),
            scope.DataBlock(source=scope.Base64Source(data=PIXEL, media_type="image/png")),
            scope.ToolCallBlock(id="c1", name="read", input='{"path": "a.md"}'),
            scope.ToolResultBlock(id="c1", name="read", output="done"),
            scope.TextBlock(text=""),
        ],
        id="r1",
    )
    found = to_neutral(msg)
    assert (found.id, found.role, found.name) == ("r1", "assistant", "Friday")
    assert found.blocks == (
        ThinkingBlock(text="hm"),
        TextBlock(text="Look:"),
        DataBlock(media_type="image/png", data=PIXEL),
        ToolCallBlock(id="c1", name="read", input='{"path": "a.md"}'),
        ToolResultBlock(id="c1", name="read", output=(TextBlock(text="done"),)),
    )


def test_a_naive_time_is_this_machines_time_and_keeps_its_spelling() -> None:
    found = to_neutral(scope.UserMsg("Ann", "hi", created_at="2026-06-20T09:30:00.125"))
    assert found.created_at == datetime(2026, 6, 20, 9, 30, 0, 125000).astimezone()
    assert found.created_at_text == "2026-06-20T09:30:00.125"


def test_an_aware_time_stays_as_it_is() -> None:
    found = to_neutral(scope.UserMsg("Ann", "hi", created_at="2026-06-20T09:30:00+00:00"))
    assert found.created_at == datetime(2026, 6, 20, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("spelling", ["yesterday", "T"])
def test_a_time_nobody_can_read_is_no_time(spelling: str) -> None:
    found = to_neutral(scope.UserMsg("Ann", "hi", created_at=spelling))
    assert found.created_at is None
    assert found.created_at_text == spelling


def test_a_web_address_stays_a_reference() -> None:
    found = to_neutral(scope.UserMsg("Ann", [url_block("https://example.org/cat.png")]))
    assert found.blocks == (DataBlock(media_type="image/png", url="https://example.org/cat.png"),)


def test_a_local_file_of_a_message_becomes_its_bytes(tmp_path: Path) -> None:
    place = tmp_path / "two words.png"
    place.write_bytes(b"\x89PNG")
    found = to_neutral(scope.UserMsg("Ann", [url_block(place.as_uri())]))
    assert found.blocks == (
        DataBlock(media_type="image/png", data=base64.b64encode(b"\x89PNG").decode()),
    )


@pytest.mark.parametrize(
    "url", ["file:///no/such/file.png", "workspace:///data/abc.png", "file://host/share/a.png"]
)
def test_an_address_nobody_else_can_open_becomes_words(url: str) -> None:
    (block,) = to_neutral(scope.UserMsg("Ann", [url_block(url)])).blocks
    assert isinstance(block, TextBlock)
    assert block.text.endswith("not kept]")


def test_a_tools_answer_never_has_a_file_opened(tmp_path: Path) -> None:
    secret = tmp_path / "key.png"
    secret.write_bytes(b"secret")
    result = scope.ToolResultBlock(id="c", name="t", output=[url_block(secret.as_uri())])
    (block,) = to_neutral(scope.AssistantMsg("Friday", [result])).blocks
    assert isinstance(block, ToolResultBlock)
    assert isinstance(block.output[0], TextBlock)


def test_an_assistant_message_survives_the_round_trip() -> None:
    message = Message(
        id="m1",
        role="assistant",
        name="Friday",
        created_at=datetime(2026, 6, 20, 9, 30, tzinfo=UTC),
        created_at_text="2026-06-20T09:30:00+00:00",
        blocks=(
            ThinkingBlock(text="hm"),
            ToolCallBlock(id="c1", name="read", input="{}"),
            ToolResultBlock(
                id="c1",
                name="read",
                output=(TextBlock(text="x"), DataBlock(media_type="image/png", data=PIXEL)),
            ),
            TextBlock(text="done"),
            DataBlock(media_type="image/png", url="https://example.org/a.png"),
        ),
    )
    assert to_neutral(from_neutral(message)) == message


def test_roles_take_only_the_blocks_agentscope_allows_them() -> None:
    call = ToolCallBlock(id="c1", name="read", input="{}")
    result = ToolResultBlock(id="c1", name="read", omitted="2 KB")
    user = from_neutral(Message(role="user", name="u", blocks=(call, result)))
    assert user.get_text_content() == "[called read with {}]\n[read answered: 2 KB]"
    tool = from_neutral(Message(role="system", name="system", blocks=(result,)))
    assert tool.role == "assistant"
    system = from_neutral(Message(role="system", name="s", blocks=(TextBlock(text="rules"),)))
    assert (system.role, system.get_text_content()) == ("system", "rules")


def test_an_attachment_that_cannot_be_shown_is_named() -> None:
    kept = DataBlock(media_type="image/png", path="session/images/a.png", sha256="0", size=1)
    msg = from_neutral(Message(role="user", name="u", blocks=(kept,)))
    assert msg.get_text_content() == "[image/png kept at session/images/a.png]"
    odd = DataBlock(media_type="image/png", url="workspace:///data/a.png")
    assert from_neutral(Message(role="user", name="u", blocks=(odd,))).content[0].type == "text"
