"""The index is derived: lost, damaged, outdated or moved, the answers come back by themselves."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.vault.scanning import Scanner

QUERIES = ("apple", "pear number7", "fruit about", "苹果", "number3 number9")
BACKGROUND = Settings(watch=False, fsync=False, index_patience_seconds=0)


def fill(root: Path) -> None:
    for n in range(30):
        day = root / f"daily/2026-06-{n % 9 + 10}"
        day.mkdir(parents=True, exist_ok=True)
        text = (
            f"---\nname: fruit {n}\nmemory_tags: [t{n % 3}]\n---\n# About fruit\n\napple pear " * 3
        )
        (day / f"{n}.md").write_text(f"{text} number{n} 苹果 [[digest/wiki/{n}.md]]\n", "utf-8")
        node = root / f"digest/wiki/{n}.md"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.write_text(f"# Node {n}\n\npear number{n}\n\n## More\n\n{'filler ' * 200}\n", "utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fill(tmp_path / "memory")
    return tmp_path / "memory"


async def answers(memory: ReMe) -> list[object]:
    found = [await memory.search(query, limit=20) for query in QUERIES]
    return [[hit.model_dump() for hit in result.hits] for result in found]


def current(root: Path) -> Path:
    return root / "metadata" / (root / "metadata/CURRENT").read_text("utf-8").strip()


def spoil(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(current(root))) as connection, connection:
        connection.execute(statement)


async def test_a_copy_and_a_workspace_without_metadata_answer_identically(
    root: Path, tmp_path: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        await memory.write("digest/wiki/late.md", "apple late")
        await memory.write("digest/wiki/4.md", "# Four\n\npear rewritten number3\n")
        await memory.delete("digest/wiki/5.md")
        before = await answers(memory)
        assert all(before)
    shutil.copytree(root, tmp_path / "copied")
    shutil.copytree(root, tmp_path / "bare", ignore=shutil.ignore_patterns("metadata", ".locks"))
    for file in (tmp_path / "bare").rglob("*.md"):
        os.utime(file, ns=(1, 1))
    for name in ("copied", "bare"):
        settings = Settings(watch=False, fsync=False)
        async with ReMe(tmp_path / name, settings=settings, clock=memory.clock) as moved:
            assert await answers(moved) == before, name
            assert (await moved.status()).notices == []
            assert [
                d for d in (await moved.doctor()).differences if "links to" not in d.reason
            ] == []
    shutil.rmtree(root / "metadata")
    async with open_memory() as again:
        assert await answers(again) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE chunks",
        "UPDATE chunks SET text = x'78'",
        "UPDATE chunks SET headings = '[broken'",
        "DROP TABLE files",
    ],
)
async def test_damage_found_by_a_search_is_repaired_before_it_answers(
    root: Path, open_memory: Callable[..., ReMe], statement: str
) -> None:
    async with open_memory() as memory:
        before = await answers(memory)
        spoil(root, statement)
        assert await answers(memory) == before
        notices = (await memory.status()).notices
        assert any("set aside" in notice for notice in notices)
        assert (await memory.status()).files == 60
        assert list((root / "metadata").glob("*.corrupt"))


async def test_without_patience_a_search_answers_and_the_repair_follows(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory(settings=BACKGROUND) as memory:
        await memory.drain(60)
        before = await answers(memory)
        spoil(root, "DROP TABLE chunks")
        assert (await memory.search("apple")).success
        await memory.drain(60)
        assert await answers(memory) == before


async def test_damage_found_by_a_write_is_repaired_as_well(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        await memory.search("apple")
        spoil(root, "DROP TABLE links")
        written = await memory.write("digest/wiki/new.md", "quince [[digest/wiki/1.md]]")
        assert written.success
        await memory.drain(60)
        assert (await memory.status()).files == 61
        assert len((await memory.search("number3")).hits) >= 2


async def test_a_search_after_a_recording_that_found_damage_waits_for_the_repair(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async def distilled(memory: ReMe, query: str) -> set[str]:
        found = await memory.search(query, limit=200)
        assert found.notice == ""
        return {hit.path for hit in found.hits} - {"session/dialog/s.jsonl"}

    async with open_memory() as memory:
        before = await distilled(memory, "apple pear")
        spoil(root, "DROP TABLE chunks")
        await memory.record("s", [{"role": "user", "content": "A plum a day.", "id": "1"}])
        assert await distilled(memory, "apple pear") == before
        assert len((await memory.search("plum")).hits) == 1
        status = await memory.status()
        assert (status.files, status.dirty, status.failures) == (61, [], {})


async def test_an_edit_that_kept_time_and_size_is_found_after_a_crash(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        assert (await memory.status()).notices == []
    (root / "metadata/open-0123").write_text("process 1\n", "utf-8")
    place = root / "digest/wiki/3.md"
    status = place.stat()
    place.write_text(place.read_text("utf-8").replace("number3", "quincey"), "utf-8")
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    async with open_memory() as memory:
        await memory.drain(60)
        assert [hit.path for hit in (await memory.search("quincey")).hits] == ["digest/wiki/3.md"]
        assert (await memory.status()).notices == []
    assert not list((root / "metadata").glob("open-*"))


async def test_a_change_of_settings_rebuilds_before_start_returns(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        chunks = (await memory.status()).chunks
    coarse = Settings(watch=False, fsync=False, chunk_byte_size=5000)
    async with open_memory(settings=coarse) as memory:
        status = await memory.status()
        assert status.notices == []
        assert (status.files, status.chunks < chunks) == (60, True)
        assert current(root).name == "index-2.db"


async def test_a_long_rebuild_goes_on_in_the_background_and_says_so(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory():
        pass
    coarse = BACKGROUND.model_copy(update={"chunk_byte_size": 5000})
    async with open_memory(settings=coarse) as memory:
        status = await memory.status()
        assert status.files == 60
        hits = (await memory.search("number7")).hits
        assert {hit.path for hit in hits} >= {"digest/wiki/7.md", "daily/2026-06-17/7.md"}
        if status.queued_jobs:
            assert any("being built anew" in notice for notice in status.notices)
        await memory.drain(60)
        assert (await memory.status()).notices == []
        assert current(root).name == "index-2.db"


@pytest.mark.parametrize("is_new", [True, False])
async def test_searches_and_status_say_while_files_are_still_brought_in(
    root: Path, open_memory: Callable[..., ReMe], monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    if not is_new:
        async with open_memory():
            pass
    (root / "digest/wiki/late.md").write_text("quince", "utf-8")
    go_on, scan = threading.Event(), Scanner.scan

    def slowly(scanner: Scanner, **given: Any) -> Any:
        go_on.wait()
        return scan(scanner, **given)

    monkeypatch.setattr(Scanner, "scan", slowly)
    for language, words in (("en", "still being compared"), ("zh", "仍在与索引比对")):
        go_on.clear()
        async with open_memory(settings=BACKGROUND, language=language) as memory:
            try:
                if language == "en":
                    found = await memory.search("quince")
                    assert (found.hits, found.success) == ([], True)
                    assert (await memory.status()).notices
                found = await memory.search("pear")
                assert words in found.notice
                assert found.answer.startswith(found.notice)
                assert words in (await memory.recall("pear")).notice
            finally:
                go_on.set()
            await memory.drain(60)
            assert (await memory.status()).notices == []
            found = await memory.search("quince")
            assert (len(found.hits), found.notice) == (1, "")


async def test_a_vanished_drive_is_reported_until_the_files_are_back(
    root: Path, tmp_path: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        before = (await memory.status()).files
    (root / "digest").rename(tmp_path / "elsewhere")
    async with open_memory() as memory:
        status = await memory.status()
        assert status.files == before
        assert [n for n in status.notices if "30 of 30 files in `digest/`" in n]
        assert (await memory.search("number7")).hits
    shutil.rmtree(root / "digest")
    (tmp_path / "elsewhere").rename(root / "digest")
    async with open_memory() as memory:
        assert (await memory.status()).notices == []
    (root / "digest").rename(tmp_path / "elsewhere")
    async with open_memory() as memory:
        assert (await memory.status()).notices
        assert (await memory.reindex()).removed == 30
        assert (await memory.status()).notices == []
        assert (await memory.status()).files == before - 30


async def test_the_doctor_finds_and_mends_what_is_searched(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        before = await answers(memory)
        store = memory._engine.components.store
        assert isinstance(store, LocalFileStore)
        state = store._session.state
        entry = state.files.get("digest/wiki/7.md")
        assert entry is not None
        state.index.delete([entry.first_slot])
        store._session.seal()
        assert await answers(memory) != before
        (found,) = [d for d in (await memory.doctor()).differences if "links to" not in d.reason]
        assert (found.item, found.reason) == (
            "digest/wiki/7.md",
            "a chunk cannot be found by its words",
        )
        assert (await memory.doctor(repair=True)).repaired >= 1
        assert await answers(memory) == before
        store._session.state.files.pop("digest/wiki/8.md")
        assert (await memory.doctor(repair=True)).repaired >= 1
        assert await answers(memory) == before


async def test_an_index_that_cannot_be_written_costs_no_write(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        store = memory._engine.components.store
        assert isinstance(store, LocalFileStore)
        connection = store._session.connection
        connection.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON changes "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
        written = await memory.write("digest/wiki/new.md", "quince")
        assert (written.success, written.indexed) == (True, False)
        assert (await memory.status()).dirty == ["digest/wiki/new.md"]
        connection.execute("DROP TRIGGER full")
        await memory.write("digest/wiki/other.md", "medlar")
        assert (await memory.status()).dirty == []
        assert len((await memory.search("quince")).hits) == 1


async def test_an_interrupted_rebuild_is_finished_by_the_next_start(
    root: Path, open_memory: Callable[..., ReMe]
) -> None:
    async with open_memory() as memory:
        before = await answers(memory)
        shadow = memory._engine.components.store.shadow()
        assert shadow is not None
        shadow.close()
    async with open_memory() as memory:
        await memory.drain(60)
        assert current(root).name == "index-2.db"
        assert await answers(memory) == before
