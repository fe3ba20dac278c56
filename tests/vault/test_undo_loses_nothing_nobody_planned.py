"""What a deleted folder held beyond the planned files: undo brings it back, nothing destroys it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import JournalEntry
from tests.vault.conftest import House


class BusyNeighbour:
    """Puts a file down right after a change was journaled, before the files are touched."""

    def __init__(self, house: House, path: str, text: str) -> None:
        append = house.journal.append

        def then_write(entry: JournalEntry) -> None:
            append(entry)
            house.journal.append = append  # type: ignore[method-assign]
            house.put(path, text)

        house.journal.append = then_write  # type: ignore[method-assign]


class DiskThatStops(Disk):
    """Refuses one renaming, the way a full or failing disk does."""

    stop_at = ""

    def _replace(self, src: Path, dst: Path) -> None:
        if self.stop_at and src.name == self.stop_at:
            self.stop_at = ""
            raise OSError(5, "Input/output error")
        super()._replace(src, dst)


def below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_a_note_that_appeared_during_the_delete_comes_back(house: House) -> None:
    house.put("digest/wiki/a/x.md", "x")
    BusyNeighbour(house, "digest/wiki/a/foreign.md", "precious")
    change = house.vault.delete("digest/wiki/a", actor="me")
    assert not (house.root / "digest/wiki/a").exists()
    house.vault.undo(change.change_id, actor="me")
    assert house.files() == {"digest/wiki/a/x.md": "x", "digest/wiki/a/foreign.md": "precious"}
    assert below(house.workspace.trash) == []


def test_links_and_empty_folders_come_back(house: House) -> None:
    house.put("digest/wiki/a/x.md", "x")
    folder = house.root / "digest/wiki/a"
    (folder / "link.md").symlink_to("x.md")
    (folder / "empty").mkdir()
    (folder / ".x.md.0123456789abcdef.tmp").write_text("unfinished")
    change = house.vault.delete("digest/wiki/a", actor="me")
    house.vault.undo(change.change_id, actor="me")
    assert below(folder) == ["empty", "link.md", "x.md"]
    assert os.readlink(folder / "link.md") == "x.md"
    assert below(house.workspace.trash) == []


def test_a_folder_of_nothing_but_links_comes_back(house: House) -> None:
    house.put("digest/wiki/x.md", "x")
    (house.root / "digest/wiki/a").mkdir()
    (house.root / "digest/wiki/a/link.md").symlink_to("../x.md")
    change = house.vault.delete("digest/wiki/a", actor="me")
    house.vault.undo(change.change_id, actor="me")
    assert (house.root / "digest/wiki/a/link.md").is_symlink()


def test_what_cannot_go_back_stays_in_the_trash(house: House) -> None:
    house.put("digest/wiki/a/x.md", "x")
    BusyNeighbour(house, "digest/wiki/a/foreign.md", "precious")
    change = house.vault.delete("digest/wiki/a", actor="me")
    house.put("digest/wiki/a/foreign.md", "another one")
    house.vault.undo(change.change_id, actor="me")
    assert house.text("digest/wiki/a/foreign.md") == "another one"
    kept = house.workspace.trash / change.change_id / "digest/wiki/a/foreign.md"
    assert kept.read_text() == "precious"


def test_a_later_version_in_the_trash_outlives_the_undo(house: House) -> None:
    """An editor saves between the last look at a file and its way into the trash."""
    house.put("daily/x.md", "planned")
    change = house.vault.delete("daily/x.md", actor="me")
    trashed = house.workspace.trash / change.change_id / "daily/x.md"
    trashed.unlink()
    trashed.write_text("saved late")
    house.vault.undo(change.change_id, actor="me")
    assert house.text("daily/x.md") == "planned"
    assert trashed.read_text() == "saved late"


def test_the_index_follows_what_nobody_planned(house: House) -> None:
    house.put("digest/wiki/a/x.md", "x")
    house.put("digest/wiki/a/foreign.md", "precious")
    house.vault.scan()
    everything_below = house.vault._tree.everything_below
    house.vault._tree.everything_below = lambda folder: [  # type: ignore[method-assign]
        path for path in everything_below(folder) if "foreign" not in path
    ]
    change = house.vault.delete("digest/wiki/a", actor="me")
    assert house.store.nodes() == []
    house.vault.undo(change.change_id, actor="me")
    assert [n.path for n in house.store.nodes()] == sorted(house.files())


def test_undoing_the_undo_leaves_what_came_since(house: House) -> None:
    house.put("digest/wiki/a/x.md", "x")
    change = house.vault.delete("digest/wiki/a", actor="me")
    back = house.vault.undo(change.change_id, actor="me")
    house.put("digest/wiki/a/new.md", "new")
    house.vault.undo(back.change_id, actor="me")
    assert house.files() == {"digest/wiki/a/new.md": "new"}


@pytest.mark.parametrize("name", ["link.md", "foreign.md"])
def test_a_failed_folder_delete_puts_everything_back(tmp_path: Path, name: str) -> None:
    house = House(tmp_path / "memory", DiskThatStops())
    house.vault.open()
    house.put("digest/wiki/a/x.md", "x")
    folder = house.root / "digest/wiki/a"
    (folder / "link.md").symlink_to("x.md")
    BusyNeighbour(house, "digest/wiki/a/foreign.md", "precious")
    house.disk.stop_at = name  # type: ignore[attr-defined]
    with pytest.raises(StorageFailed):
        house.vault.delete("digest/wiki/a", actor="me")
    assert below(folder) == ["foreign.md", "link.md", "x.md"]
    assert house.text("digest/wiki/a/foreign.md") == "precious"
    assert below(house.workspace.trash) == []
