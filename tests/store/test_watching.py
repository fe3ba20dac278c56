"""Other people's edits are told, soon and once. Real files, real events."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentscope_reme.settings import Settings
from agentscope_reme.store.watcher import WorkspaceWatcher
from agentscope_reme.workspace import Workspace

DEADLINE_SECONDS = 10


class Told:
    """Collects what the watcher says, and waits for it."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.calls: list[set[str]] = []
        self._news = asyncio.Event()
        self.fail_once = False

    async def __call__(self, paths: set[str]) -> None:
        self.calls.append(paths)
        self.paths |= paths
        self._news.set()
        if self.fail_once:
            self.fail_once = False
            raise ValueError("a bad file")

    async def until(self, *paths: str, calls: int = 0) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not set(paths) <= self.paths or len(self.calls) < calls:
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture(params=["native", "polling"])
async def watcher(
    request: pytest.FixtureRequest, workspace: Workspace, told: Told
) -> AsyncIterator[WorkspaceWatcher]:
    workspace.create()
    polling = request.param == "polling"
    watcher = WorkspaceWatcher(workspace, Settings(watch_force_polling=polling), told)
    await watcher.start()
    yield watcher
    await watcher.stop()


@pytest.fixture
async def native(workspace: Workspace, told: Told) -> AsyncIterator[WorkspaceWatcher]:
    workspace.create()
    watcher = WorkspaceWatcher(workspace, Settings(), told)
    await watcher.start()
    yield watcher
    await watcher.stop()


async def test_creating_changing_and_deleting(
    watcher: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    place = tmp_path / "daily" / "note.md"
    place.write_text("one", "utf-8")
    await told.until("daily/note.md")
    told.paths.clear()
    place.write_text("one and two", "utf-8")
    os.utime(place, (1_800_000_000, 1_800_000_000))  # polling sees whole seconds
    await told.until("daily/note.md")
    told.paths.clear()
    place.unlink()
    await told.until("daily/note.md")


async def test_nobody_is_told_of_hidden_internal_and_temporary_files(
    native: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    for name in (
        "metadata/index-1.db",
        "journal/2026-06.jsonl",
        "trash/x/daily/note.md",
        "users/ann/daily/note.md",
        ".locks/commit",
        "daily/.note.md.swp",
        "daily/note.md~",
        "daily/note.tmp",
        ".git/HEAD",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", "utf-8")
    (tmp_path / "daily" / "real.md").write_text("x", "utf-8")
    await told.until("daily/real.md")
    assert told.paths == {"daily/real.md"}


async def test_a_folder_that_appears_is_told_as_its_files(
    native: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    outside = tmp_path / ".outside" / "deep"
    outside.mkdir(parents=True)
    for number in range(3):
        (outside / f"{number}.md").write_text("x", "utf-8")
    (tmp_path / ".outside").rename(tmp_path / "digest" / "moved")
    await told.until(*(f"digest/moved/deep/{number}.md" for number in range(3)))


async def test_a_folder_that_is_removed_and_comes_back(
    native: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    place = tmp_path / "daily" / "2026-06-20" / "a.md"
    place.parent.mkdir()
    place.write_text("x", "utf-8")
    await told.until("daily/2026-06-20/a.md")
    shutil.rmtree(tmp_path / "daily")
    told.paths.clear()
    place.parent.mkdir(parents=True)
    place.write_text("again", "utf-8")
    await told.until("daily/2026-06-20/a.md")


async def test_a_burst_is_told_in_few_calls(
    native: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    names = [f"digest/{number}.md" for number in range(300)]
    for name in names:
        (tmp_path / name).write_text("x", "utf-8")
    await told.until(*names)
    assert len(told.calls) <= 30


async def test_a_failing_receiver_is_called_again(
    native: WorkspaceWatcher, told: Told, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told.fail_once = True
    (tmp_path / "daily" / "a.md").write_text("x", "utf-8")
    await told.until("daily/a.md")
    (tmp_path / "daily" / "b.md").write_text("x", "utf-8")
    await told.until("daily/b.md")
    assert "a bad file" in caplog.text


async def test_a_missing_workspace_is_waited_for(tmp_path: Path, told: Told) -> None:
    watcher = WorkspaceWatcher(Workspace(tmp_path / "later"), Settings(), told)
    await watcher.start()
    (tmp_path / "later" / "daily").mkdir(parents=True)
    await told.until(calls=1)
    assert told.calls[0] == set()
    (tmp_path / "later" / "daily" / "a.md").write_text("x", "utf-8")
    await told.until("daily/a.md")
    await watcher.stop()


async def test_a_workspace_that_is_replaced_is_looked_at_again(
    native: WorkspaceWatcher, told: Told, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path)
    (tmp_path / "daily").mkdir(parents=True)
    async with asyncio.timeout(DEADLINE_SECONDS):
        while set() not in told.calls:
            await told.until(calls=len(told.calls) + 1)
    (tmp_path / "daily" / "a.md").write_text("x", "utf-8")
    await told.until("daily/a.md")


async def test_starting_and_stopping_leaves_nothing_behind(
    workspace: Workspace, told: Told
) -> None:
    workspace.create()
    threads, tasks = threading.active_count(), len(asyncio.all_tasks())
    watcher = WorkspaceWatcher(workspace, Settings(), told)
    await watcher.stop()
    for _ in range(2):
        await watcher.start()
        await watcher.start()
        await watcher.stop()
        await watcher.stop()
    assert (threading.active_count(), len(asyncio.all_tasks())) == (threads, tasks)
