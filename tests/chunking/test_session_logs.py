"""Session logs are chunked by message: who said what, when."""

from __future__ import annotations

import json
from typing import Any

from agentscope_reme.chunking import SessionLogChunker
from agentscope_reme.messages import Message
from agentscope_reme.schema import FileChunk


def line(message_id: str, text: str, **more: Any) -> str:
    row = {
        "id": message_id,
        "role": "user",
        "name": "Alice",
        "created_at": "2026-06-20T10:00:00",
        "blocks": [{"type": "text", "text": text}],
    }
    return json.dumps(row | more, ensure_ascii=False)


def cut(lines: list[str], size: int = 1000) -> list[FileChunk]:
    return SessionLogChunker(size).chunk("session/dialog/s.jsonl", "\n".join(lines) + "\n")


HEADER = '{"type": "session", "session_id": "s"}'
CURSOR = '{"type": "distilled", "through": "1", "card": null}'


def test_messages_are_rendered_and_control_lines_left_out() -> None:
    [chunk] = cut([HEADER, line("1", "hello"), CURSOR, line("2", "line\u2028inside", name="Bob")])
    assert chunk.text == ("[Alice @ 20 June 2026 10:00] hello\n[Bob] line\u2028inside")
    assert (chunk.start_line, chunk.end_line) == (2, 4)
    assert chunk.metadata == {"rendered": True, "messages": ["1", "2"], "days": ["2026-06-20"]}


def test_only_the_newest_version_of_a_message_is_chunked() -> None:
    [chunk] = cut([HEADER, line("1", "old"), line("2", "two"), line("1", "new", supersedes="1")])
    assert [text.split("] ")[1] for text in chunk.text.split("\n")] == ["two", "new"]
    [chunk] = cut([line("1", "old"), line("9", "new", supersedes="1")])
    assert chunk.text.endswith("] new")


def test_unreadable_and_silent_lines_are_left_out() -> None:
    silent = line("2", "x", blocks=[{"type": "thinking", "text": "hm"}, {"type": "data"}])
    [chunk] = cut(["{broken json", silent, "[" * 100_000, "3", line("1", "hello"), ""])
    assert chunk.text == "[Alice @ 20 June 2026 10:00] hello"
    assert (chunk.start_line, chunk.end_line) == (5, 5)
    assert cut([HEADER, CURSOR]) == []


def test_the_date_is_said_again_when_it_changes_and_in_every_chunk() -> None:
    times = ["2023-03-13T13:56:00", "2023-03-13T13:56:40", "2023-03-13T14:02:00+02:00"]
    times += ["2023-03-14T14:02:00Z", "2023-03-14", "after lunch"]
    lines = [line(str(n), f"t{n}", created_at=moment) for n, moment in enumerate(times)]
    [chunk] = cut(lines)
    assert chunk.text.split("\n") == [
        "[Alice @ 13 March 2023 13:56] t0",
        "[Alice] t1",
        "[Alice @ 14:02] t2",
        "[Alice @ 14 March 2023 14:02] t3",
        "[Alice] t4",
        "[Alice @ after lunch] t5",
    ]
    first = [chunk.text.split("\n")[0] for chunk in cut(lines[:3], 40)]
    assert first == [
        "[Alice @ 13 March 2023 13:56] t0",
        "[Alice @ 13 March 2023 13:56] t1",
        "[Alice @ 13 March 2023 14:02] t2",
    ]


def test_chinese_turns_have_their_date_in_digits_as_well() -> None:
    [chunk] = cut([line("1", "你好", created_at="2023-03-13T13:56:00")])
    assert chunk.text == "[Alice @ 13 March 2023 (2023-03-13) 13:56] 你好"


def test_a_message_without_a_time_is_shown_without() -> None:
    [chunk] = cut([line("1", "hello", created_at=None)])
    assert chunk.text == "[Alice] hello"


def test_a_stored_message_is_understood() -> None:
    message = Message.from_dict({"role": "user", "content": "hi", "timestamp": "2026-06-20T10:00"})
    [chunk] = cut([message.model_dump_json(exclude_none=True)])
    assert chunk.text == "[user @ 20 June 2026 10:00] hi"


def test_whole_messages_are_packed_up_to_the_size() -> None:
    chunks = cut([line(str(n), f"message {n}") for n in range(6)], 70)
    assert [chunk.metadata["messages"] for chunk in chunks] == [["0", "1"], ["2", "3"], ["4", "5"]]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 2), (3, 4), (5, 6)]


def test_a_long_message_is_cut_and_every_part_says_who_spoke() -> None:
    chunks = cut([line("1", "A sentence of words. " * 20), line("2", "short")], 120)
    parts = chunks[:-1]
    assert all(chunk.text.startswith("[Alice @ 20 June 2026 10:00] A") for chunk in parts)
    assert all(len(chunk.text.encode()) <= 120 for chunk in chunks)
    assert [chunk.metadata["part"] for chunk in parts] == list(range(1, len(parts) + 1))
    assert {chunk.metadata["parts"] for chunk in parts} == {len(parts)}
    assert "".join(chunk.text for chunk in parts).count("sentence") == 20
    assert chunks[-1].metadata["messages"] == ["2"]
