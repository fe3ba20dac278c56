"""A Markdown file is cut by its structure, and every chunk knows where it stands."""

from __future__ import annotations

from agentscope_reme.chunking import MarkdownFileChunker, render
from agentscope_reme.schema import FileChunk

SECTIONS = """---
name: Solar
---

# Solar

The chain starts with polysilicon.

## Wafers

Wafers are sliced. See [[digest/wiki/wafer.md]].

## Cells

Cells are printed.

### Efficiency

Twenty-five per cent.
"""


def cut(text: str, size: int) -> list[FileChunk]:
    return MarkdownFileChunker(size).chunk("digest/wiki/solar.md", text)


def lines_of(text: str, chunk: FileChunk) -> str:
    return "\n".join(text.split("\n")[chunk.start_line - 1 : chunk.end_line])


def test_a_file_that_fits_is_one_chunk() -> None:
    [chunk] = cut(SECTIONS, 10_000)
    assert (chunk.start_line, chunk.end_line) == (5, 19)
    assert chunk.text == lines_of(SECTIONS, chunk)
    assert chunk.headings == ("Solar",)
    assert chunk.metadata == {}


def test_a_larger_file_falls_into_sections() -> None:
    chunks = cut(SECTIONS, 80)
    assert [(c.start_line, c.end_line, c.headings) for c in chunks] == [
        (5, 7, ("Solar",)),
        (9, 11, ("Solar", "Wafers")),
        (13, 19, ("Solar", "Cells")),
    ]
    assert all(chunk.text == lines_of(SECTIONS, chunk) for chunk in chunks)


def test_a_chunk_is_shown_with_the_headings_around_it() -> None:
    wafers = cut(SECTIONS, 80)[1]
    assert wafers.metadata == {"skeleton": {"above": ["# Solar"], "below": ["## Cells"]}}
    assert render(wafers) == (
        "# Solar\n\n## Wafers\n\nWafers are sliced. See [[digest/wiki/wafer.md]].\n\n## Cells"
    )


def test_the_heading_of_a_higher_section_does_not_follow() -> None:
    chunks = cut("# A\n\n## B\n\nsome text here\n\n# C\n\nother text here\n", 32)
    assert [chunk.metadata.get("skeleton", {}).get("below", []) for chunk in chunks] == [[], []]


def test_a_split_section_counts_its_parts_and_keeps_its_heading() -> None:
    text = "# Top\n\n## Long\n\nfirst paragraph of text\n\nsecond paragraph of text\n"
    first, second = cut(text, 48)
    assert first.text == "# Top\n\n## Long\n\nfirst paragraph of text"
    assert (first.metadata["part"], first.metadata["parts"]) == (1, 2)
    assert second.text == "second paragraph of text"
    assert second.headings == first.headings == ("Top", "Long")
    assert render(second) == "# Top\n\n## Long\n\n[Part 2/2]\n\nsecond paragraph of text"


def test_a_heading_without_text_opens_the_next_chunk() -> None:
    chunks = cut("# A\n\n## Empty\n\n## B\n\ntext of b, which is longer\n\n## C\n\ntext of c\n", 50)
    assert [(chunk.text.split("\n")[0], chunk.headings) for chunk in chunks] == [
        ("# A", ("A", "B")),
        ("## C", ("A", "C")),
    ]
    assert "## Empty" in chunks[0].text


def test_a_heading_without_text_at_the_end_closes_the_last_chunk() -> None:
    chunks = cut("# A\n\ntext of a is here\n\n# B\n\ntext of b\n\n# Empty\n", 30)
    assert [chunk.text for chunk in chunks] == [
        "# A\n\ntext of a is here",
        "# B\n\ntext of b\n\n# Empty",
    ]


def test_a_file_of_headings_says_so() -> None:
    [chunk] = cut("# A\n\n## B\n", 1000)
    assert chunk.text == "# A\n\n## B"
    assert chunk.metadata["heading_only"] is True


def test_headings_too_long_for_the_chunk_stay_in_its_path() -> None:
    text = "# A heading of thirty characters\n\n" + "x" * 45 + "\n\n" + "y" * 45 + "\n"
    chunks = cut(text, 50)
    assert [chunk.text[0] for chunk in chunks] == ["x", "y"]
    assert all(chunk.headings == ("A heading of thirty characters",) for chunk in chunks)
    assert render(chunks[0]).startswith("# A heading of thirty characters\n\n[Part 1/2]")


def test_text_above_the_first_heading_has_no_path() -> None:
    chunks = cut("a preamble of words\n\n# A\n\ntext of a\n", 24)
    assert [chunk.headings for chunk in chunks] == [(), ("A",)]


def test_two_top_headings_in_one_chunk_share_no_path() -> None:
    [chunk] = cut("# A\n\na\n\n# B\n\nb\n", 100)
    assert chunk.headings == ()


def test_headings_inside_code_lists_and_quotes_are_text() -> None:
    text = "# A\n\n```\n# no\n```\n\n- # no\n\n> # no\n"
    assert {chunk.headings for chunk in cut(text, 16)} == {("A",)}


def test_nothing_to_say_makes_no_chunk() -> None:
    for text in (
        "",
        "\n \n",
        "\ufeff",
        "---\nname: a\ndescription: b\n---\n",
        "---\na: 1\n---\n\n",
    ):
        assert cut(text, 100) == []


def test_front_matter_that_cannot_be_read_is_text() -> None:
    [chunk] = cut("---\nnot: [closed\n---\nbody\n", 100)
    assert chunk.text == "---\nnot: [closed\n---\nbody"
    assert (chunk.start_line, chunk.end_line) == (1, 4)


def test_line_ends_and_odd_characters_are_kept() -> None:
    text = "\ufeff# A\r\n\r\nnul \0 and line\u2028separator\u0085inside\r\nmore\r\n"
    [chunk] = cut(text, 100)
    assert chunk.text == "# A\r\n\r\nnul \0 and line\u2028separator\u0085inside\r\nmore"
    assert (chunk.start_line, chunk.end_line) == (1, 4)


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    [chunk] = cut(b"caf\xe9".decode("utf-8", "surrogateescape"), 100)
    assert chunk.text == "caf\ufffd"
