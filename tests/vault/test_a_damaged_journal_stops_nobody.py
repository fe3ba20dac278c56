"""A line nobody of us wrote costs that line: it is passed over, counted and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.changes import Write
from tests.vault.conftest import House

SHA = "0" * 64


def lived_in(root: Path) -> House:
    house = House(root)
    house.vault.open()
    house.vault.commit([Write("a.md", b"a")], actor="me", operation="write")
    return house


def month(house: House) -> Path:
    return next(house.workspace.journal.glob("*.jsonl"))


def add(house: House, line: bytes) -> None:
    with month(house).open("ab") as log:
        log.write(line + b"\n")


def entry(*changes: dict[str, Any], **fields: Any) -> bytes:
    row = {"change_id": "x", "at": "y", "actor": "a", "operation": "b", "state": "prepared"}
    return json.dumps({**row, "changes": changes, **fields}).encode()


def change(path: Any, before: Any = None, after: Any = SHA) -> dict[str, Any]:
    return {"path": path, "before": before, "after": after}


LINES = {
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "no object": b"[1]",
    "nothing": b"null",
    "bytes": bytes(range(128, 256)) * 50,
    "number as path": entry(change(5)),
    "text as changes": entry(state="done", **{"changes": "abc"}),
    "foreign hash": entry(change("b.md", after="../../a")),
    "no text": entry(change("b.md"), actor=5),
    "zero byte": entry(change("b\0.md")),
    "half a character": entry(change("b\ud800.md")),
    "climbing id": entry(change("b.md"), change_id="../../x"),
    "climbing trash": entry(folder={"path": "x", "restored": "../.."}),
    "unknown state": entry(change("b.md"), state="perhaps"),
    "settlement of nothing": b'{"change_id": 5, "state": "done"}',
    "unknown settlement": b'{"change_id": "x", "state": "perhaps"}',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_foreign_last_line_is_passed_over_counted_and_told(tmp_path: Path, line: bytes) -> None:
    add(lived_in(tmp_path), line)
    again = House(tmp_path)
    again.vault.open()
    assert again.vault.notices == ["1 line(s) of the journal cannot be read and are passed over."]
    again.vault.scan()
    made = again.vault.commit([Write("b.md", b"b")], actor="me", operation="write")
    assert [record.paths for record in again.vault.history()] == [["b.md"], ["a.md"]]
    assert again.vault.undo(made.change_id, actor="me").hashes == {"b.md": None}


def test_a_living_process_passes_it_over_as_well(tmp_path: Path) -> None:
    house = lived_in(tmp_path)
    add(house, LINES["deep"])
    house.vault.commit([Write("a.md", b"new")], actor="me", operation="write")
    assert house.text("a.md") == "new"


UNUSABLE = {
    "climbing out": entry(change("../outside.md")),
    "absolute": entry(change("/tmp/outside.md")),
    "ours": entry(change("metadata/CURRENT")),
    "the trash": entry(change("Trash/x.md")),
    "long": entry(change("b" * 300 + ".md")),
    "climbing origin": entry({**change("b.md"), "origin": "../outside.md"}),
    "climbing folder": entry(folder={"path": "..", "target": None}),
    "climbing target": entry(folder={"path": "daily", "target": "../outside"}),
    "blocked by a file": entry(change("a.md/b.md")),
    "blocked by a folder": entry(change("daily")),
    "done outside": entry(change("../outside.md"), state="done"),
}


@pytest.mark.parametrize("line", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_change_that_cannot_be_made_is_left_alone_and_told(tmp_path: Path, line: bytes) -> None:
    root = tmp_path / "memory"
    outside = tmp_path / "outside.md"
    outside.write_text("not ours")
    add(lived_in(root), line)
    again = House(root)
    recovery = again.vault.open()
    assert recovery.completed is None
    assert recovery.aborted is None
    assert any("left alone" in notice for notice in recovery.notices)
    again.vault.scan()
    again.vault.commit([Write("b.md", b"b")], actor="me", operation="write")
    again.vault.move("b.md", "c.md", actor="me")
    assert again.files() == {"a.md": "a", "c.md": "b"}
    assert outside.read_text() == "not ours"
    assert len(again.vault.history()) == 4
    assert House(root).vault.open().notices == ()


def test_a_file_in_the_place_of_the_blobs_costs_changes_not_reading(tmp_path: Path) -> None:
    house = lived_in(tmp_path)
    blobs = house.workspace.journal / "blobs"
    for blob in blobs.iterdir():
        blob.unlink()
    blobs.rmdir()
    blobs.write_text("x")
    again = House(tmp_path)
    assert len(again.vault.open().notices) == 1
    again.vault.scan()
    assert again.vault.read("a.md") == b"a"
    assert len(again.vault.history()) == 1
    with pytest.raises(StorageFailed):
        again.vault.commit([Write("a.md", b"new")], actor="me", operation="write")
    assert again.text("a.md") == "a"


def test_a_folder_in_the_place_of_a_month_costs_changes_not_reading(tmp_path: Path) -> None:
    house = lived_in(tmp_path)
    place = month(house)
    place.unlink()
    place.mkdir()
    again = House(tmp_path)
    again.vault.open()
    again.vault.scan()
    assert again.vault.read("a.md") == b"a"
    assert again.vault.history() == []
    with pytest.raises(StorageFailed):
        again.vault.commit([Write("a.md", b"new")], actor="me", operation="write")
    assert again.text("a.md") == "a"
