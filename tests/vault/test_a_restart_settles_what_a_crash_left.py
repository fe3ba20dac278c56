from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from agentscope_reme.files.changes import Write
from agentscope_reme.files.disk import Disk
from agentscope_reme.vault.tree import spelled_on_disk
from tests.vault.conftest import House


class _PowerCut(BaseException):
    """Not an error of ours: nothing catches it, as nothing runs after a power cut."""


class _Fragile(Disk):
    """Stops for good at its n-th change of a name."""

    def __init__(self, stops_at: int) -> None:
        super().__init__()
        self.left = stops_at

    def _replace(self, src: Path, dst: Path) -> None:
        self.left -= 1
        if self.left == 0:
            raise _PowerCut
        super()._replace(src, dst)


def prepared(root: Path) -> House:
    house = House(root)
    house.vault.open()
    for path, text in (("x/a.md", "[[x/b.md]]"), ("x/b.md", "b"), ("out.md", "[[x/b.md]]")):
        house.vault.commit([Write(path, text.encode())], actor="user", operation="write")
    return house


def cut_during_move(root: Path, at: int) -> None:
    house = House(root, _Fragile(at))
    house.vault.open()
    house.vault.scan()
    try:
        house.vault.move("x", "y", actor="user")
    except _PowerCut:
        return
    raise AssertionError("the move finished before the cut")


OLD = {"x/a.md": "[[x/b.md]]", "x/b.md": "b", "out.md": "[[x/b.md]]"}
NEW = {"y/a.md": "[[y/b.md]]", "y/b.md": "b", "out.md": "[[y/b.md]]"}


def test_a_change_over_several_files_is_carried_on(tmp_path: Path) -> None:
    for at in range(1, 5):
        prepared(tmp_path / str(at))
        cut_during_move(tmp_path / str(at), at)
        again = House(tmp_path / str(at))
        recovery = again.vault.open()
        assert again.files() in (OLD, NEW)
        assert (recovery.completed is not None) == (again.files() == NEW)
        again.vault.scan()
        assert {node.path for node in again.store.nodes()} == set(again.files())
        assert not [p for p in again.root.rglob("*.tmp") if p.name.startswith(".")]
        states = {record.state for record in again.vault.history()}
        assert states == {"done"}
        assert again.vault.open().completed is None


def test_the_next_commit_of_a_living_process_settles_it_as_well(tmp_path: Path) -> None:
    alive = prepared(tmp_path)
    cut_during_move(tmp_path, 4)
    alive.vault.commit([Write("z.md", b"z")], actor="user", operation="write")
    assert alive.files() == {**NEW, "z.md": "z"}
    assert {node.path for node in alive.store.nodes()} == set(alive.files())


def test_a_file_somebody_edited_meanwhile_is_left_alone(tmp_path: Path) -> None:
    prepared(tmp_path)
    cut_during_move(tmp_path, 4)
    (tmp_path / "out.md").write_text("by hand")
    again = House(tmp_path)
    recovery = again.vault.open()
    assert recovery.left_alone == ("out.md",)
    assert again.files() == {**NEW, "out.md": "by hand"}
    assert any("out.md" in notice for notice in recovery.notices)


def test_a_journaled_change_that_was_never_made_is_aborted(tmp_path: Path) -> None:
    prepared(tmp_path)
    house = House(tmp_path, _Fragile(1))
    house.vault.open()
    with contextlib.suppress(_PowerCut):
        house.vault.commit([Write("x/b.md", b"new")], actor="user", operation="write")
    again = House(tmp_path)
    recovery = again.vault.open()
    assert recovery.aborted is not None
    assert again.files() == OLD
    assert again.vault.history()[0].state == "aborted"


def test_a_change_somebody_took_back_by_hand_was_made(tmp_path: Path) -> None:
    house = prepared(tmp_path)
    house.vault.commit([Write("z.md", b"z")], actor="user", operation="write")
    (tmp_path / "z.md").unlink()
    assert House(tmp_path).vault.open().aborted is None
    house.put("z.md", "z")
    house.vault.delete("z.md", actor="user")
    house.put("z.md", "z")
    assert House(tmp_path).vault.open().aborted is None
    assert {record.state for record in house.vault.history()} == {"done"}


def test_what_was_made_but_not_indexed_is_indexed(tmp_path: Path) -> None:
    house = prepared(tmp_path)
    house.vault.commit([Write("z.md", b"z")], actor="user", operation="write")
    again = House(tmp_path)  # its store is empty, as after the loss of the last transactions
    again.vault.open()
    assert [node.path for node in again.store.nodes()] == ["z.md"]


def test_unfinished_files_are_swept_away(tmp_path: Path) -> None:
    house = prepared(tmp_path)
    house.disk.stage(house.root / "x/a.md", b"half")
    house.disk.stage(house.workspace.journal / "dirty.jsonl", b"half")
    again = House(tmp_path)
    assert again.vault.open().temporaries == 2
    assert again.vault.open().temporaries == 0


def test_a_disk_that_ignores_case_has_one_spelling_per_file(tmp_path: Path) -> None:
    (tmp_path / "Digest").mkdir()
    (tmp_path / "Digest" / "MEMORY.md").write_text("x")
    assert spelled_on_disk(tmp_path, "digest/memory.md") == "Digest/MEMORY.md"
    assert spelled_on_disk(tmp_path, "digest/new.md") == "Digest/new.md"
    (tmp_path / "digest").mkdir()
    assert spelled_on_disk(tmp_path, "digest/new.md") == "digest/new.md"


def test_a_change_that_was_made_and_not_yet_indexed_is_indexed(house: House) -> None:
    def die(*_: object) -> bool:
        raise KeyboardInterrupt

    house.vault._keeper.follow = die  # type: ignore[method-assign]
    both = [Write("daily/a.md", b"a"), Write("daily/b.md", b"b")]
    with pytest.raises(KeyboardInterrupt):
        house.vault.commit(both, actor="me", operation="write")
    again = House(house.root)
    again.vault.open()
    assert [node.path for node in again.store.nodes()] == ["daily/a.md", "daily/b.md"]


def test_what_was_deleted_is_not_taken_for_a_missing_drive(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.vault.open()
    for number in range(12):
        change = Write(f"digest/f/n{number}.md", b"note")
        house.vault.commit([change], actor="me", operation="write")
    house.vault.commit([Write("digest/kept.md", b"note")], actor="me", operation="write")
    shown = dict(house.store.files)
    house.vault.delete("digest/f", actor="me")
    house.vault.commit([Write("daily/later.md", b"note")], actor="me", operation="write")

    again = House(tmp_path)
    again.store.files.update(shown)  # the transactions after it were lost with the power
    again.vault.open()
    again.vault.scan()
    assert [node.path for node in again.store.nodes()] == ["daily/later.md", "digest/kept.md"]
    assert again.vault.notices == []


def test_files_nobody_deleted_are_kept_beside_those_we_did(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.vault.open()
    for number in range(12):
        change = Write(f"digest/n{number}.md", b"note")
        house.vault.commit([change], actor="me", operation="write")
    shown = dict(house.store.files)
    house.vault.delete("digest/n0.md", actor="me")
    house.vault.commit([Write("daily/later.md", b"note")], actor="me", operation="write")
    for number in range(1, 12):
        (tmp_path / f"digest/n{number}.md").unlink()

    again = House(tmp_path)
    again.store.files.update(shown)
    again.vault.open()
    again.vault.scan()
    kept = {node.path for node in again.store.nodes("digest/")}
    assert kept == {f"digest/n{number}.md" for number in range(1, 12)}
    assert len(again.vault.notices) == 1
