"""Writing, editing, deleting and moving: what happened is in the answer."""

from __future__ import annotations

import threading

import pytest

from agentscope_reme.errors import BadDocument, BadInput, BadPath, Conflict, NotFound
from agentscope_reme.schema import content_hash
from tests.tools.conftest import Desk


def test_a_new_file_gets_its_front_matter_and_a_final_newline(desk: Desk) -> None:
    result = desk.operations().write(
        "digest/wiki/x.md",
        "Body",
        name="  X  ",
        description="What X is",
        metadata={"tags": ["a"], "skip": None},
    )
    assert result.created
    assert result.answer.startswith("Created digest/wiki/x.md (")
    text = desk.text("digest/wiki/x.md")
    assert text.startswith("---\n")
    assert text.endswith("---\nBody\n")
    assert desk.operations().frontmatter_read("digest/wiki/x.md").frontmatter == {
        "tags": ["a"],
        "name": "X",
        "description": "What X is",
    }
    assert result.content_hash == content_hash(desk.view.read("digest/wiki/x.md"))


def test_replacing_a_file_says_so(desk: Desk) -> None:
    files = desk.operations()
    files.write("digest/x.md", "one")
    result = files.write("digest/x.md", "two")
    assert not result.created
    assert result.answer.startswith("Replaced the earlier content of digest/x.md (4 bytes)")
    assert desk.text("digest/x.md") == "two\n"


def test_a_text_file_is_written_as_it_is(desk: Desk) -> None:
    files = desk.operations()
    files.write("notes.txt", "no newline")
    assert desk.text("notes.txt") == "no newline"
    with pytest.raises(BadInput, match="only Markdown files have front matter"):
        files.write("notes.txt", "x", name="n")


def test_compare_and_set_refuses_what_others_changed(desk: Desk) -> None:
    files = desk.operations()
    first = files.write("digest/x.md", "one")
    files.write("digest/x.md", "two", expected_hash=first.content_hash)
    with pytest.raises(Conflict) as refusal:
        files.write("digest/x.md", "three", expected_hash=first.content_hash)
    assert refusal.value.current_hash == content_hash(b"two\n")
    with pytest.raises(Conflict):
        files.write("digest/x.md", "new", expected_hash="")
    assert files.write("digest/y.md", "new", expected_hash="").created
    assert desk.text("digest/x.md") == "two\n"


@pytest.mark.parametrize("path", ["digest/a[1].md", "digest/a#b.md", "digest/x.md#L3"])
def test_a_name_no_link_could_hold_is_refused(desk: Desk, path: str) -> None:
    desk.put("digest/y.md", "y\n")
    with pytest.raises(BadPath):
        desk.operations().write(path, "x")
    with pytest.raises(BadPath):
        desk.operations().move("digest/y.md", path)


def test_a_folder_is_not_overwritten_by_a_file(desk: Desk) -> None:
    desk.put("digest/wiki/x.md", "x\n")
    with pytest.raises(BadPath, match="this is a folder"):
        desk.operations().write("digest/wiki", "x")


def test_half_a_character_is_refused(desk: Desk) -> None:
    with pytest.raises(BadInput, match="lone surrogates"):
        desk.operations().write("digest/x.md", "bad \ud800")


def test_an_edit_changes_the_body_and_nothing_else(desk: Desk) -> None:
    desk.put("digest/x.md", "---\n# kept\nname: 'body'\n---\n    the body\n")
    result = desk.operations().edit("digest/x.md", "body", "text")
    assert (result.replaced, result.answer) == (1, "Edited digest/x.md in 1 place.")
    assert desk.text("digest/x.md") == "---\n# kept\nname: 'body'\n---\n    the text\n"


@pytest.mark.parametrize("path", ["digest/x.md", "digest/x.txt"])
def test_an_edit_must_find_its_text_once(desk: Desk, path: str) -> None:
    desk.put(path, "one two two\n")
    files = desk.operations()
    with pytest.raises(BadDocument, match="2 times"):
        files.edit(path, "two", "2")
    with pytest.raises(BadDocument):
        files.edit(path, "three", "3")
    for old, new in (("", "x"), ("one", "one")):
        with pytest.raises(BadInput):
            files.edit(path, old, new)
    assert desk.text(path) == "one two two\n"
    assert files.edit(path, "two", "2", replace_all=True).replaced == 2
    assert desk.text(path) == "one 2 2\n"


