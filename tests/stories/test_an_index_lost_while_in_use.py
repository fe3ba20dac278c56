"""Whatever happens to ``metadata/`` while the memory is open, searches are right again soon."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings


def remove_folder(metadata: Path) -> None:
    shutil.rmtree(metadata)


def remove_files(metadata: Path) -> None:
    for file in metadata.iterdir():
        file.unlink()


def remove_current(metadata: Path) -> None:
    (metadata / "CURRENT").unlink()


def remove_databases(metadata: Path) -> None:
    for file in metadata.glob("index-*"):
        file.unlink()
    (metadata / "CURRENT").unlink()


def overwrite(metadata: Path) -> None:
    for file in metadata.glob("index-*"):
        file.write_bytes(b"not what was here before " * max(10, file.stat().st_size // 24))


def truncate(metadata: Path) -> None:
    for file in metadata.glob("index-*.db"):  # shrinking the mapped -shm kills any process
        file.write_bytes(b"")


HARM = [remove_folder, remove_files, remove_current, remove_databases, overwrite, truncate]


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("harm", HARM)
async def test_searches_are_right_again_and_say_why(
    tmp_path: Path, harm: Callable[[Path], None], watch: bool
) -> None:
    notes = {f"digest/wiki/n{n}.md" for n in range(8)}
    async with ReMe(tmp_path, settings=Settings(watch=watch)) as reme:
        for path in sorted(notes):
            await reme.write(path, "note pineapple")
        harm(tmp_path / "metadata")
        await reme.search("pineapple")
        await reme.write("digest/wiki/new.md", "mango pineapple")
        found = await reme.search("mango", limit=1)
        assert [hit.path for hit in found.hits] == ["digest/wiki/new.md"]
        await asyncio.wait_for(filled(reme, notes | {"digest/wiki/new.md"}), 20)
        status = await reme.status()
        if harm is not truncate:  # what SQLite still holds in memory may have been enough
            assert any("index" in notice or "CURRENT" in notice for notice in status.notices)
        assert (await reme.doctor()).differences == []
    async with ReMe(tmp_path, settings=Settings(watch=watch)) as reme:
        assert {hit.path for hit in (await reme.search("pineapple", limit=20)).hits} >= notes
        assert (await reme.doctor()).differences == []


async def filled(reme: ReMe, paths: set[str]) -> None:
    """Wait until every note is found; the index is filled in the background."""
    while {hit.path for hit in (await reme.search("pineapple", limit=20)).hits} != paths:
        await reme.drain()
