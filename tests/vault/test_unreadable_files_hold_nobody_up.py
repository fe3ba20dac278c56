"""A file the index cannot make sense of is remembered, and costs nobody else anything."""

from __future__ import annotations

from pathlib import Path

from agentscope_reme.files.changes import Write
from agentscope_reme.files.locks import _guard_of
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.vault.outcomes import Commit
from tests.vault.conftest import House


def write(house: House, path: str, text: bytes) -> Commit:
    return house.vault.commit([Write(path, text)], actor="me", operation="write")


NO_TEXT = b"\xff no UTF-8"


def test_later_writes_are_indexed_and_say_so(house: House) -> None:
    assert not write(house, "daily/bad.md", NO_TEXT).indexed
    assert [write(house, f"daily/ok{n}.md", b"x").indexed for n in range(3)] == [True] * 3
    assert house.vault.dirty == ["daily/bad.md"]


def test_it_is_not_parsed_again_until_it_changes(house: House) -> None:
    write(house, "daily/bad.md", NO_TEXT)
    house.indexer.understood.clear()
    for n in range(3):
        write(house, f"daily/ok{n}.md", b"x")
    assert "daily/bad.md" not in house.indexer.understood
    house.put("daily/bad.md", "a person mended it")
    write(house, "daily/ok.md", b"x")
    assert house.vault.dirty == []
    assert house.store.node("daily/bad.md") is not None


def test_mending_one_file_leaves_the_others_on_the_list(house: House) -> None:
    write(house, "daily/bad1.md", NO_TEXT)
    write(house, "daily/bad2.md", NO_TEXT)
    assert write(house, "daily/bad1.md", b"mended").indexed
    assert house.vault.dirty == ["daily/bad2.md"]


def test_a_deleted_one_leaves_the_list(house: House) -> None:
    write(house, "daily/bad.md", NO_TEXT)
    house.vault.delete("daily/bad.md", actor="me")
    assert house.vault.dirty == []


def test_what_the_watcher_brings_in_leaves_the_list(house: House) -> None:
    write(house, "daily/bad.md", NO_TEXT)
    house.put("daily/bad.md", "mended")
    house.vault.apply_foreign(["daily/bad.md"])
    assert house.vault.dirty == []


def test_the_list_outlives_the_process(house: House) -> None:
    write(house, "daily/bad.md", NO_TEXT)
    write(house, "daily/worse.md", NO_TEXT)
    write(house, "daily/worse.md", b"mended")
    again = House(house.root)
    again.vault.open()
    assert again.vault.dirty == ["daily/bad.md"]


def test_the_list_changes_only_under_the_commit_lock(house: House) -> None:
    """Otherwise a scan could add a path while a writer replaces the list without it."""
    index, held = house.indexer.index, []

    def restless(path: str, data: bytes, *, mtime_ns: int) -> IndexedFile:
        found = index(path, data, mtime_ns=mtime_ns)
        place = Path(house.root, path)
        place.write_text(place.read_text() + "+")
        return found

    append = house.disk.append

    def watched_append(place: Path, data: bytes) -> None:
        held.append(_guard_of(house.workspace.locks / "commit.lock").locked())
        append(place, data)

    house.indexer.index = restless  # type: ignore[method-assign]
    house.disk.append = watched_append  # type: ignore[method-assign]
    house.put("daily/restless.md", "0")
    house.vault.apply_foreign(["daily/restless.md"])
    assert house.vault.dirty == ["daily/restless.md"]
    assert held == [True]
