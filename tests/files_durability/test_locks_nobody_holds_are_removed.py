"""Lock files of sessions that ended go, and nobody who waits for one is let in beside another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is removed there")

COUNT = """
import sys
from pathlib import Path
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace
locks, counter = WorkspaceLocks(Workspace(sys.argv[1])), Path(sys.argv[1], "counter")
for _ in range(150):
    with locks.session("s"):
        counter.write_text(str(int(counter.read_text()) + 1))
    locks.remove_unheld()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.create()
    return made


def names(workspace: Workspace) -> list[str]:
    return sorted(place.name for place in workspace.locks.glob("*.lock"))


def test_what_somebody_holds_stays(workspace: Workspace) -> None:
    locks = WorkspaceLocks(workspace)
    with locks.session("ended"), locks.commit():
        pass
    with locks.claim("dream") as is_mine, locks.session("going-on"):
        assert is_mine
        assert locks.remove_unheld() == 1
        assert names(workspace) == [
            "claim-dream.lock",
            "commit.lock",
            "session-going-on.lock",
        ]
    assert locks.remove_unheld() == 2
    assert names(workspace) == ["commit.lock"]


def test_what_another_process_holds_stays(workspace: Workspace) -> None:
    hold = (
        "import sys\n"
        "from agentscope_reme.files.locks import WorkspaceLocks\n"
        "from agentscope_reme.workspace import Workspace\n"
        "with WorkspaceLocks(Workspace(sys.argv[1])).session('s'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", hold, str(workspace.root)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert WorkspaceLocks(workspace).remove_unheld() == 0
        child.communicate("\n")
    assert WorkspaceLocks(workspace).remove_unheld() == 1


def test_processes_that_remove_and_take_one_lock_lose_no_count(workspace: Workspace) -> None:
    counter = workspace.root / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(workspace.root)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert counter.read_text() == "450"


async def test_upkeep_removes_them(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=Settings(fsync=False)) as reme:
        locks = tmp_path / ".locks"
        for number in range(3):
            turn = [{"role": "user", "name": "u", "content": f"tea {number}"}]
            await reme.record(f"s{number}", turn, distil=False)
        assert len(list(locks.glob("session-*.lock"))) == 3
        await reme.optimize_index()
        assert list(locks.glob("session-*.lock")) == []
        await reme.record("s1", [{"role": "user", "name": "u", "content": "more"}], distil=False)
        await reme.doctor()
        assert len(list(locks.glob("session-*.lock"))) == 1
        await reme.doctor(repair=True)
        assert list(locks.glob("session-*.lock")) == []
