"""``kill -9`` before every operation on the disk: the next dream ends where this one would have."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.steps.dream.run import checkpoint_of
from agentscope_reme.steps.dream.statements import source_links
from tests.dream.conftest import documents, note
from tests.dream.dying_child import main, memory
from tests.dream.models import Dreamer

NEVER = 1_000_000


@pytest.mark.crash
async def test_a_rerun_converges_whenever_the_dream_was_killed(tmp_path: Path) -> None:
    start = tmp_path / "start"
    await prepare(start)
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(start, undisturbed)
    exit_code, operations = dream_in_a_child(undisturbed, NEVER)
    assert exit_code == 0
    wanted = await settled(undisturbed)
    assert operations > 30
    for at in range(1, operations + 1):
        root = tmp_path / f"killed-{at}"
        shutil.copytree(start, root)
        exit_code, _ = dream_in_a_child(root, at)
        assert exit_code == -signal.SIGKILL, at
        assert await settled(root) == wanted, at
        shutil.rmtree(root)


async def prepare(root: Path) -> None:
    async with memory(root, Dreamer()) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        await reme.auto_dream(date="2026-06-20")
        await note(
            reme,
            "2026-06-21",
            "news",
            *("[personal] Tea: green", "[wiki] Launch: 9 July", "[procedure] Rest: at noon"),
        )


async def settled(root: Path) -> dict[str, bytes]:
    """What the files say after the next dream; nothing may be left over."""
    async with memory(root, Dreamer()) as reme:
        result = await reme.auto_dream()
        assert result.success
        assert not result.pending
        files = documents(reme)
        state = checkpoint_of(reme.application.components).load()
        assert (state.units, state.prepared, state.topics) == ({}, None, [])
        changes = (await reme.history()).changes
        assert {change.state for change in changes} <= {"done", "aborted"}
        made = [c for c in changes if c.actor == "auto_dream" and c.state == "done"]
        assert len(made) == 2
        assert (await reme.doctor()).differences == []
    assert unfinished(root) == []
    sources = [
        source_links(files[f"digest/{name}.md"].decode())
        for name in ("personal/tea", "wiki/launch")
    ]
    assert all(len(links) == 2 for links in sources)
    return files


def unfinished(root: Path) -> list[Path]:
    return list(root.glob("**/.*.tmp"))


def dream_in_a_child(root: Path, at: int) -> tuple[int | None, int]:
    """How the child ended, and how many operations it counted."""
    context = _context()
    listening, out = context.Pipe(duplex=False)
    child = context.Process(target=main, args=(root, at, out), daemon=True)
    child.start()
    out.close()
    try:
        count = listening.recv()
    except EOFError:
        count = 0
    child.join()
    return child.exitcode, count


def _context() -> Any:
    """Children start from a process that has imported everything already."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.dream.dying_child"])
    return context
