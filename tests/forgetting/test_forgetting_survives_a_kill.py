"""``kill -9`` before any step of a forgetting leaves everything, or nothing of what was to go.

``REME_CRASH_EVERY_STEP=1`` kills before every step instead of a few of them.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from tests.forgetting.killed_child import ONCE_DECIDED, forget_in
from tests.forgetting.life import CARD, LOG, SCRIPT, SHARED, leaks, live

EVERY = os.environ.get("REME_CRASH_EVERY_STEP", "") not in ("", "0")
_ABOUT = 6


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "memory"

    async def fill() -> None:
        async with memory(root, ScriptedChatModel(SCRIPT)) as reme:
            await live(reme)

    asyncio.run(fill())
    return root


def memory(root: Path, model: Any = None) -> ReMe:
    clock = FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")
    return ReMe(root, chat_model=model, settings=Settings(watch=False, fsync=False), clock=clock)


def child(root: Path, dies_before: int) -> tuple[int | None, int]:
    """The exit code of a process that forgets, and the steps it took."""
    context = _context()
    listening, out = context.Pipe(duplex=False)
    process = context.Process(target=forget_in, args=(str(root), dies_before, out))
    process.start()
    out.close()
    process.join()
    steps = listening.recv() if listening.poll() and process.exitcode == 0 else 0
    return process.exitcode, steps


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.forgetting.killed_child"])
    return context


def files_of(root: Path) -> dict[str, bytes]:
    """What a person sees."""
    own = {"metadata", ".locks", "journal", "trash"}
    places = (p for p in root.rglob("*") if p.is_file())
    return {
        path: (root / path).read_bytes()
        for path in (p.relative_to(root).as_posix() for p in places)
        if path.split("/")[0] not in own
    }


@pytest.mark.crash
def test_a_kill_leaves_all_or_nothing(template: Path, tmp_path: Path) -> None:
    whole = copied(template, tmp_path / "whole")
    code, steps = child(whole, 0)
    assert code == 0
    assert steps > 20
    assert leaks(whole) == []
    done = untold(files_of(whole))
    before = untold(files_of(template))
    seen = set()
    for step in range(1, steps + 1, 1 if EVERY else max(1, steps // _ABOUT)):
        root = copied(template, tmp_path / f"step{step}")
        code, _ = child(root, step)
        assert code == -signal.SIGKILL
        seen.add(asyncio.run(_settled(root, before, done)))
        shutil.rmtree(root)
    assert seen == {"all", "nothing"}


async def _settled(root: Path, before: dict[str, bytes], done: dict[str, bytes]) -> str:
    """Which of the two states opening the memory leads to; then it is forgotten for good."""
    async with memory(root) as reme:
        await reme.status()
        found = untold(files_of(root))
        assert found in (before, done)
        left = "all" if found == before else "nothing"
        hits = (await reme.search("Quetzalcoatlus")).hits
        assert bool(hits) is (left == "all")
        if left == "nothing":
            assert leaks(root) == []
        assert (await reme.doctor()).differences == []
        if left == "all":
            await reme.forget(path=CARD, dry_run=False)
        assert leaks(root) == []
        assert "The gym opens at seven" in (await reme.read(SHARED)).content
        assert (await reme.status()).dirty == []
    assert not (root / "journal/forgetting").exists()
    return left


def untold(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without salts: two forgettings never write the same hashes."""
    return {
        path: b"\n".join(line[:21] for line in data.split(b"\n"))
        if path.startswith("session")
        else data
        for path, data in files.items()
    }


def copied(template: Path, root: Path) -> Path:
    shutil.copytree(template, root)
    return root


@pytest.fixture
def interrupted(template: Path, tmp_path: Path) -> Path:
    """A memory in which a forgetting was decided and cut off before it touched a file."""
    root = copied(template, tmp_path / "cut")
    assert child(root, ONCE_DECIDED)[0] == -signal.SIGKILL
    assert files_of(root) == files_of(template)
    return root


@pytest.mark.crash
async def test_what_was_said_in_between_is_kept(interrupted: Path) -> None:
    async with memory(interrupted) as late:
        logs = late.application.components.logs  # opened by nobody yet: nothing is settled
        from agentscope_reme.messages import Message

        message = Message.from_dict({"role": "user", "content": "Meanwhile.", "id": "late"})
        logs.log("gym").append([message])
        await late.status()
        assert leaks(interrupted) == []
        said = [logged.message.text for logged in logs.log("gym").read().messages]
        assert said == ["Meanwhile."]
        notices = (await late.status()).notices
        assert any("Forgetting" in notice and "finished" in notice for notice in notices)


@pytest.mark.crash
async def test_the_next_change_of_another_process_finishes_it(
    template: Path, interrupted: Path
) -> None:
    root = interrupted
    plan = (root / "journal/forgetting").rename(root.parent / "aside")
    async with memory(root) as running:
        await running.status()
        plan.rename(root / "journal/forgetting")  # the other process was cut off just now
        await running.write("digest/wiki/next.md", "The next change.")
        assert leaks(root) == []
        assert (await running.search("Quetzalcoatlus")).hits == []
        assert LOG in files_of(root)


@pytest.mark.crash
async def test_a_plan_somebody_wrote_by_hand_reaches_no_file(
    interrupted: Path, open_memory: Callable[..., ReMe]
) -> None:
    place = interrupted / "journal/forgetting/plan.json"
    outside = interrupted.parent / "precious.txt"
    outside.write_text("precious")
    text = place.read_text()
    for bad in (
        text.replace(CARD, "../precious.txt"),
        text.replace(CARD, "metadata/CURRENT"),
        "{",
        "[]",
    ):
        place.write_text(bad)
        async with memory(interrupted) as reme:
            assert (await reme.search("Quetzalcoatlus")).hits
        assert outside.read_text() == "precious"
        place.parent.mkdir(exist_ok=True)
