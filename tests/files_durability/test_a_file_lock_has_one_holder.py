"""Whoever holds the lock of a file keeps everybody else out, however they lock."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import filelock
import pytest

from agentscope_reme.files import file_lock
from agentscope_reme.files.file_lock import FileLock

_FORKS = """
import os, sys
from pathlib import Path
from agentscope_reme.files.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.acquire(0)
child = os.fork()
if not child:
    lock.release()  # not the child's to give away
    print("forked", flush=True)
    os.read(int(sys.argv[2]), 1)  # outlives its parent
    os._exit(0)
sys.stdin.read(1)
print("still held", not FileLock(Path(sys.argv[1])).acquire(0), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "some.lock"


def lock_of(place: Path) -> FileLock:
    return FileLock(place)


def test_the_second_waits_as_long_as_it_likes_and_no_longer(place: Path) -> None:
    first, second = lock_of(place), lock_of(place)
    assert first.acquire(0)
    assert not second.acquire(0)
    assert not second.acquire(0.01)
    first.release()
    assert second.acquire(-1)
    second.release()


def test_releasing_what_is_not_held_does_nothing(place: Path) -> None:
    first, second = lock_of(place), lock_of(place)
    first.release()
    assert first.acquire(0)
    second.release()
    assert not second.acquire(0)


def test_those_who_lock_with_the_library_of_that_name_are_kept_out_and_keep_out(
    place: Path,
) -> None:
    ours, theirs = lock_of(place), filelock.FileLock(place, timeout=0)
    assert ours.acquire(0)
    with pytest.raises(filelock.Timeout):
        theirs.acquire()
    ours.release()
    with theirs:
        assert not ours.acquire(0)
    assert ours.acquire(0)


def test_a_lock_that_nobody_can_release_any_more_is_free(place: Path) -> None:
    lock_of(place).acquire(0)
    gc.collect()
    assert lock_of(place).acquire(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no file that is open")
def test_a_file_that_is_removed_while_it_is_locked_is_no_lock_any_more(place: Path) -> None:
    first, second, third = lock_of(place), lock_of(place), lock_of(place)
    assert first.acquire(0)
    place.unlink()
    assert second.acquire(0)
    first.release()
    assert not third.acquire(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no file that is open")
def test_nor_is_one_that_is_removed_between_opening_and_locking(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, others = file_lock.fcntl.flock, [place]

    def later(descriptor: int, operation: int) -> None:
        while others:
            others.pop().unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(file_lock.fcntl, "flock", later)
    first, second = lock_of(place), lock_of(place)
    assert first.acquire(-1)
    assert place.exists()
    assert not second.acquire(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no such copies")
def test_a_copy_somebody_has_of_the_open_file_holds_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    real = os.open

    def copied(*given: Any) -> int:
        descriptor = real(*given)
        opened.append(os.dup(descriptor))  # as a child has it that C code has forked
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", copied)
        first = lock_of(place)
        assert first.acquire(0)
    first.release()
    try:
        assert lock_of(place).acquire(0)
    finally:
        for descriptor in opened:
            os.close(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="the library of that name sees to it")
def test_who_is_interrupted_while_locking_holds_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_descriptor: int) -> Any:
        raise KeyboardInterrupt

    first = lock_of(place)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", interrupted)
        with pytest.raises(KeyboardInterrupt):
            first.acquire(0)
    assert lock_of(place).acquire(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes")
def test_a_file_whose_mode_cannot_be_set_is_not_left_open(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def refused(descriptor: int, _mode: int) -> None:
        made.append(descriptor)
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fchmod", refused)
    with pytest.raises(OSError, match="broken"):
        lock_of(place).acquire(0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes")
def test_a_disk_that_knows_no_modes_is_locked_all_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_descriptor: int, _mode: int) -> None:
        raise PermissionError(errno.EPERM, "as FAT does")

    monkeypatch.setattr(os, "fchmod", refused)
    first = lock_of(place)
    assert first.acquire(0)
    assert not lock_of(place).acquire(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other links")
def test_a_link_that_stands_for_the_file_is_not_followed(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    place.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        lock_of(place).acquire(0)
    assert not target.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_neither_frees_the_lock_of_its_parent_nor_keeps_it(place: Path) -> None:
    pipe, (wait, end) = subprocess.PIPE, os.pipe()  # each of the two reads one of its own
    command = [sys.executable, "-c", _FORKS, str(place), str(wait)]
    with (
        open(end, "wb"),
        open(wait, "rb"),
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, pass_fds=[wait]) as parent,
    ):
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "forked\n"
        parent.stdin.write(".")
        parent.stdin.flush()
        assert parent.stdout.readline() == "still held True\n"
        parent.kill()  # and its child lives on
        parent.wait()
        assert lock_of(place).acquire(0)


def test_a_process_that_ends_with_a_lock_says_nothing(place: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from agentscope_reme.files.file_lock import FileLock\n"
        "lock = FileLock(Path(sys.argv[1])); print(lock.acquire(0))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("True\n", "")
    assert lock_of(place).acquire(0)
