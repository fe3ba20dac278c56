"""What stands in a folder, and what is known about one path."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.schema import content_hash
from tests.tools.conftest import Desk


def _fill(desk: Desk) -> None:
    desk.put("MEMORY.md", "root\n")
    desk.put("digest/wiki/a.md", "---\nname: A\ndescription: About A\n---\nbody\n")
    desk.put("digest/wiki/b.txt", "text\n")
    desk.put("digest/top.md", "top\n")


def test_a_folder_shows_its_files_and_folders(desk: Desk) -> None:
    _fill(desk)
    result = desk.operations().list("digest")
    assert [(entry.path, entry.kind) for entry in result.entries] == [
        ("digest/top.md", "file"),
        ("digest/wiki", "folder"),
    ]
    assert "digest/wiki/" in result.answer.split("\n")


@pytest.mark.parametrize("root", ["", ".", "/", "./"])
def test_the_workspace_itself_can_be_listed(desk: Desk, root: str) -> None:
    _fill(desk)
    result = desk.operations().list(root)
    assert [entry.path for entry in result.entries] == ["MEMORY.md", "digest"]


def test_a_recursive_listing_shows_names_and_descriptions(desk: Desk) -> None:
    _fill(desk)
    result = desk.operations().list("digest/", recursive=True)
    assert [entry.path for entry in result.entries] == [
        "digest/top.md",
        "digest/wiki/a.md",
        "digest/wiki/b.txt",
    ]
    described = result.entries[1]
    assert (described.name, described.description, described.size) == ("A", "About A", 42)
    assert "A — About A" in result.answer


def test_a_limit_says_how_many_were_left_out(desk: Desk) -> None:
    for number in range(10):
        desk.put(f"digest/{number}.md", "x\n")
    result = desk.operations().list("digest", limit=3)
    assert len(result.entries) == 3
    assert result.truncated
    assert "[7 of 10 left out." in result.answer
    with pytest.raises(BadInput, match="at least 1"):
        desk.operations().list("digest", limit=0)


def test_a_long_listing_stays_within_the_cap(desk: Desk) -> None:
    for number in range(60):
        desk.put(f"digest/{number:03}-{'n' * 40}.md", "x\n")
    result = desk.with_answer_bytes(1024).operations().list("digest")
    assert len(result.answer.encode()) <= 1024
    assert result.truncated
    assert len(result.entries) == 60


def test_an_empty_folder_is_empty_and_a_missing_one_is_an_error(desk: Desk) -> None:
    assert desk.operations().list("resource").answer == "No files in `resource/`."
    with pytest.raises(NotFound, match="no such folder"):
        desk.operations().list("resource/none")


def test_stat_knows_a_file_a_folder_and_nothing(desk: Desk) -> None:
    _fill(desk)
    files = desk.operations()
    a = files.stat("digest/wiki/a.md")
    assert (a.exists, a.kind, a.media_type) == (True, "file", "text/markdown")
    assert a.indexed == (desk.store.node("digest/wiki/a.md") is not None)
    assert a.content_hash == content_hash(desk.view.read("digest/wiki/a.md"))
    assert a.content_hash in a.answer
    assert "name: A\ndescription: About A" in a.answer

    folder = files.stat("digest/wiki")
    assert (folder.kind, folder.answer) == (
        "folder",
        "digest/wiki/ is a folder with 2 files; `list` shows them.",
    )
    nothing = files.stat("digest/none.md")
    assert (nothing.exists, nothing.success, nothing.kind) == (False, True, "missing")
    assert nothing.answer == "digest/none.md does not exist."


def test_stat_tells_broken_front_matter(desk: Desk) -> None:
    desk.put("daily/x.md", "---\nnot: [closed\n---\nbody\n")
    result = desk.operations().stat("daily/x.md")
    assert result.frontmatter_error
    assert "front matter cannot be read" in result.answer
