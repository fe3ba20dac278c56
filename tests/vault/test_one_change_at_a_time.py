from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentscope_reme.errors import BadInput, BadPath, Closed, Conflict, NotFound, StorageFailed
from agentscope_reme.files.changes import Change, Delete, Write
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import JournalEntry
from agentscope_reme.schema import content_hash
from agentscope_reme.vault.live_view import LiveView
from tests.files_durability.failing_disk import FailingDisk
from tests.vault.conftest import House


def commit(house: House, *changes: Change) -> str:
    return house.vault.commit(list(changes), actor="user", operation="write").change_id


def test_what_is_written_is_on_the_disk_and_in_the_index(house: House) -> None:
    done = house.vault.commit(
        [Write("daily/2026-06-20/a.md", b"hello")], actor="user", operation="write"
    )
    assert house.text("daily/2026-06-20/a.md") == "hello"
    assert done.hashes == {"daily/2026-06-20/a.md": content_hash(b"hello")}
    assert done.created == {"daily/2026-06-20/a.md"}
    assert done.indexed
    hits = house.store.keyword_search("hello", limit=5)
    assert [hit.path for hit in hits] == ["daily/2026-06-20/a.md"]


def test_the_index_knows_the_stamp_of_the_file(house: House) -> None:
    commit(house, Write("a.md", b"hello"))
    node = house.store.node("a.md")
    assert node is not None
    assert node.st_mtime_ns == (house.root / "a.md").stat().st_mtime_ns
    assert house.vault.scan().files == 0


def test_a_one_file_change_costs_two_or_three_flushes(house: House) -> None:
    costs = []
    for change in (
        Write("daily/2026-06-20/a.md", b"new file, new folder"),
        Write("daily/2026-06-20/a.md", b"replaced"),
        Delete("daily/2026-06-20/a.md"),
    ):
        before = house.disk.fsyncs
        commit(house, change)
        costs.append(house.disk.fsyncs - before)
    assert costs == [3, 3, 3]


def test_a_rename_without_links_costs_three_flushes(house: House) -> None:
    commit(house, Write("digest/wiki/a.md", b"x"))
    before = house.disk.fsyncs
    house.vault.move("digest/wiki/a.md", "digest/personal/a.md", actor="user")
    assert house.disk.fsyncs - before == 3


def test_the_loser_of_a_race_gets_the_current_hash(house: House) -> None:
    commit(house, Write("a.md", b"one"))
    house.put("a.md", "edited by hand")
    with pytest.raises(Conflict) as caught:
        commit(house, Write("a.md", b"two", expected=content_hash(b"one")))
    assert caught.value.current_hash == content_hash(b"edited by hand")
    assert house.text("a.md") == "edited by hand"


def test_creating_refuses_an_existing_file(house: House) -> None:
    commit(house, Write("a.md", b"one", expected=None))
    with pytest.raises(Conflict, match="already stands"):
        commit(house, Write("a.md", b"two", expected=None))


def test_a_file_that_vanished_is_a_conflict_when_it_was_expected(house: House) -> None:
    with pytest.raises(Conflict, match="gone") as caught:
        commit(house, Write("a.md", b"two", expected=content_hash(b"one")))
    assert caught.value.current_hash is None


class _Meddling(Disk):
    """Lets somebody edit a file at the worst moment: after the journal line."""

    def __init__(self) -> None:
        super().__init__()
        self.edits: dict[Path, bytes] = {}

    def append(self, place: Path, data: bytes) -> None:
        super().append(place, data)
        if b'"state": "aborted"' not in data:
            for edited, text in self.edits.items():
                edited.write_bytes(text)
            self.edits = {}


def test_the_hash_is_checked_again_right_before_the_replace(tmp_path: Path) -> None:
    disk = _Meddling()
    house = House(tmp_path, disk)
    house.vault.open()
    commit(house, Write("a.md", b"one"))
    disk.edits = {house.root / "a.md": b"by hand"}
    with pytest.raises(Conflict) as caught:
        commit(house, Write("a.md", b"two", expected=content_hash(b"one")))
    assert caught.value.current_hash == content_hash(b"by hand")
    assert house.text("a.md") == "by hand"
    assert [record.state for record in house.vault.history()] == ["aborted", "done"]


def test_a_writer_without_expectations_keeps_the_edit_as_pre_image(tmp_path: Path) -> None:
    disk = _Meddling()
    house = House(tmp_path, disk)
    house.vault.open()
    commit(house, Write("a.md", b"one"))
    disk.edits = {house.root / "a.md": b"by hand"}
    change_id = commit(house, Write("a.md", b"two"))
    assert house.text("a.md") == "two"
    house.vault.undo(change_id, actor="user")
    assert house.text("a.md") == "by hand"


def test_a_change_that_changes_nothing_is_not_journaled(house: House) -> None:
    commit(house, Write("a.md", b"one"))
    done = house.vault.commit([Write("a.md", b"one")], actor="user", operation="write")
    assert done.change_id == ""
    assert done.hashes == {"a.md": content_hash(b"one")}
    assert len(house.vault.history()) == 1


