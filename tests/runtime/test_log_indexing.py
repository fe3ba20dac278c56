"""What was appended while the index was at work is brought in together, and everything once."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from agentscope_reme.errors import BadInput, Closed, StorageFailed
from agentscope_reme.files.growing_file import Extension, FileMark
from agentscope_reme.files.locks import WorkspaceLocks, seconds_left
from agentscope_reme.runtime import FailureLog
from agentscope_reme.runtime.log_indexing import LogIndexing
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace

Followed = list[tuple[str, Extension | None]]


class Index:
    """Stands where the vault stands; it takes as many logs as its gate was opened for."""

    def __init__(self) -> None:
        self.followed: Followed = []
        self.at_work = threading.Event()
        self.gate = threading.Semaphore(0)
        self.fault: Exception | None = None
        self.takes = True
        self.told = 0

    def log_changed(self, path: str, written: Extension | None = None) -> bool:
        self.followed.append((path, written))
        self.at_work.set()
        assert self.gate.acquire(timeout=10)
        if self.fault is not None:
            raise self.fault
        return self.takes

    def retry(self) -> bool:
        self.followed.append(("what is dirty", None))
        if self.fault is not None:
            raise self.fault
        return self.takes

    def tell(self) -> None:
        self.told += 1


def indexing(index: Index, failures: FailureLog | None = None) -> LogIndexing:
    return LogIndexing(
        cast("Vault", index),
        at_most=nullcontext,
        patience_seconds=5,
        on_failure=(failures or FailureLog()).report,
        after=index.tell,
    )


def append(start: int, data: bytes) -> Extension:
    """An append to a file of `start` bytes."""
    return Extension(FileMark(1, start, start), FileMark(1, start + len(data), start + 1), data)


def followed_by(first: Extension, data: bytes) -> Extension:
    size = first.after.size + len(data)
    return Extension(first.after, FileMark(1, size, size), data)


async def waiting_behind_one(index: Index) -> LogIndexing:
    """The index is at work on one log."""
    logs = indexing(index)
    logs.soon("a", None)
    while not index.at_work.is_set():
        assert not await logs.drain(0)
    return logs


async def test_appends_that_follow_each_other_are_brought_in_as_one() -> None:
    index = Index()
    logs = await waiting_behind_one(index)
    first = append(10, b"one\n")
    second = followed_by(first, b"two\n")
    logs.soon("a", first)
    logs.soon("b", None)
    logs.soon("a", second)
    assert logs.queued == 1
    index.gate.release(9)
    assert await logs.drain()
    joined = Extension(first.before, second.after, b"one\ntwo\n")
    assert index.followed == [("a", None), ("a", joined), ("b", None)]
    assert (logs.queued, index.told) == (0, 2)


async def test_appends_with_a_gap_or_too_much_between_them_are_read_from_the_disk() -> None:
    for first, second in (
        (append(10, b"one\n"), append(30, b"two\n")),
        (append(10, b"x" * (1 << 20)), None),
        (None, append(10, b"one\n")),
    ):
        index = Index()
        logs = await waiting_behind_one(index)
        logs.soon("a", first)
        logs.soon("a", second or followed_by(cast("Extension", first), b"y"))
        index.gate.release(9)
        await logs.drain()
        assert index.followed[1:] == [("a", None)]


async def test_a_reader_waits_for_no_more_than_came_before_it() -> None:
    index = Index()
    logs = await waiting_behind_one(index)
    reader = asyncio.create_task(logs.drain())
    await asyncio.sleep(0)
    logs.soon("b", None)
    index.gate.release()
    assert await reader
    assert logs.queued == 1
    index.gate.release()
    assert await logs.drain()
    assert [path for path, _ in index.followed] == ["a", "b"]


async def test_a_failure_is_told_and_stops_no_other_log() -> None:
    index, failures = Index(), FailureLog()
    index.gate.release(9)
    index.fault = BadInput("x", "no", "Do not.")
    logs = indexing(index, failures)
    logs.soon("a", None)
    logs.soon("b", None)
    await logs.drain()
    assert [path for path, _ in index.followed] == ["a", "b"]
    assert failures.counts == {"index": 2}


async def test_a_vault_that_was_closed_is_no_failure() -> None:
    index, failures = Index(), FailureLog()
    index.gate.release(9)
    index.fault = Closed("x", "closed", "Open it.")
    logs = indexing(index, failures)
    logs.soon("a", None)
    await logs.drain()
    assert failures.counts == {}


@pytest.mark.parametrize("more", [["c"], []], ids=["append", "reader"])
async def test_work_that_somebody_cancelled_is_taken_up_by_the_next(more: list[str]) -> None:
    index = Index()
    logs = await waiting_behind_one(index)
    logs.soon("b", None)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    index.gate.release(9)
    for path in more:
        logs.soon(path, None)
    assert await logs.drain()
    followed = sorted(path for path, _ in index.followed)
    assert followed == ["a", "a", "b", *more]  # what became of the first nobody could hear


async def test_what_the_index_could_not_take_is_tried_again_by_the_next_reader() -> None:
    index = Index()
    index.gate.release(9)
    index.takes = False
    logs = indexing(index)
    logs.soon("a", None)
    assert await logs.drain()
    assert logs.is_behind
    index.fault = StorageFailed("x", "locked", "Wait.")
    await logs.drain()
    assert logs.is_behind
    index.fault, index.takes = None, True
    await logs.drain()
    assert not logs.is_behind
    tried = [path for path, _ in index.followed]
    assert tried == ["a", "what is dirty", "what is dirty", "what is dirty"]
    await logs.drain()
    assert index.followed[4:] == []


async def test_what_begins_afterwards_is_in_no_hurry(tmp_path: Path) -> None:
    """Or vectors that were paid for would be lost to a lock that is held for a moment."""
    index, left = Index(), list[float]()
    index.gate.release(9)
    locks = WorkspaceLocks(Workspace(tmp_path))
    logs = LogIndexing(
        cast("Vault", index),
        at_most=locks.at_most,
        patience_seconds=5,
        on_failure=FailureLog().report,
        after=lambda: left.append(seconds_left(60)),
    )
    with locks.at_most(0):  # as a recording is
        logs.soon("a", None)
    await logs.drain()
    assert left == [60]


async def test_patience_begins_with_the_first_append_that_waits(tmp_path: Path) -> None:
    left = list[float]()

    class Patient(Index):
        def log_changed(self, path: str, written: Extension | None = None) -> bool:
            left.append(seconds_left(60))
            return super().log_changed(path, written)

    index = Patient()
    logs = LogIndexing(
        cast("Vault", index),
        at_most=WorkspaceLocks(Workspace(tmp_path)).at_most,
        patience_seconds=5,
        on_failure=FailureLog().report,
        after=index.tell,
    )
    logs.soon("a", None)
    while not index.at_work.is_set():
        assert not await logs.drain(0)
    begun = time.monotonic()
    logs.soon("b", None)
    while time.monotonic() == begun:
        pass
    index.gate.release(9)
    await logs.drain()
    assert left[1] < 5  # it does not begin anew when the work on the first has ended


async def test_a_program_that_ends_is_told_in_the_failures() -> None:
    index, failures = Index(), FailureLog()
    logs = indexing(index, failures)
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor()
    loop.set_default_executor(threads)
    threads.shutdown()
    logs.soon("a", None)
    assert await logs.drain()
    assert failures.counts == {"index": 1}
    loop.set_default_executor(ThreadPoolExecutor())
    index.gate.release()
    assert await logs.drain()  # it was not ending after all
    assert (index.followed, failures.counts) == ([("a", None)], {"index": 1})


async def test_a_fault_while_it_is_tried_again_is_told_and_ends_nothing() -> None:
    index, failures = Index(), FailureLog()
    index.gate.release(9)
    index.takes = False
    logs = indexing(index, failures)
    logs.soon("a", None)
    assert await logs.drain()
    assert logs.is_behind
    index.fault = BadInput("x", "no", "Do not.")
    assert await logs.drain()
    assert failures.counts == {"index": 1}
    assert logs.is_behind
