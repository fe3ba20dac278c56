"""Front matter that cannot be read blocks nothing and loses nothing."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadDocument
from agentscope_reme.files import MarkdownDocument

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("not: [closed\n", id="broken"),
        pytest.param("- a\n- b\n", id="a list"),
        pytest.param("only words\n", id="a text"),
        pytest.param("\tname: x\n", id="a tab"),
        pytest.param("a: b: c\n", id="two colons"),
        pytest.param("run: !!python/object/apply:os.system ['true']\n", id="an object"),
        pytest.param("x: !custom 1\n", id="an unknown tag"),
        pytest.param("a: &a [*a]\n", id="a list in itself"),
        pytest.param("a: &a {b: *a}\n", id="a mapping in itself"),
        pytest.param(BOMB, id="a million nodes from aliases"),
        pytest.param("a: " + "[" * 200 + "]" * 200 + "\n", id="deep"),
        pytest.param("a: " + "[" * 100_000 + "\n", id="very deep"),
        pytest.param("a: *missing\n", id="an alias of nothing"),
        pytest.param("[a, b]: c\n", id="a list as a key"),
        pytest.param("a: \0\n", id="a NUL"),
        pytest.param("a: 1\n...\nb: 2\n", id="two documents"),
        pytest.param("a: " + "x" * 1_100_000 + "\n", id="too long"),
    ],
)
def test_the_error_is_reported_and_the_file_keeps_every_byte(source: str) -> None:
    data = f"---\n{source}---\nbody\n".encode()
    document = MarkdownDocument.parse(data)
    assert document.front_matter == {}
    assert document.front_matter_error
    assert document.body == "body\n"
    assert document.dump() == data
    with pytest.raises(BadDocument, match="Repair the YAML"):
        document.set("name", "n")
    with pytest.raises(BadDocument, match="Repair the YAML"):
        document.remove("name")
    assert document.edit("body", "BODY") == 1
    assert document.dump() == f"---\n{source}---\nBODY\n".encode()


def test_the_error_names_the_line_of_the_file() -> None:
    document = MarkdownDocument.parse("---\nname: a\nx: y: z\n---\n")
    assert "(line 3)" in str(document.front_matter_error)


def test_aliases_within_reason_are_followed() -> None:
    document = MarkdownDocument.parse("---\na: &a [x]\nb: *a\nc: {<<: {k: v}}\n---\n")
    assert document.front_matter == {"a": ["x"], "b": ["x"], "c": {"k": "v"}}


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA rule first, then text.\n\n---\n\nmore\n",
        "---\n\nNote: this: is prose\n\n---\n",
        "---\n\n# A heading\n\n---\ntext\n",
        "---\nnever closed\n",
        "--- \nnever closed",
        "---",
        "----\nname: a\n---\n",
        " ---\nname: a\n---\n",
        "text\n---\nname: a\n---\n",
    ],
)
def test_a_document_that_only_looks_like_it_has_front_matter_is_all_body(text: str) -> None:
    document = MarkdownDocument.parse(text)
    assert document.front_matter == {}
    assert document.front_matter_error is None
    assert document.body == text
    assert document.body_start_line == 1


def test_a_rule_document_can_be_edited_above_and_below_the_rule() -> None:
    document = MarkdownDocument.parse("---\n\nA rule first, then text.\n\n---\n\nmore\n")
    document.edit("first", "FIRST")
    document.edit("more", "MORE")
    assert document.text == "---\n\nA rule FIRST, then text.\n\n---\n\nMORE\n"


def test_the_body_starts_behind_the_closing_line() -> None:
    document = MarkdownDocument.parse("---\na: 1\n---  \n\nx\n")
    assert document.body == "\nx\n"
    assert document.body_start_line == 4
