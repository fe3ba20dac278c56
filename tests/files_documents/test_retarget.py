"""Moving a file rewrites exactly the links that point at it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import BadPath
from agentscope_reme.files import MarkdownDocument, parse_wikilinks
from agentscope_reme.files.wikilinks import retarget_wikilinks


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("[[a.md]] ![[a.md#L1|x]]", "[[b.md]] ![[b.md#L1|x]]", 2),
        ("[[  a.md  | x ]]", "[[  b.md  | x ]]", 1),
        ("`[[a.md]]` \\[[a.md]] <!-- [[a.md]] -->", "`[[a.md]]` \\[[a.md]] <!-- [[a.md]] -->", 0),
        ("```\n[[a.md]]\n```\n[[a.md]]", "```\n[[a.md]]\n```\n[[b.md]]", 1),
        ("| [[a.md\\|x]] |", "| [[b.md\\|x]] |", 1),
        ("[[a.mdx]] [[x/a.md]] a.md", "[[a.mdx]] [[x/a.md]] a.md", 0),
        ("---\ns: [[a.md]]\n---\n[[a.md]]", "---\ns: [[b.md]]\n---\n[[b.md]]", 2),
        ("---\ns: '[[a.md]]'\n# [[a.md]]\n---\n", "---\ns: '[[b.md]]'\n# [[a.md]]\n---\n", 1),
        ("[[a.md]]\r\n", "[[b.md]]\r\n", 1),
    ],
)
def test_edges_follow_the_file(before: str, after: str, count: int) -> None:
    assert retarget_wikilinks(before, {"a.md": "b.md"}) == (after, count)


def test_files_can_trade_places() -> None:
    moved, count = retarget_wikilinks("[[a.md]] [[b.md]]", {"a.md": "b.md", "b.md": "a.md"})
    assert (moved, count) == ("[[b.md]] [[a.md]]", 2)


@pytest.mark.parametrize("written", ["[[a.md]]", "'[[a.md|x]]'", '"[[a.md#L1]]"', "see [[a.md]]"])
@pytest.mark.parametrize(
    "path",
    ["it's.md", 'say "x".md', "a, b.md", "back\\slash.md", "中文 - 2.md", "{x}.md", "- y.md"],
)
def test_front_matter_stays_readable_whatever_the_new_name(written: str, path: str) -> None:
    moved, count = retarget_wikilinks(f"---\nlink: {written}\n---\n", {"a.md": path})
    assert count == 1
    assert MarkdownDocument.parse(moved).front_matter_error is None
    assert [link.target_path for link in parse_wikilinks(moved)] == [path]


@pytest.mark.parametrize("path", ["a]b.md", "a|b.md", "a#b.md", "a\nb.md", "", " "])
def test_a_path_no_link_can_hold_is_refused(path: str) -> None:
    with pytest.raises(BadPath, match="no wikilink"):
        retarget_wikilinks("[[a.md]]", {"a.md": path})


PIECES = st.sampled_from(
    [
        "[[a.md]]", "[[b.md#x]]", "![[a.md|c]]", "[[ a.md ]]", "`", "``", "```", "~~~", "\n",
        "\n\n", "    ", "- ", "> ", "<!--", "-->", "\\", "[", "]", "|", "---\n", "k: ", "'",
        '"', "#", " ", "text", "\r\n", "中", "1. ", "\t", "===", "\ufeff",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
def test_nothing_but_edges_changes(text: str) -> None:
    targets = [link.target_path for link in parse_wikilinks(text)]
    moved, count = retarget_wikilinks(text, {"a.md": "moved.md"})
    assert moved.replace("moved.md", "a.md") == text
    assert (count > 0) == ("a.md" in targets)
    assert count == moved.count("moved.md")
    after = [link.target_path for link in parse_wikilinks(moved)]
    assert after == ["moved.md" if target == "a.md" else target for target in targets]


@given(TEXTS)
def test_moving_there_and_back_is_the_identity(text: str) -> None:
    there, count = retarget_wikilinks(text, {"a.md": "there.md"})
    assert retarget_wikilinks(there, {"there.md": "a.md"}) == (text, count)
