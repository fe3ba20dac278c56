from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.errors import NotFound, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import FolderChange, Journal, JournalEntry, PathChange
from agentscope_reme.schema import content_hash
from agentscope_reme.testing import FakeClock
from agentscope_reme.workspace import Workspace


class Desk:
    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.disk = Disk()
        self.clock = FakeClock()
        self.journal = Journal(self.workspace, disk=self.disk, clock=self.clock)

    def entry(self, change_id: str, **fields: object) -> JournalEntry:
        changes = (PathChange("a.md", None, "f" * 64),)
        entry = JournalEntry(change_id, self.journal.now(), "user", "write", changes)
        for name, value in fields.items():
            object.__setattr__(entry, name, value)
        return entry


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    built = Desk(tmp_path)
    built.journal.open()
    return built


def ids(desk: Desk) -> list[str]:
    return [entry.change_id for entry in desk.journal.entries()]


def test_entries_come_newest_first_across_months(desk: Desk) -> None:
    desk.journal.append(desk.entry("one"))
    desk.journal.append(desk.entry("two"))
    desk.clock.advance(days=30)
    desk.journal.append(desk.entry("three"))
    assert ids(desk) == ["three", "two", "one"]
    names = sorted(place.name for place in desk.workspace.journal.glob("*.jsonl"))
    assert names == ["2026-06.jsonl", "2026-07.jsonl"]


def test_an_entry_round_trips(desk: Desk) -> None:
    changes = (
        PathChange("b.md", None, "a" * 64, origin="a.md"),
        PathChange("a.md", "a" * 64, None),
    )
    entry = desk.entry("one", changes=changes, folder=FolderChange("x", None), state="prepared")
    desk.journal.append(entry)
    assert list(desk.journal.entries()) == [entry]
    assert desk.journal.last() == entry


def test_a_settled_entry_shows_its_end(desk: Desk) -> None:
    desk.journal.append(desk.entry("one", state="prepared"))
    desk.journal.settle("one", "done")
    assert desk.journal.entry("one").state == "done"
    assert desk.journal.last() is None


def test_an_entry_costs_one_flush(desk: Desk) -> None:
    before = desk.disk.fsyncs
    desk.journal.append(desk.entry("one"))
    assert desk.disk.fsyncs - before == 1


def test_torn_and_foreign_lines_are_skipped_and_counted(desk: Desk) -> None:
    desk.journal.append(desk.entry("one"))
    place = desk.workspace.journal / "2026-06.jsonl"
    with place.open("ab") as torn:
        torn.write(b'{"other": 1}\n\xff\xfe\n{"change_id": "half", "cha')
    desk.journal.append(desk.entry("two"))
    assert ids(desk) == ["two", "one"]
    assert desk.journal.unreadable == 3


def test_a_clock_set_back_does_not_hide_the_newest_entry(desk: Desk) -> None:
    desk.clock.advance(days=30)
    desk.journal.append(desk.entry("july"))
    desk.clock.advance(days=-30)
    desk.journal.append(desk.entry("june again"))
    assert ids(desk) == ["june again", "july"]


def test_an_unknown_change_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.journal.entry("nothing")


def test_a_kept_file_survives_its_replacement(desk: Desk) -> None:
    place = desk.workspace.root / "a.md"
    desk.disk.replace(place, b"old", mode=0o640)
    sha = desk.journal.keep(place)
    desk.disk.replace(place, b"new")
    assert sha == content_hash(b"old")
    assert desk.journal.blob(sha) == b"old"
    assert desk.journal.blob_mode(sha) == 0o640


def test_a_blob_that_was_altered_is_never_handed_out(desk: Desk) -> None:
    place = desk.workspace.root / "a.md"
    place.write_bytes(b"old")
    sha = desk.journal.keep(place)
    place.write_bytes(b"written in place")  # as an editor does that keeps the inode
    with pytest.raises(StorageFailed, match="altered"):
        desk.journal.blob(sha)
    assert desk.journal.keep_bytes(b"old") == sha
    assert desk.journal.blob(sha) == b"old"
    assert place.read_bytes() == b"written in place"


def test_kept_bytes_are_stored_once(desk: Desk) -> None:
    sha = desk.journal.keep_bytes(b"data")
    inode = (desk.workspace.journal / "blobs" / sha).stat().st_ino
    desk.journal.keep_bytes(b"data")
    assert (desk.workspace.journal / "blobs" / sha).stat().st_ino == inode


def test_a_forgotten_blob_is_gone(desk: Desk) -> None:
    sha = desk.journal.keep_bytes(b"secret")
    desk.journal.forget_blob(sha)
    desk.journal.forget_blob(sha)
    with pytest.raises(NotFound):
        desk.journal.blob(sha)
    assert desk.journal.blob_mode(sha) is None


def test_ids_of_changes_are_unique_and_sort_by_time(desk: Desk) -> None:
    first = desk.journal.new_id()
    desk.clock.advance(1)
    assert first < desk.journal.new_id()
    assert desk.journal.new_id() != desk.journal.new_id()
