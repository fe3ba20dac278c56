"""The line scanner finds what a full Markdown parser finds, in linear time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistletoe import block_token as mistletoe_blocks

from agentscope_reme.files.markdown_scan import BlockKind, MarkdownScan, scan_markdown

WORDS = st.sampled_from(["alpha", "beta gamma", "中文", "x `code` y", "**bold**"])
HEADINGS = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 7), WORDS)
CLOSED_HEADINGS = st.builds(lambda text: f"## {text} ##", WORDS)
SETEXT = st.builds(lambda text, line: f"{text}\n{line * 3}", WORDS, st.sampled_from("=-"))
FENCES = st.builds(
    lambda mark, lines: "\n".join([mark + "py", *lines, mark]),
    st.sampled_from(["```", "~~~", "````"]),
    st.lists(st.sampled_from(["# not a heading", "x = 1", "", "  - y", "~~", "``"]), max_size=3),
)
LISTS = st.lists(WORDS, min_size=1, max_size=3).map(
    lambda items: "\n".join(f"- {item}" for item in items)
)
NESTED = st.sampled_from(["- a\n  - b\n    - c", "1. a\n   # inside\n2. b", "* a\n\n  more\n* b"])
QUOTES = st.sampled_from(["> quoted\n> more", "> # inside\n> text", "> - item"])
TABLES = st.just("| a | b |\n|---|---|\n| 1 | 2 |")
INDENTED = st.just("    # indented\n    code")
EMPTY_ITEMS = st.sampled_from(["- a\n-\n- b", "*", "1.\n2. b", "+\r\n+ b", "> -", "- a\n  *"])
RULES = st.sampled_from(["***", "* * *", "___"])
BLOCKS = st.one_of(
    *(WORDS, HEADINGS, CLOSED_HEADINGS, SETEXT, FENCES, LISTS, NESTED, EMPTY_ITEMS),
    *(QUOTES, TABLES, RULES, INDENTED),
)
DOCUMENTS = st.lists(BLOCKS, max_size=8).map("\n\n".join)


def of_scanner(scan: MarkdownScan) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    headings = [(heading.level, heading.line) for heading in scan.headings]
    fences = [
        (block.start, "\n".join(scan.lines[block.start : block.end - block.closed]))
        for block in scan.blocks
        if block.kind is BlockKind.FENCE
    ]
    return headings, fences


# mistletoe declares neither the children nor the line numbers it sets.
block_token: Any = mistletoe_blocks


def of_mistletoe(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    headings: list[tuple[int, int]] = []
    fences: list[tuple[int, str]] = []
    token: Any
    for token in block_token.Document(text).children:
        if isinstance(token, (block_token.Heading, block_token.SetextHeading)):
            headings.append((token.level, token.line_number))
        elif isinstance(token, block_token.CodeFence):
            content = token.children[0].content
            fences.append((token.line_number, content.removesuffix("\n")))
    return headings, fences


@given(DOCUMENTS)
def test_headings_and_fences_are_those_of_mistletoe(text: str) -> None:
    assert of_scanner(scan_markdown(text)) == of_mistletoe(text)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# a\n## b #\n####### c\n#d\n#\n# #", [(1, "a"), (2, "b"), (1, ""), (1, "")]),
        ("a\nb\n===\nc\n---", [(1, "a b"), (2, "c")]),
        ("   # a\n    # b", [(1, "a")]),
        ("- # a\n> # b", []),
        ("```\n# a\n```", []),
        ("<!--\n# a\n-->\n# b", [(1, "b")]),
        ("# a\u2028b\u0085c", [(1, "a\u2028b\u0085c")]),
        ("# a\r\nb\r\n===\r\n", [(1, "a"), (1, "b")]),
        ("\ufeff# a", [(1, "a")]),
        ("---\nx: 1\n---\n# a", [(1, "a")]),
        ("# a\\#", [(1, "a\\#")]),
        ("- a\n---\n# b", [(1, "b")]),
        ("* * *\n# b", [(1, "b")]),
        ("a | b\n--- | ---\n1 | 2\n===", []),
        ("-\n# b", [(1, "b")]),
        ("1.\n   # inside\n# b", [(1, "b")]),
        ("> -\n\n# b", [(1, "b")]),
    ],
)
def test_headings_at_the_edge(text: str, headings: list[tuple[int, str]]) -> None:
    found = scan_markdown(text).headings
    assert [(heading.level, heading.text) for heading in found] == headings


def test_blocks_and_items_are_told_apart() -> None:
    text = "text\n- a\n  more\n\n- b\n\nrest\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n> q\nlazy\n"
    found = [(block.kind.value, block.start, block.end) for block in scan_markdown(text).blocks]
    assert found == [
        ("paragraph", 1, 1),
        ("list", 2, 5),
        ("paragraph", 7, 7),
        ("table", 9, 11),
        ("quote", 13, 14),
    ]
    assert scan_markdown(text).blocks[1].items == [2, 5]


@given(st.text(alphabet="-*+12.)>#`~<!|=:_[]a \t\r\n", max_size=40))
def test_no_marks_are_too_odd(text: str) -> None:
    assert len(scan_markdown(text).lines) == text.count("\n") + 1


LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * LONG, id="one line"),
        pytest.param("- " * LONG + "x", id="items in a line"),
        pytest.param("> " * LONG + "x", id="quotes in a line"),
        pytest.param("- " * LONG + "* " + " -" * LONG, id="almost a rule"),
        pytest.param("- * + > " * (LONG // 4) + "x\n" * 1000, id="containers, then lines"),
        pytest.param("- " * 3000 + "x\n" + "\n" * LONG + "y", id="containers, then blank lines"),
        pytest.param("\n".join("  " * i + "- x" for i in range(3000)), id="a deep list"),
        pytest.param("\n".join(">" * i + " x" for i in range(3000)), id="a deep quote"),
        pytest.param("# a" + " " * LONG + "#", id="blanks in a heading"),
        pytest.param("a|b\n" + "|-" * LONG + "x", id="almost a table"),
        pytest.param("`" * LONG + "x`", id="almost a fence"),
        pytest.param("\n".join(f"{'#' * (i % 6 + 1)} {i}" for i in range(100_000)), id="headings"),
    ],
)
def test_no_text_takes_more_than_linear_time_or_recursion(text: str) -> None:
    scan = scan_markdown(text)
    assert len(scan.lines) == text.count("\n") + 1
