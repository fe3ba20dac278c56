"""Damaged or foreign derived data is set aside; it never stops a start."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentscope_reme.errors import Closed, StorageFailed
from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

FILES = [indexed(f"digest/wiki/{i}.md", f"apple number{i}") for i in range(300)]
VECTORS = {text_hash("apple number1"): [1.0, 0.0]}


@pytest.fixture
def closed(workspace: Workspace) -> LocalFileStore:
    """A store with content, closed, so that everything is in one file."""
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    store.apply(FILES)
    store.put_vectors("m", VECTORS)
    store.close()
    return store


def current(workspace: Workspace) -> Path:
    return workspace.metadata / (workspace.metadata / "CURRENT").read_text("utf-8").strip()


def cut_in_half(place: Path) -> None:
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])


def overwrite(place: Path) -> None:
    place.write_bytes(b"this is not a database" * 1000)


def empty(place: Path) -> None:
    place.write_bytes(b"")


def scribble(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    place.write_bytes(data)


def execute(statement: str) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute(statement)

    return damage


DAMAGES = {
    "cut in half": cut_in_half,
    "overwritten": overwrite,
    "emptied": empty,
    "scribbled over": scribble,
    "a table is missing": execute("DROP TABLE links"),
    "another schema": execute("UPDATE meta SET value = '0' WHERE key = 'schema'"),
    "no rules": execute("DELETE FROM meta WHERE key = 'fingerprint'"),
    "a wrong checksum": execute("UPDATE segments SET checksum = checksum + 1"),
    "a segment cut short": execute("UPDATE segments SET docs = x'00'"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_database_is_set_aside_and_the_store_starts_empty(
    closed: LocalFileStore, workspace: Workspace, damage: Callable[[Path], None]
) -> None:
    old = current(workspace)
    damage(old)
    closed.open()
    assert closed.stats().files == 0
    assert len(closed.stats().notices) >= 1
    assert current(workspace) != old
    assert [f.name for f in workspace.metadata.glob("*.corrupt")] == [f"{old.name}.corrupt"]
    closed.apply(FILES[:2])
    assert len(closed.keyword_search("apple", limit=5)) == 2
    closed.close()


def test_only_the_last_damaged_file_is_kept(closed: LocalFileStore, workspace: Workspace) -> None:
    for _ in range(3):
        overwrite(current(workspace))
        closed.open()
        closed.close()
    names = sorted(f.name for f in workspace.metadata.iterdir() if f.name != "embeddings.db")
    assert names == ["CURRENT", "index-3.db.corrupt", "index-4.db"]


@pytest.mark.parametrize("name", [None, "", "index-99.db", "../../etc/passwd", "\x00\xff"])
def test_a_current_file_that_names_nothing(
    closed: LocalFileStore, workspace: Workspace, name: str | None
) -> None:
    place = workspace.metadata / "CURRENT"
    place.unlink()
    if name is not None:
        place.write_text(name, "latin-1")
    closed.open()
    assert closed.stats().files == 0
    assert closed.stats().notices
    assert current(workspace).name == "index-2.db"
    closed.close()


def test_a_missing_metadata_folder_is_made(closed: LocalFileStore, workspace: Workspace) -> None:
    for file in workspace.metadata.iterdir():
        file.unlink()
    workspace.metadata.rmdir()
    closed.open()
    assert closed.stats().files == 0
    assert closed.stats().notices == ()
    closed.close()


def test_vectors_survive_a_change_of_the_layout(
    closed: LocalFileStore, workspace: Workspace
) -> None:
    execute("UPDATE meta SET value = '0' WHERE key = 'schema'")(current(workspace))
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    assert store.stats().files == 0
    store.apply(FILES[:3])
    assert (store.stats().vectors, store.stats().vectors_pending) == (1, 2)
    store.close()


def test_damage_found_while_working_starts_an_empty_index(
    workspace: Workspace, closed: LocalFileStore
) -> None:
    closed.open()
    execute("DROP TABLE chunks")(current(workspace))
    assert closed.keyword_search("apple", limit=5) == []
    assert "set aside" in closed.stats().notices[-1]
    closed.apply(FILES[:2])
    assert len(closed.keyword_search("apple", limit=5)) == 2
    closed.close()


def test_a_damaged_text_is_found_when_it_is_read(
    workspace: Workspace, closed: LocalFileStore
) -> None:
    execute("UPDATE chunks SET text = x'78'")(current(workspace))
    closed.open()
    assert closed.keyword_search("apple", limit=5) == []
    assert closed.stats().files == 0
    closed.close()


def test_an_interrupted_change_leaves_the_old_state(local_store: LocalFileStore) -> None:
    local_store.apply(FILES[:2])
    connection = local_store._session.connection
    connection.execute(
        "CREATE TEMP TRIGGER no BEFORE INSERT ON changes WHEN NEW.path LIKE '%/7.md' "
        "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )
    with pytest.raises(StorageFailed, match="disk full"):
        local_store.apply([FILES[6], FILES[7]], [FILES[0].node.path])
    connection.execute("DROP TRIGGER no")
    assert sorted(local_store.stamps()) == [f.node.path for f in FILES[:2]]
    assert len(local_store.keyword_search("apple", limit=5)) == 2
    local_store.apply([FILES[7]])
    assert len(local_store.keyword_search("apple", limit=5)) == 3


def test_nothing_stored_is_code(workspace: Workspace, closed: LocalFileStore) -> None:
    with closing(sqlite3.connect(current(workspace))) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                blobs = [value for value in row if isinstance(value, bytes)]
                assert not any(blob.startswith(b"\x80\x04") and b"c" in blob for blob in blobs[-1:])


def test_a_closed_store_says_so(closed: LocalFileStore) -> None:
    with pytest.raises(Closed):
        closed.stats()
    closed.close()
    closed.open()
    closed.open()
    closed.close()


def folder_in_place(place: Path) -> None:
    if place.is_dir():
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
        place.write_text("not a folder")
        return
    place.unlink(missing_ok=True)
    place.mkdir()
    (place / "kept.txt").write_text("somebody's")


@pytest.mark.parametrize("name", ["CURRENT", "index-1.db", "index-1.db-wal", "index-7.db", "."])
def test_something_else_in_the_place_of_a_file_is_set_aside(
    workspace: Workspace, closed: LocalFileStore, name: str
) -> None:
    folder_in_place(workspace.metadata / name)
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    store.apply(FILES[:3])
    assert len(store.nodes()) == (300 if name in ("index-1.db-wal", "index-7.db") else 3)
    assert any("set aside" in notice for notice in store.stats().notices)
    store.close()
    aside = {place.name.split(".")[0]: place for place in workspace.root.rglob("*.corrupt")}
    kept = aside["metadata" if name == "." else name.split(".")[0]]
    assert kept.is_dir() is (name != ".")
    again = LocalFileStore(workspace, settings=Settings())
    again.open()
    assert len(again.nodes()) >= 3
    again.close()


def test_a_folder_that_takes_the_place_of_current_while_in_use(
    workspace: Workspace, closed: LocalFileStore
) -> None:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    folder_in_place(workspace.metadata / "CURRENT")
    store.apply(FILES[:3])
    assert len(store.nodes()) == 3
    store.close()
