"""The local store keeps the two vector spaces that were written last, in files of every age."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agentscope_reme.typed.stores.local import LocalVectorStore
from agentscope_reme.typed.stores.local_database import FILE_NAME
from tests.typed_stores.builders import EVERYTHING, node


def fill(store: LocalVectorStore, *spaces: str) -> None:
    for space in spaces:
        store.put_vectors(space, {f"n{n}": (f"says n{n}", [1.0, n]) for n in range(9)})


def test_no_row_of_an_old_space_is_left(local_store: LocalVectorStore, tmp_path: Path) -> None:
    local_store.put([node(f"n{n}") for n in range(9)])
    fill(local_store, "a", "b", "c", "d")
    assert local_store.spaces() == {"d": 9, "c": 9}
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("SELECT COUNT(*) FROM vectors").fetchone() == (18,)
        assert connection.execute("SELECT COUNT(*) FROM spaces").fetchone() == (2,)
    connection.close()


def test_a_file_of_earlier_days_is_read_and_tidied(tmp_path: Path) -> None:
    store = LocalVectorStore(tmp_path)
    store.open()
    store.put([node(f"n{n}") for n in range(9)])
    fill(store, "a", "b")
    store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("ALTER TABLE spaces DROP COLUMN written")
        connection.execute("INSERT INTO spaces (space_id, width) VALUES ('older', 2)")
        connection.execute(
            "INSERT INTO vectors SELECT (3 << 40) | (key & ((1 << 40) - 1)), vector FROM vectors "
            "WHERE key >> 40 = 1"
        )
    connection.close()
    store.open()
    assert store.spaces() == {"a": 9, "b": 9, "older": 9}
    fill(store, "b")  # the one in use
    assert store.spaces() == {"b": 9, "older": 9}
    assert len(store.search([1, 0], space_id="b", limit=99, where=EVERYTHING)) == 9
    store.close()


def test_a_change_that_ends_half_way_changes_nothing(local_store: LocalVectorStore) -> None:
    local_store.put([node("kept")], space_id="s", vectors={"kept": [1, 0]})
    try:
        with local_store.changing():
            local_store.delete(["kept"])
            local_store.put([node("new")], space_id="s", vectors={"new": [1, 0]})
            hits = local_store.search([1, 0], space_id="s", limit=9, where=EVERYTHING)
            assert [hit.node.memory_id for hit in hits] == ["new"]
            raise KeyError("changed my mind")
    except KeyError:
        pass
    hits = local_store.search([1, 0], space_id="s", limit=9, where=EVERYTHING)
    assert [hit.node.memory_id for hit in hits] == ["kept"]
    assert [found.memory_id for found in local_store.list(EVERYTHING)] == ["kept"]


def test_a_part_that_fails_leaves_the_rest_of_a_change(tmp_path: Path) -> None:
    store = LocalVectorStore(tmp_path)
    store.open()

    def write(space: str, *, fault: Exception | None = None) -> None:
        with store._database.writing() as connection:
            connection.execute("INSERT INTO spaces (space_id, width) VALUES (?, 2)", (space,))
            if fault is not None:
                raise fault

    with store.changing():
        write("first")
        with pytest.raises(KeyError):
            write("second", fault=KeyError("changed my mind"))
    store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("SELECT space_id FROM spaces").fetchall() == [("first",)]
    connection.close()


def test_what_a_change_deletes_is_gone_from_the_disk_with_it(
    local_store: LocalVectorStore, tmp_path: Path
) -> None:
    local_store.put([node("gone", content="The heron nests in May.")])
    with local_store.changing():
        local_store.delete(["gone"])
    assert not any(b"heron" in place.read_bytes() for place in tmp_path.glob(f"{FILE_NAME}*"))
