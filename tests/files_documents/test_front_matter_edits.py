"""Editing a front matter key changes that key's lines and no other byte."""

from __future__ import annotations

import datetime

import pytest

from agentscope_reme.errors import BadDocument
from agentscope_reme.files import MarkdownDocument


def after_set(before: str, **values: object) -> str:
    document = MarkdownDocument.parse(before.encode())
    for key, value in values.items():
        document.set(key, value)
    assert MarkdownDocument.parse(document.dump()).front_matter == document.front_matter
    return document.dump().decode()


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        pytest.param(
            "---\n# keep me\nname: 'a'\nzeta: 1\nalpha: [x, y]\n---\n\nbody\n",
            {"name": "b"},
            "---\n# keep me\nname: b\nzeta: 1\nalpha: [x, y]\n---\n\nbody\n",
            id="order and comments stay",
        ),
        pytest.param(
            "---\r\nname: a\r\n---\r\nbody\r\n",
            {"description": "d"},
            "---\r\nname: a\r\ndescription: d\r\n---\r\nbody\r\n",
            id="windows line ends",
        ),
        pytest.param(
            "no front matter\n",
            {"name": "n"},
            "---\nname: n\n---\nno front matter\n",
            id="a new block",
        ),
        pytest.param(
            "a\r\nb\r\n",
            {"name": "n"},
            "---\r\nname: n\r\n---\r\na\r\nb\r\n",
            id="a new block in a windows file",
        ),
        pytest.param(
            "---\nyes: no\n1: one\n---\nb\n",
            {"name": "n"},
            "---\nyes: no\n1: one\nname: n\n---\nb\n",
            id="odd keys",
        ),
        pytest.param(
            "\ufeff---\nname: a\n---\nb\n",
            {"name": "b"},
            "\ufeff---\nname: b\n---\nb\n",
            id="byte order mark",
        ),
        pytest.param(
            "---\nname: a  # the comment\nz: 1\n---\n",
            {"name": "b"},
            "---\nname: b  # the comment\nz: 1\n---\n",
            id="a comment behind the value",
        ),
        pytest.param(
            "---\ntags:\n  - a\n  - b\n\n# below\nz: 1\n---\n",
            {"tags": ["c"]},
            "---\ntags: [c]\n\n# below\nz: 1\n---\n",
            id="a nested value goes as a whole",
        ),
        pytest.param(
            "---\ntags:\n- a\n- b\nz: 1\n---\n",
            {"tags": "none"},
            "---\ntags: none\nz: 1\n---\n",
            id="a list that is not indented",
        ),
        pytest.param(
            "---\ntext: |\n  one\n\n  # not a comment\n\n# a comment\nz: 1\n---\n",
            {"text": "short"},
            "---\ntext: short\n\n# a comment\nz: 1\n---\n",
            id="a block of text",
        ),
        pytest.param(
            '---\ntext: "one\n  two"\nz: 1\n---\n',
            {"text": "x"},
            "---\ntext: x\nz: 1\n---\n",
            id="quoted over lines",
        ),
        pytest.param(
            "---\nname: n\n---\n",
            {"text": "one\ntwo\n"},
            "---\nname: n\ntext: |\n  one\n  two\n---\n",
            id="text of several lines",
        ),
        pytest.param(
            "---\nempty:\nz: 1\n---\n",
            {"empty": 3},
            "---\nempty: 3\nz: 1\n---\n",
            id="no value before",
        ),
        pytest.param(
            "---\na: 1\nb: 2\na: 3\n---\n",
            {"a": 4},
            "---\na: 1\nb: 2\na: 4\n---\n",
            id="of duplicate keys the last counts",
        ),
        pytest.param(
            "---\n{name: a, tags: [x, y]}\n---\n",
            {"name": "b", "kind": "k"},
            "---\n{name: b, tags: [x, y], kind: k}\n---\n",
            id="a mapping in braces",
        ),
        pytest.param(
            "---\n  name: a\n  z: 1\n---\n",
            {"name": "b", "kind": "k"},
            "---\n  name: b\n  z: 1\n  kind: k\n---\n",
            id="an indented mapping",
        ),
        pytest.param(
            "---\n---\nbody",
            {"name": "n"},
            "---\nname: n\n---\nbody",
            id="an empty block",
        ),
        pytest.param(
            "---\n? a\n: b\nz: 1\n---\n",
            {"a": "c"},
            "---\na: c\nz: 1\n---\n",
            id="an explicit key",
        ),
        pytest.param(
            "---\n\nA rule first.\n\n---\n\nmore\n",
            {"name": "n"},
            "---\nname: n\n---\n---\n\nA rule first.\n\n---\n\nmore\n",
            id="a document that opens with a rule",
        ),
    ],
)
def test_only_the_key_changes(before: str, values: dict[str, object], after: str) -> None:
    assert after_set(before, **values) == after


