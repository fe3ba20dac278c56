"""A process that dies while it exports or restores: nothing of it outlives the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.transfer.archive import restore_archive
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.workspace import Workspace
from tests.transfer.conftest import QUIET, files_of

ROOT = Path(__file__).parents[2]
NOTES = 60


def killed(what: str, source: Path, target: Path, after: int = NOTES // 2) -> None:
    """Run it in a process that is killed when so many files are done."""
    command = [sys.executable, "-m", "tests.transfer.exporting_child", what]
    child = subprocess.Popen(
        [*command, str(source), str(target)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line == f"files {after}\n":
            child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


def holding(root: Path, word: bytes) -> list[Path]:
    """Files that say a word."""
    return [place for place in root.rglob("*") if place.is_file() and word in place.read_bytes()]


@pytest.fixture
async def lived_in(tmp_path: Path) -> Path:
    """Notes that do not pack well, so that packing takes a while."""
    root = tmp_path / "memory"
    async with ReMe(root, settings=QUIET, timezone="UTC") as memory:
        for number in range(NOTES):
            await memory.write(f"digest/wiki/n{number}.md", f"zebra {os.urandom(40_000).hex()}")
    return root


@pytest.mark.crash
async def test_what_is_forgotten_later_is_in_no_copy(lived_in: Path, tmp_path: Path) -> None:
    killed("export", lived_in, tmp_path / "out.zip")
    assert list((lived_in / "metadata").glob("export-*"))
    async with ReMe(lived_in, settings=QUIET, timezone="UTC") as memory:
        await memory.forget(query="zebra", dry_run=False)
        assert not holding(lived_in, b"zebra")
        await export_memory(memory, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["memory", "out.zip"]


@pytest.mark.crash
async def test_forgetting_takes_them_too_while_the_memory_is_open(
    lived_in: Path, tmp_path: Path
) -> None:
    async with ReMe(lived_in, settings=QUIET, timezone="UTC") as memory:
        killed("export", lived_in, tmp_path / "out.zip")
        await memory.forget(query="zebra", dry_run=False)
        assert not list((lived_in / "metadata").glob("export-*"))


@pytest.mark.crash
async def test_a_memory_is_made_wholly_or_not_at_all(lived_in: Path, tmp_path: Path) -> None:
    async with ReMe(lived_in, settings=QUIET, timezone="UTC") as memory:
        await export_memory(memory, tmp_path / "out")
    killed("restore", tmp_path / "out.zip", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    restore_archive(tmp_path / "out.zip", Workspace(tmp_path / "new"))
    assert files_of(tmp_path / "new") == files_of(lived_in)
    assert sorted(os.listdir(tmp_path)) == ["memory", "new", "out.zip"]
