"""Whatever encoding a file has, its bytes survive, and nothing becomes U+FFFD on disk."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadDocument
from agentscope_reme.files import MarkdownDocument
from agentscope_reme.files.text_encoding import decode_text, indexable_text


def test_ascii_is_edited_inside_gbk() -> None:
    document = MarkdownDocument.parse("中文内容 abc".encode("gbk"))
    assert document.edit("abc", "xyz") == 1
    assert document.dump() == "中文内容 xyz".encode("gbk")


def test_text_that_is_not_ascii_is_not_put_into_gbk() -> None:
    data = "中文内容 abc".encode("gbk")
    document = MarkdownDocument.parse(data)
    with pytest.raises(BadDocument, match="not UTF-8"):
        document.edit("abc", "中")
    with pytest.raises(BadDocument, match="not UTF-8"):
        document.replace_body("中")
    with pytest.raises(BadDocument, match="not UTF-8"):
        document.set("name", "中")
    with pytest.raises(BadDocument, match="quote ASCII only"):
        document.edit("中文", "x")
    assert document.dump() == data


def test_half_a_gbk_character_is_not_edited() -> None:
    # The second byte of this character is the letter `a`.
    data = b"\x81\x61bc"
    document = MarkdownDocument.parse(data)
    with pytest.raises(BadDocument, match="not UTF-8"):
        document.edit("abc", "x")
    assert document.dump() == data


def test_ascii_front_matter_is_set_above_gbk() -> None:
    document = MarkdownDocument.parse("中文\n".encode("gbk"))
    document.set("name", "n")
    assert document.dump() == b"---\nname: n\n---\n" + "中文\n".encode("gbk")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_marked_utf_16_and_utf_32_stay_what_they_are(encoding: str, order: str) -> None:
    name = f"{encoding}-{order}"
    document = MarkdownDocument.parse("\ufeff---\nname: a\n---\nbody 中\n".encode(name))
    document.set("name", "😀")
    document.edit("body", "BODY")
    assert document.dump() == "\ufeff---\nname: 😀\n---\nBODY 中\n".encode(name)


def test_broken_utf_16_keeps_its_bytes() -> None:
    data = b"\xff\xfe\x00\xd8a"
    assert MarkdownDocument.parse(data).dump() == data


def test_text_with_a_surrogate_that_is_no_byte_cannot_become_a_file() -> None:
    with pytest.raises(BadDocument, match="lone surrogate"):
        MarkdownDocument.parse("x\ud800").dump()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("中文".encode("gbk"), "中文"),
        ("中文".encode(), "中文"),
        ("\ufeff中".encode("utf-16-le"), "\ufeff中"),
        (b"caf\xe9 \xff\n", "caf\ufffd \ufffd\n"),
    ],
)
def test_the_index_may_guess(data: bytes, text: str) -> None:
    assert indexable_text(data) == text


def test_decoding_reports_whether_it_is_sure() -> None:
    assert decode_text("é".encode())[1].exact
    assert not decode_text(b"\xe9")[1].exact
