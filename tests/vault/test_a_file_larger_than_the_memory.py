"""A file that does not fit into the memory is kept, moved and deleted; only reading it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.changes import Write
from agentscope_reme.schema import content_hash
from tests.vault.conftest import House

HUGE = "h" * 1_000_000


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading as many bytes at once as the huge file has fails, as without memory for them."""
    whole = Path.read_bytes

    def read_bytes(place: Path) -> bytes:
        if place.stat().st_size >= len(HUGE):
            raise MemoryError
        return whole(place)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)


@pytest.fixture
def huge(house: House) -> House:
    house.put("digest/folder/huge.bin", HUGE)
    house.put("digest/folder/a.md", "zebra")
    return house


def test_reading_it_is_refused_in_words(huge: House) -> None:
    with pytest.raises(StorageFailed, match="does not fit into the memory"):
        huge.vault.read("digest/folder/huge.bin")


def test_its_hash_is_that_of_its_bytes(huge: House) -> None:
    digest = huge.disk.digest(huge.root / "digest/folder/huge.bin")
    assert digest == content_hash(HUGE.encode())


def test_it_moves_with_its_folder_and_back(huge: House) -> None:
    moved = huge.vault.move("digest/folder", "digest/other", actor="user")
    assert (huge.root / "digest/other/huge.bin").stat().st_size == len(HUGE)
    huge.vault.undo(moved.change_id, actor="user")
    assert (huge.root / "digest/folder/huge.bin").stat().st_size == len(HUGE)


def test_it_goes_to_the_trash(huge: House) -> None:
    deleted = huge.vault.delete("digest/folder/huge.bin", actor="user")
    trash = huge.workspace.trash / deleted.change_id / "digest/folder/huge.bin"
    assert trash.stat().st_size == len(HUGE)


def test_what_a_write_replaces_is_kept(huge: House) -> None:
    write = Write("digest/folder/huge.bin", b"small")
    huge.vault.commit([write], actor="user", operation="write")
    kept = huge.workspace.journal / "blobs" / content_hash(HUGE.encode())
    assert kept.stat().st_size == len(HUGE)


def test_the_others_are_brought_in(huge: House) -> None:
    huge.put("digest/folder/huge.md", HUGE)
    found = huge.vault.scan()
    assert [failure.item for failure in found.failed] == ["digest/folder/huge.md"]
    assert huge.store.node("digest/folder/a.md") is not None