def test_values_of_every_plain_kind_are_read_back() -> None:
    values: dict[str, object] = {
        "text": "yes",
        "colon": "a: b # c",
        "number": 3,
        "float": 1.5,
        "flag": True,
        "nothing": None,
        "day": datetime.date(2026, 6, 20),
        "list": ["a", "[[b.md]]"],
        "nested": {"a": [{"b": "c"}]},
        "emoji": "😀 中文",
        "separator": "line\u2028separator\u0085inside",
    }
    document = MarkdownDocument.parse("body\n")
    for key, value in values.items():
        document.set(key, value)
    assert MarkdownDocument.parse(document.dump()).front_matter == values
    assert document.body == "body\n"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {"a": object()}, "\ud800"])
def test_other_values_are_refused_and_nothing_changes(value: object) -> None:
    document = MarkdownDocument.parse(b"---\nname: a\n---\n")
    with pytest.raises(BadDocument):
        document.set("key", value)
    assert document.dump() == b"---\nname: a\n---\n"


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(BadDocument):
        MarkdownDocument.parse("x").set("key", loop)


def test_a_value_others_refer_to_is_not_taken_away() -> None:
    before = "---\nbase: &b {x: 1}\nother: *b\n---\n"
    document = MarkdownDocument.parse(before)
    with pytest.raises(BadDocument, match="without touching others"):
        document.set("base", "gone")
    with pytest.raises(BadDocument, match="without touching others"):
        document.remove("base")
    assert document.text == before


@pytest.mark.parametrize("key", ["", " ", "a\nb"])
def test_a_key_must_be_a_word(key: str) -> None:
    with pytest.raises(BadDocument, match="not a front matter key"):
        MarkdownDocument.parse("x").set(key, 1)


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("---\na: 1\n# c\nb:\n  - x\n\nc: 3\n---\nt", "b", "---\na: 1\n# c\n\nc: 3\n---\nt"),
        ("---\na: 1\n---\nt", "a", "---\n---\nt"),
        ("---\na: 1\nb: 2\na: 3\n---\n", "a", "---\nb: 2\n---\n"),
        ("---\n{a: 1, b: 2, c: 3}\n---\n", "b", "---\n{a: 1, c: 3}\n---\n"),
        ("---\n{a: 1, b: 2}\n---\n", "b", "---\n{a: 1}\n---\n"),
        ("---\r\nyes: no\r\nb: 2\r\n---\r\n", "yes", "---\r\nb: 2\r\n---\r\n"),
    ],
)
def test_removing_a_key_takes_its_lines_only(before: str, key: str, after: str) -> None:
    document = MarkdownDocument.parse(before)
    assert document.remove(key)
    assert document.text == after


def test_removing_what_is_not_there_says_so() -> None:
    document = MarkdownDocument.parse("---\na: 1\n---\n")
    assert not document.remove("b")
    assert not MarkdownDocument.parse("plain").remove("b")


def test_keys_are_text_as_written() -> None:
    document = MarkdownDocument.parse("---\nyes: no\n1: one\nday: 2026-06-20\n---\n")
    expected = {"yes": False, "1": "one", "day": datetime.date(2026, 6, 20)}
    assert document.front_matter == expected


@pytest.mark.parametrize("written", ['"[[a.jsonl]]"', "'[[a.jsonl]]'", "[[a.jsonl]]"])
def test_a_link_is_understood_quoted_or_not(written: str) -> None:
    document = MarkdownDocument.parse(f"---\nsource_conversation: {written}\n---\n")
    assert document.front_matter == {"source_conversation": "[[a.jsonl]]"}
    assert MarkdownDocument.parse(f"---\nimages:\n  - {written}\n---\n").front_matter == {
        "images": ["[[a.jsonl]]"]
    }


def test_lists_in_lists_stay_lists() -> None:
    document = MarkdownDocument.parse("---\na: [[1, 2]]\nb: [['x']]\nc: [[]]\nd: [[y], [z]]\n---\n")
    assert document.front_matter == {"a": [[1, 2]], "b": [["x"]], "c": [[]], "d": [["y"], ["z"]]}


def test_a_link_keeps_its_anchor_and_alias() -> None:
    document = MarkdownDocument.parse("---\na: [[b.md#L1,L3|x, y]]\n---\n")
    assert document.front_matter == {"a": "[[b.md#L1,L3|x, y]]"}


def test_a_day_that_does_not_exist_is_text() -> None:
    document = MarkdownDocument.parse("---\nday: 2026-13-45\n---\n")
    assert document.front_matter == {"day": "2026-13-45"}
    assert document.front_matter_error is None
