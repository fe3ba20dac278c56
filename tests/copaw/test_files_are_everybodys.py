"""``MEMORY.md`` and ``memory/`` are searched whoever writes them, and whatever is in them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMeCopaw, Settings
from tests.copaw.conftest import Open

DEADLINE_SECONDS = 20


async def found(copaw: ReMeCopaw, query: str) -> list[str]:
    response = await copaw.memory_search(query, max_results=20, min_score=0.001)
    rows: list[dict[str, Any]] = json.loads(response.content[0]["text"])
    return [Path(row["path"]).relative_to(copaw.working_path).as_posix() for row in rows]


async def until_found(copaw: ReMeCopaw, query: str, *paths: str) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while set(await found(copaw, query)) != set(paths):
            await asyncio.to_thread(time.sleep, 0.01)  # the events are real, and nobody tells


@pytest.fixture
async def watched(open_copaw: Open) -> AsyncIterator[ReMeCopaw]:
    async with open_copaw(settings=Settings(fsync=False)) as copaw:
        yield copaw


async def test_what_stood_there_before_the_start_is_found(open_copaw: Open) -> None:
    first = open_copaw()
    (first.working_path / "MEMORY.md").write_text("Herons nest in May.")
    (first.memory_path / "2026-06-01.md").write_text("A heron was seen.")
    (first.memory_path / "deep").mkdir()
    (first.memory_path / "deep" / "birds.md").write_text("The heron is grey.")
    async with first as copaw:
        assert set(await found(copaw, "heron")) == {
            "MEMORY.md",
            "memory/2026-06-01.md",
            "memory/deep/birds.md",
        }


async def test_files_made_changed_and_deleted_later_are_followed(watched: ReMeCopaw) -> None:
    """Also ``MEMORY.md``, which was not there at the start."""
    place = watched.working_path / "MEMORY.md"
    place.write_text("Herons nest in May.")
    await until_found(watched, "heron", "MEMORY.md")
    (watched.memory_path / "deep").mkdir()
    (watched.memory_path / "deep" / "birds.md").write_text("A heron was seen.")
    await until_found(watched, "heron", "MEMORY.md", "memory/deep/birds.md")
    place.write_text("Owls hunt at night.")
    await until_found(watched, "heron", "memory/deep/birds.md")
    assert await found(watched, "owls") == ["MEMORY.md"]
    place.unlink()
    await until_found(watched, "owls")


async def test_an_undecodable_file_holds_nobody_up(watched: ReMeCopaw) -> None:
    (watched.memory_path / "bad.md").write_bytes(b"heron \xff\xfe\x00\x9d " * 20)
    (watched.memory_path / "good.md").write_text("heron and owl")
    await until_found(watched, "owl", "memory/good.md")
    (watched.memory_path / "later.md").write_text("another owl")
    await until_found(watched, "owl", "memory/good.md", "memory/later.md")
    assert await watched.close() is True
    async with watched:
        assert "memory/good.md" in await found(watched, "owl")


async def test_saving_one_file_keeps_the_others(watched: ReMeCopaw) -> None:
    for n in range(5):
        (watched.memory_path / f"n{n}.md").write_text(f"heron {n}")
    names = [f"memory/n{n}.md" for n in range(5)]
    await until_found(watched, "heron", *names)
    (watched.working_path / "MEMORY.md").write_text("owl")
    await until_found(watched, "owl", "MEMORY.md")
    assert set(await found(watched, "heron")) == set(names)


async def test_one_long_line_is_found_at_both_ends(open_copaw: Open) -> None:
    words = " ".join(f"word{n}" for n in range(3000))
    async with open_copaw() as copaw:
        await copaw._memory.write("memory/long.md", f"alpha {words} omega")
        for end in ("alpha", "omega"):
            assert await found(copaw, end) == ["memory/long.md"]


async def test_offloaded_tool_results_are_no_memory(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        (copaw.tool_result_path / f"{'0' * 32}.txt").write_text("heron")
        (copaw.tool_result_path / "notes.md").write_text("heron")
        await copaw._memory.reindex()
        assert await found(copaw, "heron") == []