def test_an_edit_of_a_text_file_keeps_foreign_bytes_and_line_ends(desk: Desk) -> None:
    before = b"abc \xff\xfe\r\nnext\r\n"
    desk.put("resource/x.txt", before)
    desk.operations().edit("resource/x.txt", "next\n", "last\n")
    assert desk.view.read("resource/x.txt") == b"abc \xff\xfe\r\nlast\r\n"


def test_edits_of_different_places_at_once_are_all_kept(shared_desk: Desk) -> None:
    desk = shared_desk
    desk.put("digest/x.md", "".join(f"item-{n};\n" for n in range(4)))
    files = desk.operations()
    threads = [
        threading.Thread(target=files.edit, args=("digest/x.md", f"item-{n};", f"done-{n};"))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.text("digest/x.md") == "".join(f"done-{n};\n" for n in range(4))


def test_a_deletion_lists_what_still_links_to_the_file(desk: Desk) -> None:
    desk.put("digest/x.md", "x\n")
    desk.put("daily/a.md", "see [[digest/x.md]] and [[digest/x.md#part]]\n")
    result = desk.operations().delete("digest/x.md")
    assert [link.source_path for link in result.inbound] == ["daily/a.md", "daily/a.md"]
    assert "Deleted digest/x.md; it is in the trash" in result.answer
    assert "1 file still links to it:\n- daily/a.md (2 links)" in result.answer
    assert not desk.view.exists("digest/x.md")


def test_a_deleted_folder_says_how_many_files_went(desk: Desk) -> None:
    for name in "abc":
        desk.put(f"digest/wiki/{name}.md", "x\n")
    result = desk.operations().delete("digest/wiki")
    assert "Deleted digest/wiki/ with 3 files" in result.answer
    assert "Nothing linked to it." in result.answer
    assert desk.view.paths("digest") == []


def test_what_is_not_there_cannot_be_deleted_or_moved(desk: Desk) -> None:
    files = desk.operations()
    for call in (lambda: files.delete("digest/x.md"), lambda: files.move("digest/x.md", "y.md")):
        with pytest.raises(NotFound, match="no such file"):
            call()


def test_a_move_lists_the_files_whose_links_followed(desk: Desk) -> None:
    desk.put("digest/x.md", "x\n")
    desk.put("daily/a.md", "see [[digest/x.md|X]]\n")
    result = desk.operations().move("./digest/x.md", "digest/wiki/y.md")
    assert result.touched == ["daily/a.md"]
    assert "Rewrote its links in 1 file:\n- daily/a.md" in result.answer
    assert desk.text("daily/a.md") == "see [[digest/wiki/y.md|X]]\n"


def test_a_move_without_retargeting_lists_the_links_left_behind(desk: Desk) -> None:
    desk.put("digest/x.md", "x\n")
    desk.put("daily/a.md", "see [[digest/x.md]]\n")
    result = desk.operations().move("digest/x.md", "digest/y.md", retarget=False)
    assert "1 file still links to it:\n- daily/a.md" in result.answer
    assert desk.text("daily/a.md") == "see [[digest/x.md]]\n"


def test_a_move_into_a_folder_keeps_the_name(desk: Desk) -> None:
    desk.put("digest/x.md", "x\n")
    assert desk.operations().move("digest/x.md", "digest/wiki/").path == "digest/wiki/x.md"


def test_a_move_never_overwrites_unless_told(desk: Desk) -> None:
    desk.put("digest/x.md", "x\n")
    desk.put("digest/y.md", "y\n")
    files = desk.operations()
    with pytest.raises(Conflict):
        files.move("digest/x.md", "digest/y.md")
    assert desk.text("digest/y.md") == "y\n"
    files.move("digest/x.md", "digest/y.md", overwrite=True)
    assert desk.text("digest/y.md") == "x\n"


def test_a_folder_does_not_move_into_itself(desk: Desk) -> None:
    desk.put("digest/wiki/x.md", "x\n")
    for target in ("digest/wiki", "digest/wiki/deeper"):
        with pytest.raises(BadInput):
            desk.operations().move("digest/wiki", target)
