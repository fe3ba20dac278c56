"""Size and depth cost linear time, and never a RecursionError or an oversized chunk."""

from __future__ import annotations

import pytest

from agentscope_reme.chunking import MarkdownFileChunker

SIZE = 800


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 10_000_000, id="one line of 10 MB"),
        pytest.param("word " * 1_000_000, id="a long paragraph"),
        pytest.param("[[" * 500_000, id="brackets"),
        pytest.param("\n".join("  " * i + f"- item {i}" for i in range(3000)), id="nested lists"),
        pytest.param("\n".join(">" * i + f" quote {i}" for i in range(3000)), id="nested quotes"),
        pytest.param("- " * 500_000 + "x", id="nested markers"),
        pytest.param(
            "\n".join(f"{'#' * (i % 6 + 1)} heading {i}" for i in range(100_000)), id="headings"
        ),
        pytest.param(
            "\n".join(f"{'#' * (i % 6 + 1)} {i}\n\ntext {i}\n" for i in range(100_000)),
            id="sections",
        ),
        pytest.param("# " + "h" * 1_000_000 + "\n\n" + "text. " * 100_000, id="a long heading"),
        pytest.param("| a |\n|---|\n" + "| b |\n" * 100_000, id="a long table"),
        pytest.param("```" + "x" * 100_000 + "\n" + "y\n" * 100_000, id="a long fence"),
    ],
)
def test_a_huge_document_is_cut_into_small_chunks(text: str) -> None:
    chunks = MarkdownFileChunker(SIZE).chunk("a.md", text)
    assert chunks
    assert max(len(chunk.text.encode()) for chunk in chunks) <= SIZE
    around = max(len(str(chunk.metadata)) + len(str(chunk.headings)) for chunk in chunks)
    assert around < 4 * SIZE
