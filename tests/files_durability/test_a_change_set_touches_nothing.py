from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.errors import BadPath, Conflict, NotFound
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Delete, Write
from agentscope_reme.schema import content_hash
from agentscope_reme.vault.live_view import LiveView
from tests.vault.conftest import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    built = House(tmp_path)
    built.vault.open()
    for path, text in (("digest/wiki/a.md", "[[digest/wiki/b.md]]"), ("digest/wiki/b.md", "b")):
        built.vault.commit([Write(path, text.encode())], actor="user", operation="write")
    return built


@pytest.fixture
def staged(house: House) -> ChangeSet:
    return ChangeSet(LiveView(house.vault, actor="agent"))


def test_nothing_reaches_the_disk_before_the_commit(house: House, staged: ChangeSet) -> None:
    before = house.files()
    staged.write("digest/wiki/c.md", b"c")
    staged.delete("digest/wiki/a.md")
    staged.move("digest/wiki/b.md", "digest/wiki/d.md")
    assert house.files() == before
    assert staged.paths("digest/wiki/") == ["digest/wiki/c.md", "digest/wiki/d.md"]
    house.vault.commit(staged.changes(), actor="agent", operation="dream")
    assert house.files() == {"digest/wiki/c.md": "c", "digest/wiki/d.md": "b"}


def test_reads_fall_through_until_a_path_is_staged(staged: ChangeSet) -> None:
    assert staged.read("digest/wiki/b.md") == b"b"
    staged.write("digest/wiki/b.md", b"b2")
    assert staged.read("digest/wiki/b.md") == b"b2"
    staged.delete("digest/wiki/b.md")
    assert not staged.exists("digest/wiki/b.md")
    with pytest.raises(NotFound):
        staged.read("digest/wiki/b.md")
    with pytest.raises(NotFound):
        staged.delete("digest/wiki/b.md")


def test_changes_expect_what_was_read(staged: ChangeSet) -> None:
    staged.read("digest/wiki/b.md")
    staged.write("digest/wiki/b.md", b"b2")
    staged.write("digest/wiki/new.md", b"n")
    staged.delete("digest/wiki/a.md")
    assert staged.changes() == [
        Delete("digest/wiki/a.md", expected=content_hash(b"[[digest/wiki/b.md]]")),
        Write("digest/wiki/b.md", b"b2", expected=content_hash(b"b")),
        Write("digest/wiki/new.md", b"n", expected=None),
    ]


def test_an_edit_between_reading_and_committing_is_a_conflict(
    house: House, staged: ChangeSet
) -> None:
    staged.read("digest/wiki/b.md")
    house.put("digest/wiki/b.md", "by hand")
    staged.write("digest/wiki/b.md", b"b2")
    with pytest.raises(Conflict):
        house.vault.commit(staged.changes(), actor="agent", operation="dream")
    assert house.text("digest/wiki/b.md") == "by hand"


def test_what_ends_as_it_began_is_no_change(staged: ChangeSet) -> None:
    staged.write("digest/wiki/b.md", b"b2")
    staged.write("digest/wiki/b.md", b"b")
    staged.write("digest/wiki/c.md", b"c")
    staged.delete("digest/wiki/c.md")
    assert staged.changes() == []


def test_links_are_seen_as_staged(staged: ChangeSet) -> None:
    staged.write("digest/wiki/c.md", b"[[digest/wiki/b.md]]")
    sources = [link.source_path for link in staged.inlinks("digest/wiki/b.md")]
    assert sources == ["digest/wiki/a.md", "digest/wiki/c.md"]
    staged.write("digest/wiki/a.md", b"no link")
    sources = [link.source_path for link in staged.inlinks("digest/wiki/b.md")]
    assert sources == ["digest/wiki/c.md"]


def test_a_staged_move_retargets_staged_and_unstaged_links(staged: ChangeSet) -> None:
    staged.write("digest/wiki/c.md", b"[[digest/wiki/b.md|b]] [[digest/wiki/c.md]]")
    moved = staged.move("digest/wiki/b.md", "digest/personal/b.md")
    assert moved.touched == ("digest/wiki/a.md", "digest/wiki/c.md")
    assert staged.read("digest/wiki/a.md") == b"[[digest/personal/b.md]]"
    staged.move("digest/wiki", "digest/procedure")
    assert staged.read("digest/procedure/c.md") == (
        b"[[digest/personal/b.md|b]] [[digest/procedure/c.md]]"
    )


def test_moves_are_refused_like_live_ones(staged: ChangeSet) -> None:
    with pytest.raises(Conflict):
        staged.move("digest/wiki/a.md", "digest/wiki/b.md")
    with pytest.raises(Conflict):
        staged.move("digest/wiki/a.md", "digest/wiki")
    with pytest.raises(BadPath):
        staged.move("digest/wiki", "digest/wiki/x")
    with pytest.raises(NotFound):
        staged.move("missing.md", "x.md")
    staged.move("digest/wiki/a.md", "digest/wiki/b.md", overwrite=True, retarget=False)
    assert staged.read("digest/wiki/b.md") == b"[[digest/wiki/b.md]]"


@pytest.mark.parametrize("path", ["daily", "digest", "memory"])
def test_layout_folders_stay(staged: ChangeSet, path: str) -> None:
    with pytest.raises(BadPath):
        staged.delete(path)
    with pytest.raises(BadPath):
        staged.move(path, "elsewhere")


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "metadata/x", "link-out/x.md"])
def test_unsafe_paths_are_refused_while_staging(house: House, staged: ChangeSet, path: str) -> None:
    (house.root / "link-out").symlink_to("/tmp")
    with pytest.raises(BadPath):
        staged.write(path, b"x")


def test_a_write_expects_what_is_staged(staged: ChangeSet) -> None:
    staged.write("digest/wiki/b.md", b"b2", expected=content_hash(b"b"))
    with pytest.raises(Conflict):
        staged.write("digest/wiki/b.md", b"b3", expected=content_hash(b"b"))
    with pytest.raises(Conflict):
        staged.write("digest/wiki/b.md", b"b3", expected=None)
    with pytest.raises(BadPath, match="folder"):
        staged.write("digest/wiki", b"x")


def test_what_is_overwritten_is_no_link_to_what_moved(staged: ChangeSet) -> None:
    staged.write("x.md", b"new")
    staged.write("y.md", b"see [[x.md]]")
    moved = staged.move("x.md", "y.md", overwrite=True)
    assert staged.read("y.md") == b"new"
    assert moved.inbound == ()
