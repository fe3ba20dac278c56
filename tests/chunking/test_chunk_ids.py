"""A chunk keeps its id as long as it says the same in the same place."""

from __future__ import annotations

import pytest

from agentscope_reme.chunking import MarkdownFileChunker
from agentscope_reme.files import MarkdownDocument

TEXT = "---\nname: a\n---\n" + "".join(f"\n# S{n}\n\nwords of {n}\n" for n in range(15))


def ids(text: str, path: str = "a.md") -> list[str]:
    return [chunk.id for chunk in MarkdownFileChunker(40).chunk(path, text)]


def test_a_front_matter_key_changes_no_id() -> None:
    document = MarkdownDocument.parse(TEXT)
    document.set("memory_tags", ["x", "y"])
    assert len(ids(TEXT)) == 15
    assert ids(document.text) == ids(TEXT)


def test_an_edited_section_changes_its_own_id_only() -> None:
    before, after = ids(TEXT), ids(TEXT.replace("words of 7", "other words"))
    assert [a == b for a, b in zip(before, after, strict=True)].count(False) == 1


def test_equal_sections_are_told_apart() -> None:
    text = "# A\n\nsame words here\n\n# B\n\nother words\n\n# A\n\nsame words here\n"
    found = ids(text)
    assert len(set(found)) == len(found) == 3


@pytest.mark.parametrize("empty", ["#", "## ##\n"])
def test_a_section_without_a_title_is_told_from_text_above_all_sections(empty: str) -> None:
    same = "x" * 90
    found = ids(f"{same}\n{empty}\n{same}{same}")
    assert len(set(found)) == len(found) > 3


def test_another_file_has_other_ids() -> None:
    assert not set(ids(TEXT)) & set(ids(TEXT, "b.md"))
