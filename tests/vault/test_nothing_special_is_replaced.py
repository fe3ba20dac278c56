"""A pipe, socket or device in the workspace has no content to keep: no change takes its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentscope_reme.errors import BadPath
from agentscope_reme.files.changes import Write
from tests.vault.conftest import House

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pytest.fixture
def pipe(house: House) -> Path:
    house.put("digest/a.md", "zebra")
    place = house.root / "digest/pipe.md"
    os.mkfifo(place)
    return place


def test_a_write_is_refused(house: House, pipe: Path) -> None:
    with pytest.raises(BadPath, match="a pipe, socket or device stands there"):
        house.vault.commit([Write("digest/pipe.md", b"x")], actor="user", operation="write")
    assert pipe.is_fifo()


def test_a_write_through_a_link_is_refused(house: House, pipe: Path) -> None:
    (house.root / "digest/link.md").symlink_to("pipe.md")
    with pytest.raises(BadPath, match="a pipe, socket or device stands there"):
        house.vault.commit([Write("digest/link.md", b"x")], actor="user", operation="write")
    assert pipe.is_fifo()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("source", ["digest/a.md", "digest/folder"])
def test_a_move_onto_it_is_refused(house: House, pipe: Path, source: str, overwrite: bool) -> None:
    house.put("digest/folder/b.md", "yak")
    with pytest.raises(BadPath, match="a pipe, socket or device stands there"):
        house.vault.move(source, "digest/pipe.md", overwrite=overwrite, actor="user")
    assert pipe.is_fifo()


def test_an_undo_is_refused(house: House, pipe: Path) -> None:
    pipe.unlink()
    house.put("digest/pipe.md", "zebra")
    deleted = house.vault.delete("digest/pipe.md", actor="user")
    os.mkfifo(pipe)
    with pytest.raises(BadPath, match="a pipe, socket or device stands there"):
        house.vault.undo(deleted.change_id, actor="user")
    assert pipe.is_fifo()


def test_a_folder_takes_it_along(house: House, pipe: Path) -> None:
    house.put("digest/folder/b.md", "yak")
    os.replace(pipe, house.root / "digest/folder/pipe.md")
    house.vault.move("digest/folder", "digest/other", actor="user")
    assert (house.root / "digest/other/pipe.md").is_fifo()
