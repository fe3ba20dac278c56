"""Front matter as data: the answer shows it, a change touches only its keys."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadDocument, BadInput, NotFound
from tests.tools.conftest import Desk

CARD = "---\n# keep me\nname: 'a'\nzeta: 1\ntags: [x, y]\n---\nbody\n"


def test_the_answer_is_the_front_matter_as_yaml(desk: Desk) -> None:
    desk.put("daily/x.md", CARD)
    result = desk.operations().frontmatter_read("daily/x.md")
    assert result.frontmatter == {"name": "a", "zeta": 1, "tags": ["x", "y"]}
    assert result.answer == "name: a\nzeta: 1\ntags:\n- x\n- y"


def test_a_file_without_front_matter_says_so(desk: Desk) -> None:
    desk.put("daily/x.md", "body\n")
    result = desk.operations().frontmatter_read("daily/x.md")
    assert (result.frontmatter, result.answer) == ({}, "(no front matter)")


def test_an_update_touches_only_its_keys_and_shows_the_result(desk: Desk) -> None:
    desk.put("daily/x.md", CARD)
    result = desk.operations().frontmatter_update("daily/x.md", {"name": "b", "new": True})
    assert "# keep me\nname: b\nzeta: 1\ntags: [x, y]\nnew: true\n" in desk.text("daily/x.md")
    assert result.frontmatter["name"] == "b"
    assert result.answer.startswith("Set name, new in daily/x.md.\nname: b\nzeta: 1\n")


def test_an_update_that_changes_nothing_writes_nothing(desk: Desk) -> None:
    desk.put("daily/x.md", "---\nname: a\n---\nbody\n")
    result = desk.operations().frontmatter_update("daily/x.md", {"name": "a"})
    assert result.change_id == ""
    assert "nothing was changed" in result.answer


def test_a_removal_names_what_was_there_and_what_was_not(desk: Desk) -> None:
    desk.put("daily/x.md", CARD)
    result = desk.operations().frontmatter_delete("daily/x.md", ["zeta", "nothing"])
    assert result.answer.startswith("Removed zeta from daily/x.md. Not there: nothing.\nname: a")
    assert desk.text("daily/x.md") == CARD.replace("zeta: 1\n", "")
    again = desk.operations().frontmatter_delete("daily/x.md", ["zeta"])
    assert (again.change_id, again.success) == ("", True)
    assert again.answer.startswith("Nothing was changed. Not there: zeta.")


def test_broken_front_matter_is_refused_and_left_as_it_is(desk: Desk) -> None:
    broken = "---\nnot: [closed\n---\nbody\n"
    desk.put("daily/x.md", broken)
    files = desk.operations()
    for call in (
        lambda: files.frontmatter_read("daily/x.md"),
        lambda: files.frontmatter_update("daily/x.md", {"a": 1}),
        lambda: files.frontmatter_delete("daily/x.md", ["not"]),
    ):
        with pytest.raises(BadDocument):
            call()
    assert desk.text("daily/x.md") == broken


def test_what_cannot_have_front_matter_or_is_not_given_is_refused(desk: Desk) -> None:
    desk.put("daily/x.txt", "text\n")
    desk.put("daily/x.md", "text\n")
    files = desk.operations()
    with pytest.raises(BadInput, match="only Markdown files"):
        files.frontmatter_read("daily/x.txt")
    with pytest.raises(BadInput, match="no keys to set"):
        files.frontmatter_update("daily/x.md", {})
    with pytest.raises(BadInput, match="no keys to remove"):
        files.frontmatter_delete("daily/x.md", [])
    with pytest.raises(NotFound):
        files.frontmatter_read("daily/y.md")


def test_a_long_front_matter_is_capped_in_the_answer_alone(desk: Desk) -> None:
    desk.put("daily/x.md", "body\n")
    files = desk.with_answer_bytes(1024).operations()
    result = files.frontmatter_update("daily/x.md", {"long": "word " * 1000})
    assert len(result.answer.encode()) <= 1024
    assert result.answer.endswith("`read` shows the whole file.]")
    assert len(result.frontmatter["long"]) == 5000
