"""Reading: line ranges, caps that say how to read on, and refusals that help."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.errors import BadInput, BadPath, NotFound
from tests.tools.conftest import Desk

TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    ("start", "end", "shown", "note"),
    [
        (None, None, "1 2 3 4 5 6 7 8 9 10", ""),
        (3, 5, "3 4 5", "[Lines 3-5 of 10.]"),
        (9, None, "9 10", "[Lines 9-10 of 10.]"),
        (None, 2, "1 2", "[Lines 1-2 of 10.]"),
        (10, 99, "10", "[Lines 10-10 of 10.]"),
    ],
)
def test_a_range_is_counted_from_one_and_includes_its_end(
    desk: Desk, start: int | None, end: int | None, shown: str, note: str
) -> None:
    desk.put("daily/x.md", TEN)
    result = desk.operations().read("daily/x.md", start_line=start, end_line=end)
    assert result.content == "\n".join(f"line {n}" for n in shown.split())
    assert result.answer == "\n".join(filter(None, (result.content, note)))
    assert (result.total_lines, result.truncated) == (10, False)
    assert [result.start_line, result.end_line] == [
        int(shown.split()[0]),
        int(shown.split()[-1]),
    ]


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (11, None, "has only 10 lines. Use 1 to 10"),
        (5, 3, "ends before it begins. The file has 10 lines"),
        (12, 13, "has only 10 lines"),
        (0, None, "counted from 1. The file has lines 1 to 10"),
        (-3, None, "counted from 1"),
        (1, 0, "counted from 1"),
    ],
)
def test_an_impossible_range_is_refused_with_the_number_of_lines(
    desk: Desk, start: int, end: int | None, reason: str
) -> None:
    desk.put("daily/x.md", TEN)
    with pytest.raises(BadInput, match=reason):
        desk.operations().read("daily/x.md", start_line=start, end_line=end)


def test_a_long_file_is_cut_and_says_where_to_read_on(desk: Desk) -> None:
    desk = desk.with_answer_bytes(2048)
    lines = [f"line {number} {'é' * 40}" for number in range(1, 101)]
    desk.put("daily/x.md", "\n".join(lines) + "\n")
    files = desk.operations()

    read: list[str] = []
    start: int | None = 1
    while start is not None:
        result = files.read("daily/x.md", start_line=start)
        assert len(result.answer.encode()) <= 2048
        read += result.content.split("\n")
        start = result.end_line + 1 if result.truncated else None
        if start is not None:
            note = f"[Lines {result.start_line}-{result.end_line} of 100. "
            assert result.answer.endswith(f"{note}Read on with start_line={start}.]")
    assert read == lines


def test_one_huge_line_is_cut_and_says_so(desk: Desk) -> None:
    desk = desk.with_answer_bytes(2048)
    desk.put("daily/x.md", "first\n" + "中" * 100_000 + "\nlast\n")
    files = desk.operations()
    assert files.read("daily/x.md").answer.endswith("Read on with start_line=2.]")
    result = files.read("daily/x.md", start_line=2)
    assert len(result.answer.encode()) <= 2048
    assert set(result.content) == {"中"}
    assert "Line 2 of 3 alone has 300000 bytes" in result.answer
    assert result.answer.endswith("Read on behind it with start_line=3.]")
    assert result.truncated


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"))),
    limit=st.integers(1024, 1400),
)
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_no_answer_is_ever_larger_than_the_cap(desk: Desk, lines: list[str], limit: int) -> None:
    desk = desk.with_answer_bytes(limit)
    desk.put("daily/x.txt", "\n".join(lines * 30))
    result = desk.operations().read("daily/x.txt", neighbors=True)
    assert len(result.answer.encode()) <= limit


def test_an_empty_file_is_read_as_empty(desk: Desk) -> None:
    desk.put("daily/x.md", "")
    result = desk.operations().read("daily/x.md")
    assert (result.content, result.total_lines, result.success) == ("", 0, True)
    assert result.answer == "(the file is empty)"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("daily/x.md#L9", "Use path='daily/x.md' with start_line=9 and end_line=9."),
        ("daily/x.md#L9-L12", "Use path='daily/x.md' with start_line=9 and end_line=12."),
        ("daily/x.md#L9-12", "start_line=9 and end_line=12"),
        ("[[daily/x.md]]", "Pass the path inside the brackets."),
    ],
)
def test_a_link_given_as_a_path_is_refused_with_the_right_call(
    desk: Desk, path: str, hint: str
) -> None:
    desk.put("daily/x.md", TEN)
    with pytest.raises(BadPath) as refusal:
        desk.operations().read(path)
    assert hint in str(refusal.value)


def test_a_missing_file_names_what_may_have_been_meant(desk: Desk) -> None:
    desk.put("daily/2026-06-20/login.md", "x\n")
    with pytest.raises(NotFound, match=r"Did you mean 'daily/2026-06-20/login\.md'"):
        desk.operations().read("digest/Login")
    with pytest.raises(NotFound, match="this is a folder"):
        desk.operations().read("daily/2026-06-20")


def test_neighbours_are_what_it_links_to_and_what_links_to_it(desk: Desk) -> None:
    desk.put("daily/a.md", "see [[digest/b.md]] and `[[not/this.md]]`\n")
    desk.put("digest/b.md", "back to [[daily/a.md]]\n")
    result = desk.operations().read("daily/a.md", neighbors=True)
    assert [link.target_path for link in result.outlinks] == ["digest/b.md"]
    assert [link.source_path for link in result.inlinks] == ["digest/b.md"]
    assert result.answer.endswith("Links to: \n- [[digest/b.md]]\nLinked from: \n- [[digest/b.md]]")


def test_bytes_of_another_encoding_are_shown_and_named(desk: Desk) -> None:
    desk.put("resource/x.txt", "中文内容 abc\n".encode("gbk"))
    result = desk.operations().read("resource/x.txt")
    assert "abc" in result.content
    assert "Not UTF-8" in result.answer


def test_a_byte_order_mark_is_not_part_of_the_text(desk: Desk) -> None:
    desk.put("resource/x.txt", b"\xef\xbb\xbfhello\n")
    desk.put("resource/y.txt", "hello\n".encode("utf-16"))
    assert desk.operations().read("resource/x.txt").content == "hello"
    assert desk.operations().read("resource/y.txt").content == "hello"


def test_a_binary_file_is_not_read_as_text(desk: Desk) -> None:
    desk.put("resource/x.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(BadInput, match="Use `read_image`"):
        desk.operations().read("resource/x.png")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89arest", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPrest", "image/webp"),
        (b"BM\x10\0\0\0\0\0\0\0rest", "image/bmp"),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(desk: Desk, data: bytes, media_type: str) -> None:
    desk.put("resource/x.dat", data)
    result = desk.operations().read_image("resource/x.dat")
    assert (result.media_type, base64.b64decode(result.data)) == (media_type, data)
    assert result.data not in result.answer
    assert media_type in result.answer


@pytest.mark.parametrize("data", [b"", b"BMW is a car", b"<svg/>", b"%PDF-1.7"])
def test_what_is_no_picture_is_refused(desk: Desk, data: bytes) -> None:
    desk.put("resource/x.png", data)
    with pytest.raises(BadInput, match="not a PNG"):
        desk.operations().read_image("resource/x.png")


def test_a_picture_above_five_megabytes_is_refused(desk: Desk) -> None:
    desk.put("resource/x.png", b"\x89PNG\r\n\x1a\n" + b"x" * 5 * 1024 * 1024)
    with pytest.raises(BadInput, match="5242888 bytes, more than 5242880"):
        desk.operations().read_image("resource/x.png")


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.read("daily/x.md", start_line="5"),
        lambda files: files.list("daily", limit="all"),
        lambda files: files.list(None),
        lambda files: files.write("daily/x.md", b"bytes"),
        lambda files: files.edit("daily/x.md", None, "x"),
        lambda files: files.daily_write(None, "", "x"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(desk: Desk, call: Any) -> None:
    desk.put("daily/x.md", TEN)
    with pytest.raises(BadInput, match="must be"):
        call(desk.operations())
