"""Properties every chunker keeps, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.chunking import (
    Chunker,
    DefaultFileChunker,
    JsonFileChunker,
    JsonlFileChunker,
    MarkdownFileChunker,
    SessionLogChunker,
    render,
)
from agentscope_reme.errors import BadInput
from agentscope_reme.schema import FileChunk

PIECES = st.sampled_from(
    [
        "# A\n", "## B\n", "### C\n", "\n", "\n\n", "text ", "a sentence. ", "中文。", "- item\n",
        "  - nested\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "```py\n", "```\n", "> quote\n",
        "    code\n", "[[a/long/path.md|alias]]", "x" * 40, "中" * 15, "\r\n", "<!-- c -->\n",
        "===\n", "---\n", "1. one\n", "\0", "\u2028", "\t", "k: v\n", '{"a": [1, 2]}', ", ", '"',
        '{"id": "1", "role": "user", "name": "u", "blocks": [{"type": "text", "text": "hi"}]}\n',
        "😀" * 10, "\ufeff",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)
SIZES = st.sampled_from([16, 40, 100, 1000])
SLICING = [MarkdownFileChunker, JsonFileChunker, JsonlFileChunker, DefaultFileChunker]


def check(text: str, chunks: list[FileChunk], size: int) -> None:
    lines = text.removeprefix("\ufeff").split("\n")
    for chunk in chunks:
        assert chunk.text.strip()
        assert len(chunk.text.encode()) <= size
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        slice_of_lines = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert chunk.text in slice_of_lines
        assert chunk.text.count("\n") == chunk.end_line - chunk.start_line
        assert chunk.text in render(chunk)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert [c.start_line for c in chunks] == sorted(c.start_line for c in chunks)


@pytest.mark.parametrize("kind", SLICING, ids=lambda kind: kind.__name__)
@given(text=TEXTS, size=SIZES)
def test_a_chunk_is_a_slice_of_its_lines(kind: type[Chunker], text: str, size: int) -> None:
    chunker = kind(size)  # type: ignore[call-arg]
    chunks = chunker.chunk("a.txt", text)
    check(text, chunks, size)
    assert chunker.chunk("a.txt", text) == chunks


@given(TEXTS, SIZES)
def test_no_word_of_a_markdown_file_is_left_out(text: str, size: int) -> None:
    chunks = MarkdownFileChunker(size).chunk("a.md", "start\n\n" + text)
    said = "".join(chunk.text for chunk in chunks) + " ".join(
        heading for chunk in chunks for heading in chunk.headings
    )
    for mark in ("x", "中", "😀", "item", "quote", "sentence", "path"):
        assert (mark in said) == (mark in text)


@given(TEXTS, SIZES)
def test_text_without_headings_is_covered_to_the_last_character(text: str, size: int) -> None:
    text = "start\n\n" + text.replace("#", "").replace("=", "").replace("---", "")
    chunks = MarkdownFileChunker(size).chunk("a.md", text)
    joined = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert joined == "".join(text.split())


@given(TEXTS, SIZES)
def test_plain_chunks_cover_the_text(text: str, size: int) -> None:
    for chunker in (DefaultFileChunker(size, 0), JsonFileChunker(size), JsonlFileChunker(size)):
        joined = "".join("".join(c.text.split()) for c in chunker.chunk("a", text))
        assert joined == "".join(text.removeprefix("\ufeff").split())


@given(TEXTS, SIZES)
def test_session_logs_keep_to_the_size(text: str, size: int) -> None:
    for chunk in SessionLogChunker(size).chunk("session/dialog/a.jsonl", text):
        assert len(chunk.text.encode()) <= size
        assert chunk.metadata["rendered"] is True


@pytest.mark.parametrize("kind", [*SLICING, SessionLogChunker], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("size", [0, -1, 15])
def test_a_size_that_holds_nothing_is_refused(kind: type[Chunker], size: int) -> None:
    with pytest.raises(BadInput, match="chunk_byte_size"):
        kind(size)  # type: ignore[call-arg]
