"""Memories that cannot be read are set aside and told of; the store opens with what was saved."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.typed.stores.local import LocalVectorStore
from agentscope_reme.typed.stores.set_aside import Salvage
from tests.typed_stores.builders import EVERYTHING, node


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A closed store with some hundred memories."""
    store = LocalVectorStore(tmp_path)
    store.open()
    nodes = [node(f"m{number}", f"memory {number} " * 40) for number in range(300)]
    store.put(nodes, space_id="s", vectors={n.memory_id: [1.0] * 64 for n in nodes})
    store.close()
    return tmp_path / "memories.db"


def test_a_file_that_is_no_database_is_set_aside(place: Path) -> None:
    place.write_bytes(b"this was a database once" * 1000)
    store = LocalVectorStore(place.parent)
    store.open()
    assert (place.parent / "memories.db.damaged-1").read_bytes().startswith(b"this was")
    assert store.count(EVERYTHING) == 0
    assert store.salvaged == {"memories.db.damaged-1": Salvage(saved=0, lost=0)}
    store.close()


def test_a_second_damaged_file_does_not_replace_the_first(place: Path) -> None:
    for number in (1, 2):
        place.write_bytes(b"no database %d" % number * 1000)
        store = LocalVectorStore(place.parent)
        store.open()
        assert store.set_aside[-1] == f"memories.db.damaged-{number}"
        store.close()
    first = place.with_name("memories.db.damaged-1").read_bytes()
    assert first.startswith(b"no database 1")


def test_a_file_that_was_cut_short_is_set_aside(place: Path) -> None:
    whole = place.read_bytes()
    place.write_bytes(whole[: len(whole) // 2])
    store = LocalVectorStore(place.parent)
    store.open()
    assert 0 < store.count(EVERYTHING) < 300
    store.close()
    assert place.with_name("memories.db.damaged-1").stat().st_size == len(whole) // 2


def test_damage_inside_is_told_and_checked_at_the_next_open(place: Path) -> None:
    content = bytearray(place.read_bytes())
    for start in range(len(content) // 4096 // 2 * 4096, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    place.write_bytes(content)
    store = LocalVectorStore(place.parent)
    store.open()
    with pytest.raises(StorageFailed, match="open it again"):
        store.list(EVERYTHING)
    store.close()
    store.open()
    assert store.count(EVERYTHING) == store.salvaged["memories.db.damaged-1"].saved > 0
    store.close()
    assert place.with_name("memories.db.damaged-1").read_bytes() == bytes(content)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "memories.db"
    other = sqlite3.connect(place)
    other.execute("CREATE TABLE recipes (name)")
    other.execute("INSERT INTO recipes VALUES ('soup')")
    other.commit()
    other.close()
    with pytest.raises(StorageFailed, match="laid out"):
        LocalVectorStore(tmp_path).open()
    other = sqlite3.connect(place)
    assert other.execute("SELECT name FROM recipes").fetchall() == [("soup",)]
    other.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageFailed):
        LocalVectorStore(tmp_path / "file").open()
