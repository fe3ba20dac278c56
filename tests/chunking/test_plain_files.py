"""Text, JSON and JSON Lines are cut where it is natural for them."""

from __future__ import annotations

import itertools
import json

import pytest

from agentscope_reme.chunking import (
    DefaultFileChunker,
    JsonFileChunker,
    JsonlFileChunker,
    MarkdownFileChunker,
    SessionLogChunker,
    chunker_for,
)
from agentscope_reme.errors import BadInput


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("daily/2026-06-20/a.md", MarkdownFileChunker),
        ("resource/NOTES.MD", MarkdownFileChunker),
        ("session/dialog/s.jsonl", SessionLogChunker),
        ("session/agentscope/s.jsonl", SessionLogChunker),
        ("resource/a.json", JsonFileChunker),
        ("resource/a.txt", DefaultFileChunker),
        ("resource/README", DefaultFileChunker),
    ],
)
def test_a_file_gets_the_chunker_for_its_kind(path: str, kind: type) -> None:
    chunker = chunker_for(path, 800)
    assert type(chunker) is kind
    assert chunker.chunk_byte_size == 800  # type: ignore[attr-defined]


def test_plain_text_is_cut_at_line_ends_with_overlap() -> None:
    text = "".join(f"line number {n}\n" for n in range(20))
    chunks = DefaultFileChunker(100, 20).chunk("a.txt", text)
    lines = text.split("\n")
    for chunk in chunks:
        assert chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
    for before, after in itertools.pairwise(chunks):
        assert after.start_line == before.end_line  # one whole line is shared
    assert chunks[-1].end_line == 20


def test_an_overlap_is_never_more_than_half_a_chunk_nor_negative() -> None:
    assert DefaultFileChunker(100).overlap_byte_size == 50
    with pytest.raises(BadInput, match="negative"):
        DefaultFileChunker(100, -1)


def test_neither_characters_nor_links_are_cut() -> None:
    text = "中文[[目录/文件.md]]" * 50
    for chunk in DefaultFileChunker(100, 30).chunk("a.txt", text):
        assert chunk.text in text
        assert chunk.text.count("[[") == chunk.text.count("]]")


def test_json_is_cut_between_values_and_names_its_place() -> None:
    data = {"meta": {"v": 1}, "users": [{"name": f"user {n}", "age": n} for n in range(10)]}
    text = json.dumps(data, indent=1)
    chunks = JsonFileChunker(120).chunk("a.json", text)
    assert len(chunks) > 2
    assert chunks[0].headings == ()
    assert {chunk.headings for chunk in chunks[1:]} == {("users",)}
    for chunk in chunks[1:]:
        assert chunk.text.startswith("{")
    lines = text.split("\n")
    for chunk in chunks:
        assert chunk.text.split("\n")[0] in lines[chunk.start_line - 1]


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a": ' * 100_000, '"\\' * 200_000, "{,]}" * 9999]
)
def test_broken_json_is_cut_all_the_same(text: str) -> None:
    chunks = JsonFileChunker(1000).chunk("a.json", text)
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")


def test_json_lines_are_packed_whole() -> None:
    lines = [
        json.dumps({"n": n, "text": "line\u2028separator"}, ensure_ascii=False) for n in range(9)
    ]
    chunks = JsonlFileChunker(100).chunk("a.jsonl", "\n".join(lines) + "\n")
    assert "\n".join(chunk.text for chunk in chunks).split("\n") == lines
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [
        (1, 2), (3, 4), (5, 6), (7, 8), (9, 9),
    ]  # fmt: skip


def test_a_json_line_larger_than_a_chunk_is_cut() -> None:
    chunks = JsonlFileChunker(50).chunk("a.jsonl", '{"a": 1}\n' + "x" * 120 + '\n{"b": 2}\n')
    assert [(c.start_line, len(c.text)) for c in chunks] == [
        (1, 8),
        (2, 50),
        (2, 50),
        (2, 20),
        (3, 8),
    ]
    assert chunks[1].metadata == {"part": 1, "parts": 3}
