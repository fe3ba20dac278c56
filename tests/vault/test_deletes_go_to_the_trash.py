from __future__ import annotations

import pytest

from agentscope_reme.errors import BadPath
from agentscope_reme.files.changes import Delete, Write
from tests.vault.conftest import House


def write(house: House, path: str, text: str) -> None:
    house.vault.commit([Write(path, text.encode())], actor="user", operation="write")


def test_a_deleted_file_stands_in_the_trash_under_its_path(house: House) -> None:
    write(house, "digest/wiki/a.md", "x")
    write(house, "b.md", "[[digest/wiki/a.md]]")
    done = house.vault.delete("digest/wiki/a.md", actor="user")
    trashed = house.workspace.trash / done.change_id / "digest/wiki/a.md"
    assert trashed.read_text() == "x"
    assert house.files() == {"b.md": "[[digest/wiki/a.md]]"}
    assert house.store.node("digest/wiki/a.md") is None
    assert [link.source_path for link in done.inbound] == ["b.md"]
    assert done.hashes == {"digest/wiki/a.md": None}


def test_the_trash_is_never_indexed(house: House) -> None:
    write(house, "a.md", "x")
    house.vault.delete("a.md", actor="user")
    house.vault.scan(full=True)
    assert house.store.nodes() == []


def test_a_folder_goes_as_a_whole(house: House) -> None:
    write(house, "digest/wiki/x/a.md", "a")
    write(house, "digest/wiki/x/deep/b.md", "b")
    house.put("digest/wiki/x/.obsidian/c", "hidden")
    done = house.vault.delete("digest/wiki/x", actor="user")
    assert not (house.root / "digest/wiki/x").exists()
    trashed = house.workspace.trash / done.change_id / "digest/wiki/x"
    assert (trashed / "deep/b.md").read_text() == "b"
    assert (trashed / ".obsidian/c").read_text() == "hidden"
    house.vault.undo(done.change_id, actor="user")
    assert house.files() == {"digest/wiki/x/a.md": "a", "digest/wiki/x/deep/b.md": "b"}
    assert house.text("digest/wiki/x/.obsidian/c") == "hidden"
    assert not (house.workspace.trash / done.change_id).exists()


def test_an_empty_folder_and_a_folder_of_links_can_go(house: House) -> None:
    (house.root / "digest/wiki/empty").mkdir(parents=True)
    house.vault.delete("digest/wiki/empty", actor="user")
    assert not (house.root / "digest/wiki/empty").exists()
    (house.root / "digest/wiki/links").mkdir(parents=True)
    (house.root / "digest/wiki/links/out").symlink_to("/etc")
    house.vault.delete("digest/wiki/links", actor="user")
    assert not (house.root / "digest/wiki/links").exists()


@pytest.mark.parametrize(
    "path",
    [".", "daily", "digest", "metadata", "session", "resource", "memory", "journal", "trash"],
)
def test_the_layout_cannot_be_deleted(house: House, path: str) -> None:
    with pytest.raises(BadPath):
        house.vault.delete(path, actor="user")


def test_an_undone_delete_keeps_the_mode(house: House) -> None:
    write(house, "a.md", "x")
    (house.root / "a.md").chmod(0o600)
    done = house.vault.delete("a.md", actor="user")
    house.vault.undo(done.change_id, actor="user")
    assert (house.root / "a.md").stat().st_mode & 0o777 == 0o600


def test_the_trash_restores_what_the_blobs_lost(house: House) -> None:
    write(house, "a.md", "x")
    done = house.vault.delete("a.md", actor="user")
    for blob in (house.workspace.journal / "blobs").iterdir():
        blob.unlink()
    house.vault.undo(done.change_id, actor="user")
    assert house.files() == {"a.md": "x"}


def test_a_staged_delete_goes_to_the_trash_too(house: House) -> None:
    write(house, "a.md", "x")
    changes = [Delete("a.md"), Write("b.md", b"y")]
    done = house.vault.commit(changes, actor="dream", operation="dream")
    assert (house.workspace.trash / done.change_id / "a.md").read_text() == "x"
