"""What was said elsewhere is found here, on the day it was said, and is never taken over twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.transfer.importing import import_memory
from tests.transfer.conftest import (
    chatgpt_export,
    chatgpt_node,
    files_of,
    write_json,
    write_zip,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def said(memory: ReMe, session_id: str) -> list[tuple[str, str, str]]:
    """Role, day and words of what stands in a log."""
    place = memory.workspace.root / "session" / "dialog" / f"{session_id}.jsonl"
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    return [
        (row["role"], (row.get("created_at") or "")[:10], row["blocks"][0].get("text", ""))
        for row in rows
        if "role" in row
    ]


@pytest.fixture
def tea() -> dict[str, Any]:
    return chatgpt_export(
        chatgpt_node("root", None, "system", [""]),
        chatgpt_node("q", "root", "user", ["Which tea at night?"], 1_700_000_000.5),
        chatgpt_node("old", "q", "assistant", ["Black tea."], 1_700_000_001.0),
        chatgpt_node("new", "q", "assistant", ["Rooibos 红茶."], 1_700_000_002.0),
        last="new",
    )


async def test_the_branch_that_was_shown_last_is_what_was_said(
    memory: ReMe, tmp_path: Path, tea: dict[str, Any]
) -> None:
    found = await import_memory(memory, write_json(tmp_path / "conversations.json", [tea]))
    assert (found.format, found.conversations, found.turns) == ("chatgpt", 1, 2)
    assert said(memory, "chatgpt-c1") == [
        ("user", "2023-11-14", "Which tea at night?"),
        ("assistant", "2023-11-14", "Rooibos 红茶."),
    ]
    assert "1 turn(s) of branches" in found.answer
    hits = (await memory.search("rooibos tea", end_date="2023-12-31")).hits
    assert [hit.path for hit in hits] == ["session/dialog/chatgpt-c1.jsonl"]
    assert not (await memory.search("rooibos tea", start_date="2024-01-01")).hits


async def test_a_second_import_adds_nothing_and_a_longer_one_the_rest(
    memory: ReMe, tmp_path: Path, tea: dict[str, Any]
) -> None:
    place = write_json(tmp_path / "conversations.json", [tea])
    await import_memory(memory, place)
    before = said(memory, "chatgpt-c1")
    again = await import_memory(memory, place)
    assert (again.turns, again.duplicates) == (0, 2)
    assert said(memory, "chatgpt-c1") == before
    tea["mapping"]["more"] = chatgpt_node("more", "new", "user", ["Thanks."], 1_700_000_009.0)
    tea["current_node"] = "more"
    longer = await import_memory(memory, write_json(place, [tea]))
    assert longer.turns == 1
    assert said(memory, "chatgpt-c1")[:-1] == before


async def test_pictures_come_along_and_missing_ones_are_named(memory: ReMe, tmp_path: Path) -> None:
    def picture(key: str) -> dict[str, str]:
        return {"content_type": "image_asset_pointer", "asset_pointer": f"file-service://{key}"}

    talk = chatgpt_export(
        chatgpt_node("q", None, "user", [picture("file-ab12"), "My cup."], 1.7e9),
        chatgpt_node("r", "q", "user", [picture("file-gone")], 1.7e9),
        last="r",
    )
    files = {"conversations.json": json.dumps([talk]).encode(), "file-ab12-cup.png": PNG}
    found = await import_memory(memory, write_zip(tmp_path / "export.zip", files))
    assert "1 image(s) are not in the export" in found.answer
    kept = list((memory.workspace.root / "session" / "images").rglob("*.png"))
    assert [place.read_bytes() for place in kept] == [PNG]


async def test_hidden_and_empty_turns_and_circles_do_no_harm(memory: ReMe, tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    first = chatgpt_node("a", "b", "user", ["Hello."], None)
    second = chatgpt_node("b", "a", "assistant", ["Secret."], None, metadata=hidden)
    odd = chatgpt_export(first, second, last="a")
    rows = [odd, {"conversation_id": "c2"}, chatgpt_export(last="nobody", name="c3")]
    found = await import_memory(memory, write_json(tmp_path / "conversations.json", rows))
    assert found.turns == 1
    assert said(memory, "chatgpt-c1") == [("user", "", "Hello.")]


async def test_claude_conversations_keep_what_files_said(memory: ReMe, tmp_path: Path) -> None:
    talk = {
        "uuid": "u1",
        "name": "Tea",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "See the list.",
                "content": [{"type": "text", "text": "See the list."}],
                "created_at": "2025-02-03T10:00:00.000000Z",
                "attachments": [{"file_name": "list.txt", "extracted_content": "oolong"}],
            },
            {"uuid": "m2", "sender": "assistant", "text": "I see.", "created_at": "2025-02-04"},
        ],
    }
    found = await import_memory(memory, write_json(tmp_path / "conversations.json", [talk]))
    assert (found.format, found.turns) == ("claude", 2)
    assert said(memory, "claude-u1") == [
        ("user", "2025-02-03", "See the list."),
        ("assistant", "2025-02-04", "I see."),
    ]
    assert (await memory.search("oolong")).hits


async def test_locomo_sessions_have_their_dates(memory: ReMe, tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a zebra."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely.", "blip_caption": "a zebra"},
    ]
    talk = {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": turns, "qa": []}
    talk["session_1_date_time"] = "1:56 pm on 8 May, 2023"
    found = await import_memory(memory, write_json(tmp_path / "26.json", talk))
    assert (found.format, found.conversations) == ("locomo", 1)
    assert said(memory, "locomo-26-session_1") == [
        ("user", "2023-05-08", "I adopted a zebra."),
        ("assistant", "2023-05-08", "Lovely."),
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "looks like no known format"),
        (b'{"a": 1}', "looks like no known format"),
        (b"\xff\xfe{", "looks like no known format"),
    ],
)
async def test_what_is_no_export_changes_nothing(
    memory: ReMe, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "conversations.json").write_bytes(content)
    with pytest.raises(BadInput, match=told):
        await import_memory(memory, tmp_path / "conversations.json")
    assert not files_of(memory.workspace.root)


async def test_one_conversation_that_cannot_be_kept_costs_no_other(
    memory: ReMe, tmp_path: Path, tea: dict[str, Any]
) -> None:
    bad = {**tea, "conversation_id": "../../etc"}
    found = await import_memory(memory, write_json(tmp_path / "conversations.json", [bad, tea]))
    assert not found.success
    assert [failure.item for failure in found.failed] == ["chatgpt-../../etc"]
    assert said(memory, "chatgpt-c1")


async def test_wrong_names_are_refused(memory: ReMe, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to import"):
        await import_memory(memory, tmp_path / "nowhere")
    with pytest.raises(BadInput, match="no such format"):
        await import_memory(memory, tmp_path, format="word")
    with pytest.raises(BadInput, match="climbs out"):
        await import_memory(memory, tmp_path, format="obsidian", into="../elsewhere")
