"""Editing the body replaces exactly what was quoted."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadDocument
from agentscope_reme.files import MarkdownDocument


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("---\n- a\n- b\n---\nbody\n", "body", "BODY", "---\n- a\n- b\n---\nBODY\n"),
        (
            "---\nname: a\n---\n    indented code\n",
            "code",
            "CODE",
            "---\nname: a\n---\n    indented CODE\n",
        ),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "b", "b\nb2", "a\r\nb\r\nb2\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("one\r\ntwo\nthree\n", "two", "2\n2", "one\r\n2\n2\nthree\n"),
        ("x\r\nlast", "last", "a\nb", "x\r\na\r\nb"),
        ("a.b axb", "a.b", "c", "c axb"),
        ("\ufeffx", "x", "y", "\ufeffy"),
        ("a\0b\u2028c", "b\u2028", "-", "a\0-c"),
    ],
)
def test_an_edit_is_exact(before: str, old: str, new: str, after: str) -> None:
    document = MarkdownDocument.parse(before.encode())
    assert document.edit(old, new) == 1
    assert document.dump() == after.encode()


def test_the_front_matter_is_out_of_reach() -> None:
    document = MarkdownDocument.parse("---\nname: here\n---\nbody")
    with pytest.raises(BadDocument, match="not in the body"):
        document.edit("here", "there")


def test_an_empty_needle_is_refused() -> None:
    document = MarkdownDocument.parse("body")
    with pytest.raises(BadDocument, match="empty"):
        document.edit("", "x")
    assert document.dump() == b"body"


@pytest.mark.parametrize(("text", "old", "count"), [("a a a", "a", 3), ("aaa", "aa", 2)])
def test_ambiguity_is_refused_with_the_count(text: str, old: str, count: int) -> None:
    document = MarkdownDocument.parse(text)
    with pytest.raises(BadDocument, match=f"occurs {count} times"):
        document.edit(old, "b")
    assert document.text == text


def test_replace_all_says_how_many() -> None:
    document = MarkdownDocument.parse("a\r\na\r\n")
    assert document.edit("a", "b\nc", replace_all=True) == 2
    assert document.text == "b\r\nc\r\nb\r\nc\r\n"


def test_an_edit_that_makes_front_matter_is_seen_by_the_next_look() -> None:
    document = MarkdownDocument.parse("---\nname: a\n--\nbody\n")
    assert document.front_matter == {}
    document.edit("\n--\n", "\n---\n")
    assert document.front_matter == {"name": "a"}
    assert document.body == "body\n"


def test_a_new_body_takes_the_line_ends_of_the_file() -> None:
    document = MarkdownDocument.parse("---\r\nname: a\r\n---\r\nold\r\n")
    document.replace_body("one\ntwo\n")
    assert document.dump() == b"---\r\nname: a\r\n---\r\none\r\ntwo\r\n"


def test_ten_megabytes_on_one_line_are_edited_at_once() -> None:
    document = MarkdownDocument.parse(b"a: [x] " * 1_500_000 + b"needle")
    assert document.edit("needle", "pin\npin") == 1
    assert document.edit("x", "y\n", replace_all=True) == 1_500_000
