"""One loader reads every format a conversation comes in, and refuses the rest with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conversations import (
    Conversation,
    Question,
    UnreadableConversation,
    load_conversation,
    parse_conversation,
)

from agentscope_reme.messages import DataBlock, Message, ToolCallBlock, ToolResultBlock

OPENAI = [
    {"role": "system", "content": "Be kind."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a kiln"},
    {"role": "assistant", "content": "A kiln.", "created_at": "2026-06-18T09:00:00"},
]

FIRST_LINE: list[dict[str, Any]] = [
    {
        "id": "m1",
        "name": "Mira",
        "role": "user",
        "content": "Hello",
        "metadata": None,
        "timestamp": "2026-06-18 09:00:00.123",
    },
    {
        "id": "m2",
        "name": "Friday",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "t1", "name": "clock", "input": {"zone": "UTC"}},
        ],
        "metadata": {},
        "timestamp": "2026-06-18 09:00:01.000",
    },
    {
        "id": "m3",
        "name": "system",
        "role": "system",
        "content": [{"type": "tool_result", "id": "t1", "name": "clock", "output": "nine"}],
        "metadata": {},
        "timestamp": "2026-06-18 09:00:02.000",
    },
]

SECOND_LINE: list[dict[str, Any]] = [
    {
        "id": "m1",
        "name": "Mira",
        "role": "user",
        "created_at": "2026-06-18T09:00:00.000123",
        "content": [
            {"type": "text", "text": "Look", "id": "b1"},
            {
                "type": "data",
                "id": "b2",
                "name": None,
                "source": {"type": "base64", "data": "QUJD", "media_type": "image/png"},
            },
        ],
    },
    {
        "id": "m2",
        "name": "Friday",
        "role": "assistant",
        "created_at": "2026-06-18T09:00:01",
        "content": [
            {"type": "hint", "hint": "The time is nine.", "source": "runtime", "id": "b3"},
            {"type": "tool_call", "id": "t1", "name": "clock", "input": '{"zone": "UTC"}'},
            {"type": "tool_result", "id": "t1", "name": "clock", "output": "nine"},
            {"type": "text", "text": "A kiln at nine.", "id": "b4"},
        ],
    },
]

LOCOMO = {
    "speaker_a": "Ana",
    "speaker_b": "Ben",
    "session_2_date_time": "12:05 am on 1 January, 2024",
    "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "Happy new year!"}],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "I bought a kiln."},
        {
            "speaker": "Ben",
            "dia_id": "D1:2",
            "text": "Nice!",
            "img_url": ["https://example.org/x.jpg"],
            "blip_caption": "a photo of a bowl",
        },
    ],
    "qa": [
        {
            "question": "What did Ana buy?",
            "answer": "a kiln",
            "evidence": ["D:1:01"],
            "category": 4,
        },
        {"question": "When?", "answer": "May", "evidence": ["D1:1"], "category": 2},
    ],
}


def neutral(conversation: Conversation) -> list[list[Message]]:
    return [[Message.from_dict(row) for row in s.messages] for s in conversation.sessions]


def test_the_bundled_format_has_sessions_and_questions() -> None:
    found = parse_conversation(
        {
            "sessions": [
                {"session_id": "a", "messages": [{"role": "user", "content": "one"}]},
                {"messages": [{"role": "user", "content": "two"}]},
            ],
            "questions": [
                {"question": "What?", "expected_session": "a", "must_contain": ["one"]},
                {"question": "And?"},
            ],
        },
        "file",
    )
    assert [session.session_id for session in found.sessions] == ["a", "file-2"]
    assert found.questions == (Question("What?", "a", ("one",)), Question("And?"))


@pytest.mark.parametrize("wrapped", [OPENAI, {"messages": OPENAI, "session_id": "chat"}])
def test_openai_messages_keep_pictures_and_tool_calls(wrapped: Any) -> None:
    found = parse_conversation(wrapped, "chat")
    assert found.sessions[0].session_id == "chat"
    ((_, asked, called, answered, said),) = neutral(found)
    assert asked.images() == [(1, DataBlock(media_type="image/png", data="QUJD"))]
    assert called.blocks == (ToolCallBlock(id="c1", name="look", input="{}"),)
    assert isinstance(answered.blocks[0], ToolResultBlock)
    assert said.created_at_text == "2026-06-18T09:00:00"


@pytest.mark.parametrize(
    "wrapped",
    [
        FIRST_LINE,
        {"_compressed_summary": "", "content": [[row, []] for row in FIRST_LINE]},
        {"memory": {"_compressed_summary": "", "content": [[row, ["x"]] for row in FIRST_LINE]}},
        {"agent": {"memory": {"_compressed_summary": "", "content": [[FIRST_LINE[0], []]]}}},
    ],
    ids=["messages", "memory", "agent", "session"],
)
def test_agentscope_1_messages_however_they_were_saved(wrapped: Any) -> None:
    (messages,) = neutral(parse_conversation(wrapped, "old"))
    assert messages[0].id == "m1"
    assert messages[0].text == "Hello"
    assert messages[0].created_at_text == "2026-06-18 09:00:00.123"
    if len(messages) > 1:
        assert isinstance(messages[1].blocks[1], ToolCallBlock)
        assert isinstance(messages[2].blocks[0], ToolResultBlock)


@pytest.mark.parametrize(
    "wrapped", [SECOND_LINE, {"session_id": "new", "summary": "", "context": SECOND_LINE}]
)
def test_agentscope_2_messages_lose_only_their_hints(wrapped: Any) -> None:
    ((asked, answered),) = neutral(parse_conversation(wrapped, "new"))
    assert asked.images() == [(1, DataBlock(media_type="image/png", data="QUJD"))]
    assert [block.type for block in answered.blocks] == ["tool_call", "tool_result", "text"]


@pytest.mark.parametrize("wrapped", [LOCOMO, {"sample_id": "x", "conversation": LOCOMO}])
def test_locomo_files_become_dated_sessions_in_order(wrapped: Any) -> None:
    found = parse_conversation(wrapped, "26")
    assert [session.session_id for session in found.sessions] == ["26-1", "26-2"]
    ((bought, nice), (year,)) = neutral(found)
    assert (bought.name, bought.text, bought.id) == ("Ana", "I bought a kiln.", "D1:1")
    assert bought.created_at_text == "2023-05-08T13:56:00"
    assert nice.text == "Nice! [shares a picture: a photo of a bowl]"
    assert year.created_at_text == "2024-01-01T00:05:00"


def test_locomo_questions_are_the_single_hop_ones() -> None:
    found = parse_conversation(LOCOMO | {"qa": LOCOMO["qa"]}, "26")
    assert found.questions == (Question("What did Ana buy?", "26-1"),)


def test_json_lines_are_one_session_named_after_the_file(tmp_path: Path) -> None:
    place = tmp_path / "talk.jsonl"
    rows = [{"role": "user", "content": "一"}, {"role": "assistant", "content": "二"}]
    place.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    (session,) = load_conversation(place).sessions
    assert session.session_id == "talk"
    assert [row["content"] for row in session.messages] == ["一", "二"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (42, "no conversation"),
        ({"hello": 1, "world": 2}, "no conversation"),
        ([], "no messages"),
        ({"sessions": []}, "no messages"),
        (["hi"], "message 1 is not an object"),
        ([{"role": "user", "content": "hi"}, {"content": "hi"}], "message 2: .*role"),
        ([{"role": "user", "content": [5]}], "message 1: "),
        ({"sessions": [{"id": 1}]}, "entry 0 of `sessions`"),
        ({"sessions": [], "questions": [{"q": "?"}]}, "no `question`"),
        ({"session_1": "text"}, "session_1 is not a list"),
        ({"session_1": [{"who": "Ana"}]}, "lacks `speaker`"),
        ({"session_1": [], "session_1_date_time": "yesterday"}, "time of session_1"),
    ],
)
def test_anything_else_is_refused_with_a_reason(wrong: Any, reason: str) -> None:
    with pytest.raises(UnreadableConversation, match=reason):
        parse_conversation(wrong)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"a": 1}, "no conversation in a format that is understood (1). Give a list"),
        ([], "there are no messages in it. Give a list"),
        ([{"role": "user", "content": "hi"}, 5], "message 2 is not an object (5). Give"),
    ],
)
def test_a_file_that_is_no_conversation_is_named(tmp_path: Path, wrong: Any, told: str) -> None:
    place = tmp_path / "mine.json"
    place.write_text(json.dumps(wrong), encoding="utf-8")
    with pytest.raises(UnreadableConversation) as refused:
        load_conversation(place)
    assert str(refused.value).startswith(f"{str(place)!r}: ")
    assert told in str(refused.value)


def test_a_file_that_is_missing_or_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableConversation, match="cannot be read"):
        load_conversation(tmp_path / "nothing.json")
    place = tmp_path / "notes.txt"
    place.write_text("Dear diary", encoding="utf-8")
    with pytest.raises(UnreadableConversation, match="neither JSON nor JSON Lines"):
        load_conversation(place)
