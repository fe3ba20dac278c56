"""Several workers, in processes of their own, over one index and one folder of files."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import StorageFailed
from agentscope_reme.settings import Settings
from agentscope_reme.store.scaleout import SharedIndex
from agentscope_reme.workspace import Workspace
from tests.scaleout.conftest import Opener
from tests.scaleout.notes import FILES, PARTS, indexed_notes, note, path_of, versions_shown

pytestmark = pytest.mark.scaleout
QUIET = Settings(watch=False)


def worker(what: str, place: dict[str, Any], folder: Path, *rest: str) -> list[str]:
    start = [sys.executable, "-m", "tests.scaleout.worker"]
    return [*start, what, json.dumps(place), str(folder), *rest]


async def run(command: list[str]) -> None:
    child = await asyncio.create_subprocess_exec(*command)
    assert await child.wait() == 0


async def test_what_one_worker_writes_the_other_finds(
    index: SharedIndex, place: dict[str, Any], tmp_path: Path
) -> None:
    async with ReMe(tmp_path, settings=QUIET, file_store=index) as memory:
        await memory.write("digest/wiki/mine.md", "A pear of mine.")
        text = "An apple for 猫咪, see [[digest/wiki/mine.md]]."
        await run(worker("write", place, tmp_path, "digest/wiki/theirs.md", text))
        for query in ("apple", "猫咪", "猫"):
            found = await memory.search(query)
            assert [hit.path for hit in found.hits] == ["digest/wiki/theirs.md"]
        pear = await memory.search("pear")
        assert [link.source_path for link in pear.hits[0].inlinks] == ["digest/wiki/theirs.md"]
        await memory.delete("digest/wiki/theirs.md")
    async with ReMe(tmp_path, settings=QUIET, file_store=index) as memory:
        assert (await memory.search("apple")).hits == []
        assert (await memory.doctor()).success
        assert not (tmp_path / "metadata" / "CURRENT").exists()  # nothing is indexed here


@pytest.mark.crash
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_killed_worker_leaves_no_file_half_indexed(
    opened: Opener, place: dict[str, Any], tmp_path: Path, after: int
) -> None:
    command = worker("apply", place, tmp_path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == str(after):
                break
        child.kill()  # in the middle of the next version
    store = opened(tmp_path)
    shown = versions_shown(store)
    assert all(len(versions) == 1 for versions in shown.values()), shown
    assert {len(store.chunks(path_of(n))) for n in range(FILES)} == {PARTS}
    store.apply(indexed_notes(5000))
    assert set().union(*versions_shown(store).values()) == {"v5000x"}
    assert store.stats().chunks == FILES * PARTS
    hits = store.keyword_search("common words", limit=10 * FILES * PARTS)
    assert len(hits) == FILES * PARTS


async def test_a_run_repairs_what_another_left_behind(
    index: SharedIndex, opened: Opener, place: dict[str, Any], tmp_path: Path
) -> None:
    store = opened(tmp_path)
    for number in range(FILES):
        folder = tmp_path / "digest" / "wiki"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note{number}.md").write_text(note(number, 7), encoding="utf-8")
    store.apply(indexed_notes(6)[:2])
    await run(worker("scan", place, tmp_path))
    assert set().union(*versions_shown(store).values()) == {"v7x"}
    assert store.condition().incomplete is False


def test_a_name_belongs_to_one_workspace(
    index: SharedIndex, opened: Opener, tmp_path: Path
) -> None:
    opened(tmp_path / "one").apply(indexed_notes(1))
    other = Workspace(tmp_path / "two")
    other.create()
    with pytest.raises(StorageFailed, match="another workspace has this name"):
        index(other, Settings()).open()
    moved = (tmp_path / "one").rename(tmp_path / "mounted elsewhere")
    assert len(opened(moved).stamps()) == FILES
