"""Text that is too large for a chunk is cut where it hurts least."""

from __future__ import annotations

from agentscope_reme.chunking import MarkdownFileChunker, render
from agentscope_reme.schema import FileChunk


def cut(text: str, size: int) -> list[FileChunk]:
    chunks = MarkdownFileChunker(size).chunk("a.md", text)
    assert all(len(chunk.text.encode()) <= size for chunk in chunks)
    return chunks


def test_a_table_repeats_its_header() -> None:
    rows = "".join(f"| row {n} | value {n} |\n" for n in range(6))
    chunks = cut(f"| name | value |\n|---|---|\n{rows}", 90)
    assert len(chunks) > 1
    assert chunks[0].text.startswith("| name | value |\n|---|---|\n| row 0")
    assert "repeated" not in chunks[0].metadata
    for chunk in chunks[1:]:
        assert chunk.text.startswith("| row")
        assert chunk.metadata["repeated"]["above"] == ["| name | value |", "|---|---|"]
        assert "\n\n| name | value |\n|---|---|\n| row" in render(chunk)
    assert "".join(chunk.text.count("row") * "x" for chunk in chunks) == "x" * 6


def test_code_repeats_its_fence() -> None:
    code = "".join(f"line_{n} = {n}\n" for n in range(8))
    chunks = cut(f"```python\n{code}```\n\nafter\n", 60)
    assert chunks[0].text.startswith("```python\nline_0")
    assert chunks[0].metadata["repeated"] == {"above": [], "below": ["```"]}
    middle = chunks[1]
    assert middle.text.startswith("line_")
    assert render(middle).endswith(f"```python\n{middle.text}\n```")
    assert chunks[-1].text == "after"
    assert chunks[-2].text.endswith("\n```")
    assert chunks[-2].metadata["repeated"] == {"above": ["```python"], "below": []}


def test_a_fence_that_is_never_closed_is_closed_when_shown() -> None:
    chunks = cut("~~~~py\n" + "x = 1\n" * 20, 60)
    assert chunks[0].metadata["repeated"]["below"] == ["~~~~"]


def test_a_list_is_cut_between_items() -> None:
    items = "".join(f"- item {n}\n  with more\n" for n in range(6))
    chunks = cut(f"# List\n\n{items}", 60)
    assert chunks[0].text.startswith("# List\n\n- item 0")
    assert all(chunk.text.startswith(("# List", "- item")) for chunk in chunks)
    assert all(chunk.text.endswith("with more") for chunk in chunks)


def test_an_item_larger_than_a_chunk_is_cut_by_lines() -> None:
    text = "- item\n" + "".join(f"  line number {n}\n" for n in range(6)) + "- next\n"
    assert [chunk.start_line for chunk in cut(text, 40)] == [1, 4, 6]


def test_one_long_line_is_cut_after_sentences_and_keeps_its_number() -> None:
    text = "# T\n\n" + "This is a sentence. " * 10
    chunks = cut(text, 64)
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks[1:]] == [(3, 3)] * (
        len(chunks) - 1
    )
    assert (chunks[0].start_line, chunks[0].end_line) == (1, 3)
    assert "".join(chunk.text for chunk in chunks) == text


def test_chinese_is_cut_between_characters_and_after_its_own_stops() -> None:
    text = "记忆就是文件。" * 20
    chunks = cut(text, 100)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.text.endswith("。") for chunk in chunks)
    assert "".join(chunk.text for chunk in cut("中" * 100, 50)) == "中" * 100


def test_a_wikilink_is_never_cut() -> None:
    text = "see [[digest/wiki/a very long name.md|with words]] and " * 12
    for chunk in cut(text, 80):
        assert chunk.text.count("[[") == chunk.text.count("]]")


def test_a_wikilink_larger_than_a_chunk_is_cut_like_anything_else() -> None:
    text = f"[[{'x' * 300}]]"
    assert "".join(chunk.text for chunk in cut(text, 100)) == text


def test_blocks_stay_whole_where_they_fit() -> None:
    paragraphs = [f"paragraph {n} " + "word " * 8 for n in range(5)]
    chunks = cut("\n\n".join(paragraphs), 120)
    assert [chunk.text for chunk in chunks] == [
        "\n\n".join(paragraphs[0:2]),
        "\n\n".join(paragraphs[2:4]),
        paragraphs[4],
    ]
