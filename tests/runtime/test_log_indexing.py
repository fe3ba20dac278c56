"""What was appended while the index was at work is brought in together, and everything once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import cast

from agentscope_reme.errors import BadInput, Closed
from agentscope_reme.files.growing_file import Extension, FileMark
from agentscope_reme.runtime import FailureLog
from agentscope_reme.runtime.log_indexing import LogIndexing
from agentscope_reme.vault.vault import Vault

Followed = list[tuple[str, Extension | None]]


class Index:
    """Stands where the vault stands; it takes as many logs as its gate was opened for."""

    def __init__(self) -> None:
        self.followed: Followed = []
        self.at_work = threading.Event()
        self.gate = threading.Semaphore(0)
        self.fault: Exception | None = None
        self.told = 0

    def log_changed(self, path: str, written: Extension | None = None) -> bool:
        self.followed.append((path, written))
        self.at_work.set()
        assert self.gate.acquire(timeout=10)
        if self.fault is not None:
            raise self.fault
        return True

    def tell(self) -> None:
        self.told += 1


def indexing(index: Index, failures: FailureLog | None = None) -> LogIndexing:
    return LogIndexing(
        cast("Vault", index),
        hurry=nullcontext,
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


async def test_work_that_somebody_cancelled_is_taken_up_with_the_next() -> None:
    index = Index()
    logs = await waiting_behind_one(index)
    logs.soon("b", None)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
        await asyncio.wait({task})
    index.gate.release(9)
    logs.soon("c", None)
    assert await logs.drain()
    assert [path for path, _ in index.followed] == ["a", "b", "c"]


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
