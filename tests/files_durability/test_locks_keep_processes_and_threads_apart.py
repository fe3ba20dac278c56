from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

import agentscope_reme.files.locks as locks_module
from agentscope_reme.errors import BadInput
from agentscope_reme.files.file_lock import FileLock as OurLock
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

_COUNT = """
import sys
from pathlib import Path
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace
locks, counter = WorkspaceLocks(Workspace(sys.argv[1])), Path(sys.argv[1], "counter")
for _ in range(100):
    with locks.commit():
        counter.write_text(str(int(counter.read_text()) + 1))
"""


_FORKS_MEANWHILE = """
import os, sys, threading, warnings
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace
warnings.simplefilter("ignore")  # newer versions of Python advise against it
locks = WorkspaceLocks(Workspace(sys.argv[1]))
taken, forked = threading.Event(), threading.Event()
def hold():
    with locks.commit():
        taken.set()
        forked.wait()
holder = threading.Thread(target=hold)
holder.start()
taken.wait()
child = os.fork()
if not child:
    with locks.commit():
        print("the child has it", flush=True)
    os._exit(0)
forked.set()
holder.join()
os.waitpid(child, 0)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.create()
    return made


def test_processes_lose_no_count(workspace: Workspace) -> None:
    counter = workspace.root / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", _COUNT, str(workspace.root)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert counter.read_text() == "300"


def test_threads_of_one_process_lose_no_count(workspace: Workspace) -> None:
    counter = workspace.root / "counter"
    counter.write_text("0")

    def count() -> None:
        locks = WorkspaceLocks(workspace)
        for _ in range(25):
            with locks.commit():
                counter.write_text(str(int(counter.read_text()) + 1))

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(count) for _ in range(4)]:
            job.result()
    assert counter.read_text() == "100"


def test_what_keeps_threads_apart_is_forgotten_when_nobody_has_it(workspace: Workspace) -> None:
    """A process that stays sees ever more sessions."""
    held = WorkspaceLocks(workspace)
    known = len(locks_module._registry)
    with held.claim("dream"):
        for number in range(30):
            with held.claim(f"session {number}"), held.session(str(number)):
                pass
        assert len(locks_module._registry) == known + 1
        place = workspace.locks / "claim-dream.lock"
        assert locks_module._guard_of(place) is locks_module._guard_of(place)
        assert locks_module._guard_of(place).locked()
    assert len(locks_module._registry) == known


def test_threads_find_one_guard_however_often_it_is_forgotten(tmp_path: Path) -> None:
    """Without the lock on the file, which would keep them apart as well."""
    place, inside, most = tmp_path / "a.lock", 0, 0

    def count() -> None:
        nonlocal inside, most
        for _ in range(2000):
            with locks_module._guard_of(place):
                inside += 1
                most = max(most, inside)
                inside -= 1

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(count) for _ in range(4)]:
            job.result()
    assert most == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_that_was_forked_while_a_thread_held_a_lock_gets_it_in_its_turn(
    workspace: Workspace,
) -> None:
    command = [sys.executable, "-c", _FORKS_MEANWHILE, str(workspace.root)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("the child has it\n", "")


def test_an_interrupt_in_the_middle_of_taking_a_lock_leaves_it_free(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = OurLock._try

    def interrupted(self: OurLock) -> bool:
        attempt(self)
        raise KeyboardInterrupt

    locks = WorkspaceLocks(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(OurLock, "_try", interrupted)
        with pytest.raises(KeyboardInterrupt), locks.commit():
            pass
    with FileLock(workspace.locks / "commit.lock", timeout=0):
        pass
    with locks.commit():
        pass
    with FileLock(workspace.locks / "commit.lock", timeout=0):
        pass


def test_a_claim_has_one_holder(workspace: Workspace) -> None:
    one, other = WorkspaceLocks(workspace), WorkspaceLocks(workspace)
    with one.claim("dream") as mine:
        assert mine
        with other.claim("dream") as theirs:
            assert not theirs
        with other.claim("session a") as unrelated:
            assert unrelated
    with other.claim("dream") as again:
        assert again


def test_a_claim_of_another_process_is_seen(workspace: Workspace) -> None:
    script = (
        "import sys; from agentscope_reme.files.locks import WorkspaceLocks\n"
        "from agentscope_reme.workspace import Workspace\n"
        "with WorkspaceLocks(Workspace(sys.argv[1])).claim('dream') as mine:\n"
        "    print(mine, flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(workspace.root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with WorkspaceLocks(workspace).claim("dream") as mine:
            assert not mine
        holder.kill()  # the kernel frees what a dead process held
        holder.wait()
        with WorkspaceLocks(workspace).claim("dream") as mine:
            assert mine


def test_a_blocking_claim_waits_for_its_turn(workspace: Workspace) -> None:
    order: list[str] = []
    taken = threading.Event()

    def second() -> None:
        taken.wait()
        with WorkspaceLocks(workspace).claim("dream", blocking=True) as mine:
            order.append(f"second {mine}")

    thread = threading.Thread(target=second)
    thread.start()
    with WorkspaceLocks(workspace).claim("dream"):
        taken.set()
        order.append("first")
    thread.join()
    assert order == ["first", "second True"]


def test_a_claim_may_be_released_in_another_thread(workspace: Workspace) -> None:
    claim = WorkspaceLocks(workspace).claim("dream")
    assert claim.__enter__()
    thread = threading.Thread(target=claim.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with WorkspaceLocks(workspace).claim("dream") as mine:
        assert mine


def test_the_right_order_nests(workspace: Workspace) -> None:
    locks = WorkspaceLocks(workspace)
    with locks.claim("dream"), locks.session("a"), locks.commit():
        pass


def test_a_wrong_order_is_refused_instead_of_waiting_for_ever(workspace: Workspace) -> None:
    locks = WorkspaceLocks(workspace)
    with locks.commit():
        with pytest.raises(RuntimeError, match="order"), locks.session("a"):
            pass
        with pytest.raises(RuntimeError, match="order"), locks.commit():
            pass
        with pytest.raises(RuntimeError, match="order"), locks.claim("dream"):
            pass
    with locks.session("a"), pytest.raises(RuntimeError, match="order"), locks.session("b"):
        pass
    with locks.commit():
        pass


def test_an_impossible_id_is_refused(workspace: Workspace) -> None:
    with pytest.raises(BadInput), WorkspaceLocks(workspace).session("../../etc/x"):
        pass


def test_locks_survive_the_deletion_of_derived_data(workspace: Workspace) -> None:
    workspace.create()
    with WorkspaceLocks(workspace).commit():
        assert not list(workspace.metadata.iterdir())


@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o600), (0o700, 0o600), (0o770, 0o660)])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_a_lock_is_open_to_a_group_only_where_the_folder_is(
    workspace: Workspace, folder: int, file: int
) -> None:
    """Who may read a lock's file can hold it."""
    workspace.locks.chmod(folder)
    with WorkspaceLocks(workspace).commit():
        place = workspace.locks / "commit.lock"
        assert stat.S_IMODE(place.stat().st_mode) == file
