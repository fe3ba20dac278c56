"""Properties: parsing and writing is the identity, and edits touch nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import BadDocument
from agentscope_reme.files import MarkdownDocument

PIECES = st.sampled_from(
    [
        "---", "\n", "\r\n", "\r", "\ufeff", " ", "\t", "name: a", "tags:", "  - x", "- y", "# c",
        "'q'", '"d"', "|", ">", "[", "]", "{", "}", "&a", "*a", "!!str", "yes: no", "1: one", ":",
        "中文", "\u2028", "\u0085", "\0", "text", "a: b: c", "[[a.md]]", "```", "<!--", "-->",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join)
BODIES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(
        st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n:#'\""), max_size=12
    )
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner),
    max_leaves=5,
)  # fmt: skip
LINES = st.sampled_from(
    [
        "name: 'a'", "description: >-\n  folded\n  text", "tags:\n  - a\n  - b", "tags2: [x, y]",
        "# comment", "", "nested:\n  a:\n    b: 1 # here", "yes: no", "1: one",
        "text: |\n  a\n\n  b",
        "quoted: \"x: y\"", "empty:", "link: [[a.md]]", "day: 2026-06-20", "中文: 值",
    ]
)  # fmt: skip


@given(st.binary(max_size=200))
def test_any_bytes_come_back(data: bytes) -> None:
    assert MarkdownDocument.parse(data).dump() == data


@given(TEXTS)
def test_any_text_comes_back(text: str) -> None:
    document = MarkdownDocument.parse(text.encode())
    assert document.dump() == text.encode()
    assert document.text.endswith(document.body)
    assert "\n".join(text.split("\n")[document.body_start_line - 1 :]).endswith(document.body)


def _parts(document: MarkdownDocument) -> tuple[str, str, str]:
    block = document.block
    assert block is not None
    text = document.text
    return text[: block.start], text[block.start : block.end], text[block.end :]


@given(st.lists(LINES, max_size=6, unique=True), BODIES, st.sampled_from(["\n", "\r\n"]), VALUES)
def test_setting_a_key_leaves_every_other_line(
    lines: list[str], body: str, newline: str, value: Any
) -> None:
    source = "".join(line + "\n" for line in lines)
    before = f"---\n{source}---\n".replace("\n", newline) + body
    for key in ("name", "tags", "text", "nested", "new key"):
        document = MarkdownDocument.parse(before)
        if document.front_matter_error or document.block is None:
            return
        old = document.front_matter
        try:
            document.set(key, value)
        except BadDocument:
            assert document.text == before
            continue
        head, changed, tail = _parts(document)
        assert (head, tail) == (f"---{newline}", f"---{newline}{body}")
        if "[[" not in repr(value):  # a text in a list in a list is written like a link
            assert repr(document.front_matter[key]) == repr(value)
        assert list(document.front_matter) == list(dict.fromkeys([*old, key]))
        expected = [line for line in lines if not line.startswith(f"{key}:")]
        kept = changed
        for line in expected:
            written = (line + "\n").replace("\n", newline)
            position = kept.find(written)
            assert position >= 0, (changed, line)
            kept = kept[position + len(written) :]


@given(st.lists(LINES, max_size=6, unique=True), BODIES, st.sampled_from(["\n", "\r\n"]))
def test_a_new_key_can_be_taken_out_again(lines: list[str], body: str, newline: str) -> None:
    source = "".join(line + "\n" for line in lines)
    before = f"---\n{source}---\n".replace("\n", newline) + body
    document = MarkdownDocument.parse(before)
    if document.front_matter_error or document.block is None:
        return
    document.set("fresh", ["a", {"b": "c"}])
    assert document.remove("fresh")
    assert document.text == before


@given(TEXTS, TEXTS, BODIES)
def test_an_edit_changes_only_the_needle(head: str, tail: str, new: str) -> None:
    text = f"{head}needle{tail}"
    document = MarkdownDocument.parse(text.encode())
    if "needle" not in document.body:
        return
    document.edit("needle", new.replace("\r", "").replace("\n", ""))
    expected = text.replace("needle", new.replace("\r", "").replace("\n", ""))
    assert document.dump() == expected.encode()


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_bytes_around_an_edit_are_never_touched(head: bytes, tail: bytes) -> None:
    data = head + b" needle " + tail
    document = MarkdownDocument.parse(data)
    if document.encoding.name != "utf-8" or document.body.count("needle") != 1:
        return
    try:
        document.edit("needle", "pin")
    except BadDocument:
        assert document.dump() == data
    else:
        assert document.dump() == head + b" pin " + tail
