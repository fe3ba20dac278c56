"""An older and a newer version of the library on one workspace: the newer one has its way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import StorageFailed

NEWER = """
import asyncio, sys
from agentscope_reme.store import index_schema
index_schema.SCHEMA_VERSION += "000"  # begins like ours, and is another one
from agentscope_reme import ReMe, Settings

async def main():
    async with ReMe(sys.argv[1], settings=Settings(fsync=False)) as reme:
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        found = await reme.search("heron")
        print(len(found.hits), *await asyncio.to_thread(generations), flush=True)

def generations():
    from pathlib import Path
    return sorted(place.name for place in Path(sys.argv[1], "metadata").glob("index-*.db"))

asyncio.run(main())
"""


@contextmanager
def newer(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of a newer version, with the workspace open; a line lets it search and end."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", NEWER, str(root)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        yield child


def generations(root: Path) -> list[str]:
    return sorted(place.name for place in (root / "metadata").glob("index-*.db"))


async def test_the_older_one_refuses_while_the_newer_one_is_at_work(tmp_path: Path) -> None:
    settings = Settings(fsync=False)
    async with ReMe(tmp_path, settings=settings) as older:
        await older.write("digest/wiki/heron.md", "The heron nests in May.")
        with newer(tmp_path) as child:
            built = generations(tmp_path)
            for _ in range(3):
                with pytest.raises(StorageFailed, match="a newer version of this library"):
                    await older.search("heron")
            second = ReMe(tmp_path, settings=settings)
            with pytest.raises(StorageFailed, match="Update this process"):
                await second.start()
            assert generations(tmp_path) == built  # nobody built anything
            told, _ = child.communicate("\n")
            assert told.split() == ["1", *built]
        assert len((await older.search("heron")).hits) == 1  # it made its own again


async def test_one_that_was_killed_is_not_at_work(tmp_path: Path) -> None:
    settings = Settings(fsync=False)
    async with ReMe(tmp_path, settings=settings) as older:
        await older.write("digest/wiki/heron.md", "The heron nests in May.")
    with newer(tmp_path) as child:
        child.kill()
    async with ReMe(tmp_path, settings=settings) as again:
        assert len((await again.search("heron")).hits) == 1


async def test_once_the_newer_one_is_gone_an_older_one_makes_its_own(tmp_path: Path) -> None:
    settings = Settings(fsync=False)
    async with ReMe(tmp_path, settings=settings) as older:
        await older.write("digest/wiki/heron.md", "The heron nests in May.")
    with newer(tmp_path) as child:
        child.communicate("\n")
    async with ReMe(tmp_path, settings=settings) as again:
        assert len((await again.search("heron")).hits) == 1
        assert any("set aside" in notice for notice in (await again.status()).notices)