def test_the_mode_of_a_file_is_kept(house: House) -> None:
    commit(house, Write("a.md", b"one"))
    (house.root / "a.md").chmod(0o600)
    commit(house, Write("a.md", b"two"))
    assert stat.S_IMODE((house.root / "a.md").stat().st_mode) == 0o600


def test_several_paths_change_together_or_not_at_all(house: House) -> None:
    commit(house, Write("a.md", b"a"), Write("b.md", b"b"))
    with pytest.raises(Conflict):
        commit(house, Write("a.md", b"a2"), Write("b.md", b"b2", expected=None))
    assert house.files() == {"a.md": "a", "b.md": "b"}
    commit(house, Write("a.md", b"a3"), Delete("b.md"), Write("c.md", b"c"))
    assert house.files() == {"a.md": "a3", "c.md": "c"}
    assert len(house.vault.history()) == 2


def test_whichever_call_fails_all_paths_stay_as_they_were(tmp_path: Path) -> None:
    disk = FailingDisk()
    house = House(tmp_path, disk)
    house.vault.open()
    commit(house, Write("a.md", b"a"), Write("b.md", b"b"), Write("gone.md", b"g"))
    before = house.files()
    failing = 0
    while failing < 200:
        failing += 1
        disk.calls, disk.fails_at = 0, failing
        try:
            commit(house, Write("a.md", b"A"), Write("new.md", b"n"), Delete("gone.md"))
        except StorageFailed:
            disk.fails_at = 0
            assert house.files() == before
            house.vault.scan()
            assert {node.path for node in house.store.nodes()} == set(before)
        else:
            break
    assert failing > 20
    assert house.files() == {"a.md": "A", "b.md": "b", "new.md": "n"}
    names = [place.name for place in house.root.rglob("*") if place.name.endswith(".tmp")]
    assert names == []


def test_one_path_twice_in_one_change_is_refused(house: House) -> None:
    with pytest.raises(BadInput, match="twice"):
        commit(house, Write("a.md", b"1"), Write("./a.md", b"2"))


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "a/../../x.md",
        "/etc/passwd",
        "~/x.md",
        "daily/../../x",
        "C:\\x.md",
        "a\u0000b.md",
        "metadata/index.db",
        "journal/x",
        "trash/x",
        "users/x",
        "",
        ".",
        "CON.md",
        "link-out/x.md",
    ],
)
def test_unsafe_paths_are_refused_by_every_change(house: House, path: str) -> None:
    (house.root / "link-out").symlink_to("/tmp")
    commit(house, Write("a.md", b"x"))
    vault = house.vault
    for call in (
        lambda: commit(house, Write(path, b"x")),
        lambda: vault.delete(path, actor="user"),
        lambda: vault.move(path, "b.md", actor="user"),
        lambda: vault.move("a.md", path, actor="user"),
        lambda: vault.read(path),
        lambda: vault.exists(path),
    ):
        with pytest.raises(BadPath):
            call()
    assert house.vault.paths() == ["a.md"]


def test_spellings_of_one_path_are_one_file(house: House) -> None:
    for spelling in ("./a.md", " a.md ", ".//a.md"):
        house.vault.commit([Write(spelling, spelling.encode())], actor="u", operation="write")
    assert house.vault.paths() == ["a.md"]
    assert [node.path for node in house.store.nodes()] == ["a.md"]


def test_a_file_cannot_stand_on_a_folder_or_below_a_file(house: House) -> None:
    commit(house, Write("digest/wiki/a.md", b"x"))
    with pytest.raises(BadPath, match="folder stands there"):
        commit(house, Write("digest/wiki", b"x"))
    with pytest.raises(BadPath, match="is a file"):
        commit(house, Write("digest/wiki/a.md/b.md", b"x"))


def test_what_is_missing_cannot_be_deleted(house: House) -> None:
    with pytest.raises(NotFound):
        commit(house, Delete("a.md"))
    with pytest.raises(NotFound):
        house.vault.delete("a.md", actor="user")


def test_a_view_acts_in_its_own_name(house: House) -> None:
    view = LiveView(house.vault, actor="agent:dream")
    made = view.write("digest/wiki/a.md", b"[[b.md]]")
    assert made.created
    assert view.exists("digest/wiki/a.md")
    assert view.read("digest/wiki/a.md") == b"[[b.md]]"
    assert view.paths("digest/") == ["digest/wiki/a.md"]
    assert [link.source_path for link in view.inlinks("b.md")] == ["digest/wiki/a.md"]
    moved = view.move("digest/wiki/a.md", "digest/wiki/c.md")
    assert moved.content_hash == made.content_hash
    assert view.delete("digest/wiki/c.md").content_hash is None
    assert {record.actor for record in house.vault.history()} == {"agent:dream"}


def test_a_closed_vault_refuses_changes(house: House) -> None:
    house.vault.close()
    house.vault.close()
    with pytest.raises(Closed):
        commit(house, Write("a.md", b"x"))


def test_the_journal_says_what_happened(house: House) -> None:
    change_id = commit(house, Write("a.md", b"x"))
    entry = house.journal.entry(change_id)
    assert isinstance(entry, JournalEntry)
    assert (entry.actor, entry.operation, entry.state) == ("user", "write", "done")
    assert entry.changes[0].after == content_hash(b"x")
