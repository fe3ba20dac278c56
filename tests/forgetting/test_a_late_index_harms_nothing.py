"""A forgetting whose index is late, or that was cut off, touches no file that came afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.vault.forgetting import Eraser
from tests.forgetting.life import CARD, NODE, SHARED, leaks


@contextmanager
def somebody_reading(root: Path) -> Iterator[None]:
    """Another process in the middle of reading the index: its log cannot be emptied."""
    name = (root / "metadata/CURRENT").read_text().strip()
    connection = sqlite3.connect(root / "metadata" / name)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM chunks").fetchone()
        yield
    finally:
        connection.close()


async def test_what_is_written_anew_meanwhile_stays(
    lived: ReMe, root: Path, open_memory: Callable[..., ReMe]
) -> None:
    await lived.close()
    async with open_memory(
        settings=Settings(watch=False, fsync=False, lock_patience_seconds=0.2)
    ) as reme:
        old = (await reme.read(NODE)).content
        with somebody_reading(root):
            result = await reme.forget(path=NODE, dry_run=False)
            assert not result.indexed
            assert "index follows" in result.answer
            await reme.write(NODE, old)
            await reme.edit(SHARED, "at seven", "at eight")
            await reme.write("digest/wiki/next.md", "The next change.")
        await reme.write("digest/wiki/last.md", "The last change.")
        assert (await reme.read(NODE)).content == old
        assert "at eight" in (await reme.read(SHARED)).content
        assert (await reme.status()).notices == []
        assert not (root / "journal/forgetting").exists()
        assert (await reme.doctor()).differences == []


async def test_the_index_is_written_anew_as_soon_as_it_can(
    lived: ReMe, root: Path, open_memory: Callable[..., ReMe]
) -> None:
    await lived.close()
    async with open_memory(
        settings=Settings(watch=False, fsync=False, lock_patience_seconds=0.2)
    ) as reme:
        with somebody_reading(root):
            assert not (await reme.forget(path=CARD, dry_run=False)).indexed
            assert (await reme.search("Quetzalcoatlus")).hits == []
        await reme.write("digest/wiki/next.md", "The next change.")
        assert leaks(root) == []


async def test_a_file_somebody_edited_while_it_was_to_go_stays(lived: ReMe, root: Path) -> None:
    eraser: Eraser = lived.application.components.vault._eraser
    disk: Disk = eraser._disk
    place = root / NODE

    class Late(Disk):
        def replace(self, place_: Path, data: bytes, **given: object) -> None:
            super().replace(place_, data)
            if place_.name == "plan.json":
                place.write_text("The person wrote this just now.")

    eraser._disk = Late(fsync=False)
    await lived.forget(path=CARD, dry_run=False)
    eraser._disk = disk
    assert place.read_text() == "The person wrote this just now."
    assert any(NODE in notice for notice in (await lived.status()).notices)
