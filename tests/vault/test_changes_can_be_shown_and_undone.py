from __future__ import annotations

import pytest

from agentscope_reme.errors import Conflict, NotFound
from agentscope_reme.files.changes import Write
from tests.vault.conftest import House


def write(house: House, path: str, data: str | bytes, actor: str = "user") -> str:
    raw = data.encode() if isinstance(data, str) else data
    return house.vault.commit([Write(path, raw)], actor=actor, operation="write").change_id


def test_history_is_newest_first_and_can_be_narrowed(house: House) -> None:
    first = write(house, "daily/2026-06-20/a.md", "1")
    second = write(house, "digest/wiki/b.md", "2", actor="agent:dream")
    third = house.vault.move("digest/wiki/b.md", "digest/wiki/c.md", actor="user").change_id
    ids = [record.change_id for record in house.vault.history()]
    assert ids == [third, second, first]
    assert [r.change_id for r in house.vault.history("digest/wiki/b.md")] == [third, second]
    assert [r.change_id for r in house.vault.history("daily")] == [first]
    assert [r.change_id for r in house.vault.history(limit=1)] == [third]
    record = house.vault.history()[1]
    assert (record.actor, record.operation, record.paths) == (
        "agent:dream",
        "write",
        ["digest/wiki/b.md"],
    )
    assert record.at == "2026-06-20T09:30:00.000+00:00"


def test_a_diff_shows_what_changed(house: House) -> None:
    created = write(house, "a.md", "one\ntwo\n")
    changed = write(house, "a.md", "one\n2\u2028still two")
    assert house.vault.diff(created) == "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert house.vault.diff(changed) == (
        "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n"
        "+2\u2028still two\n\\ No newline at end of file\n"
    )


def test_a_diff_of_a_delete_and_of_a_move(house: House) -> None:
    write(house, "a.md", "me: [[a.md]]\n")
    write(house, "b.md", "x\n")
    moved = house.vault.move("a.md", "c.md", actor="user").change_id
    assert house.vault.diff(moved) == (
        "rename a.md => c.md\n--- a/a.md\n+++ b/c.md\n@@ -1 +1 @@\n-me: [[a.md]]\n+me: [[c.md]]\n"
    )
    renamed = house.vault.move("b.md", "d.md", actor="user").change_id
    assert house.vault.diff(renamed) == "rename b.md => d.md\n"
    gone = house.vault.delete("d.md", actor="user").change_id
    assert house.vault.diff(gone) == "--- a/d.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


def test_a_binary_file_is_named_as_such(house: House) -> None:
    change = write(house, "a.png", b"\x89PNG\0\xff")
    assert house.vault.diff(change) == "Binary file a.png changed, 0 to 6 bytes\n"


def test_a_diff_says_when_a_content_is_not_kept(house: House) -> None:
    change = write(house, "a.md", "one\n")
    house.put("a.md", "by hand\n")
    assert "(the content after is no longer kept)" in house.vault.diff(change)


def test_undo_and_undo_of_undo(house: House) -> None:
    write(house, "a.md", "one")
    change = write(house, "a.md", "two")
    undone = house.vault.undo(change, actor="user")
    assert house.text("a.md") == "one"
    house.vault.undo(undone.change_id, actor="user")
    assert house.text("a.md") == "two"
    assert house.vault.history()[0].operation == f"undo {undone.change_id}"
    assert house.store.keyword_search("two", limit=1)


def test_undoing_a_creation_removes_the_file(house: House) -> None:
    change = write(house, "a.md", "one")
    undone = house.vault.undo(change, actor="user")
    assert house.files() == {}
    house.vault.undo(undone.change_id, actor="user")
    assert house.files() == {"a.md": "one"}


def test_a_path_that_changed_since_is_named(house: House) -> None:
    change = house.vault.commit(
        [Write("a.md", b"1"), Write("b.md", b"1")], actor="user", operation="write"
    ).change_id
    house.put("b.md", "by hand")
    with pytest.raises(Conflict, match=r"b\.md"):
        house.vault.undo(change, actor="user")
    assert house.files() == {"a.md": "1", "b.md": "by hand"}


def test_undoing_twice_is_a_conflict(house: House) -> None:
    write(house, "a.md", "one")
    change = write(house, "a.md", "two")
    house.vault.undo(change, actor="user")
    with pytest.raises(Conflict):
        house.vault.undo(change, actor="user")


def test_a_move_with_its_links_is_undone_as_one(house: House) -> None:
    write(house, "x/a.md", "[[x/b.md]]")
    write(house, "x/b.md", "b")
    write(house, "out.md", "[[x/b.md]]")
    before = house.files()
    moved = house.vault.move("x", "y", actor="user")
    after = house.files()
    undone = house.vault.undo(moved.change_id, actor="user")
    assert house.files() == before
    assert not (house.root / "y").exists()
    house.vault.undo(undone.change_id, actor="user")
    assert house.files() == after


def test_an_unknown_change_is_not_found(house: House) -> None:
    for call in (house.vault.diff, lambda change: house.vault.undo(change, actor="user")):
        with pytest.raises(NotFound):
            call("nothing")


def test_an_expired_pre_image_is_said_and_changes_nothing(house: House) -> None:
    write(house, "a.md", "one")
    change = write(house, "a.md", "two")
    for blob in (house.workspace.journal / "blobs").iterdir():
        blob.unlink()
    with pytest.raises(NotFound, match="no longer kept"):
        house.vault.undo(change, actor="user")
    assert house.text("a.md") == "two"
