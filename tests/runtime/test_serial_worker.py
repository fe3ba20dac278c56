"""Background jobs run one by one, fold by key, and leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agentscope_reme.errors import Closed
from agentscope_reme.runtime import FailureLog, SerialWorker


class Story:
    """Jobs that write down when they begin and end, and can be held at a gate."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.gate = asyncio.Event()

    def job(self, name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            self.events.append(f"begin {name}")
            await self.gate.wait()
            self.events.append(f"end {name}")

        return run


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_jobs_run_in_order_and_never_overlap() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    for name in "abc":
        worker.submit(name, story.job(name))
    await _turns()
    assert story.events == ["begin a"]
    assert (worker.queued, worker.running) == (3, "a")

    story.gate.set()
    assert await worker.drain(5)
    assert story.events == ["begin a", "end a", "begin b", "end b", "begin c", "end c"]
    assert (worker.queued, worker.running) == (0, None)


async def test_waiting_jobs_with_one_key_fold_and_the_newest_runs() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    worker.submit("first", story.job("first"))
    await _turns()
    assert worker.submit("session", story.job("old"))
    assert not worker.submit("session", story.job("new"))
    assert worker.queued == 2

    story.gate.set()
    await worker.drain(5)
    assert story.events == ["begin first", "end first", "begin new", "end new"]


async def test_the_key_of_the_running_job_may_wait_again() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    worker.submit("session", story.job("one"))
    await _turns()
    assert worker.submit("session", story.job("two"))
    story.gate.set()
    await worker.drain(5)
    assert story.events == ["begin one", "end one", "begin two", "end two"]


async def test_a_failing_job_is_reported_and_the_next_one_runs() -> None:
    failures = FailureLog()
    worker, story = SerialWorker("auto_memory", on_failure=failures.report), Story()
    story.gate.set()

    async def broken() -> None:
        raise RuntimeError("no model")

    worker.submit("a", broken)
    worker.submit("b", story.job("b"))
    assert await worker.drain(5)
    assert failures.last == {"auto_memory": "RuntimeError: no model (job 'a')"}
    assert story.events == ["begin b", "end b"]


async def test_a_job_whose_own_task_was_cancelled_does_not_end_the_worker() -> None:
    failures = FailureLog()
    worker, story = SerialWorker("jobs", on_failure=failures.report), Story()
    story.gate.set()

    async def waits_for_a_cancelled_task() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(3600))
        inner.cancel()
        await inner

    worker.submit("a", waits_for_a_cancelled_task)
    worker.submit("b", story.job("b"))
    assert await worker.drain(5)
    assert failures.counts == {"jobs": 1}
    assert story.events == ["begin b", "end b"]


async def test_drain_stops_waiting_at_its_deadline_and_leaves_the_jobs_running() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    worker.submit("a", story.job("a"))
    assert not await worker.drain(0)
    story.gate.set()
    assert await worker.drain(5)
    assert story.events == ["begin a", "end a"]


async def test_drain_waits_for_jobs_that_arrive_meanwhile() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    story.gate.set()

    async def submits_another() -> None:
        worker.submit("b", story.job("b"))

    worker.submit("a", submits_another)
    assert await worker.drain(5)
    assert story.events == ["begin b", "end b"]


async def test_a_job_that_drains_its_own_worker_does_not_hang() -> None:
    worker = SerialWorker("jobs", on_failure=FailureLog().report)
    answers: list[bool] = []

    async def drains() -> None:
        answers.append(await worker.drain(5))

    worker.submit("a", drains)
    assert await worker.drain(5)
    assert answers == [False]


async def test_close_cancels_what_is_left_names_it_and_leaves_no_task() -> None:
    failures = FailureLog()
    worker, story = SerialWorker("jobs", on_failure=failures.report), Story()
    before = asyncio.all_tasks()
    for name in "abc":
        worker.submit(name, story.job(name))
    await _turns()

    assert await worker.close() == ["a", "b", "c"]
    assert story.events == ["begin a"]
    assert "closed before these jobs were done" in failures.last["jobs"]
    assert asyncio.all_tasks() == before
    assert await worker.close() == []
    with pytest.raises(Closed, match="is closed"):
        worker.submit("d", story.job("d"))


async def test_an_idle_worker_has_no_task() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()
    before = asyncio.all_tasks()
    story.gate.set()
    worker.submit("a", story.job("a"))
    await worker.drain(5)
    assert asyncio.all_tasks() == before
    assert await worker.drain(0)
    assert await worker.close() == []


async def test_a_job_that_swallows_its_cancellation_is_the_last_one() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            story.events.append("swallowed")

    worker.submit("a", stubborn)
    worker.submit("b", story.job("b"))
    await _turns()
    assert await worker.close() == ["a", "b"]
    assert story.events == ["swallowed"]


async def test_a_job_that_closes_its_own_worker_is_the_last_one() -> None:
    worker, story = SerialWorker("jobs", on_failure=FailureLog().report), Story()

    async def closes() -> None:
        story.events.append(f"left: {await worker.close()}")

    worker.submit("a", closes)
    worker.submit("b", story.job("b"))
    await _turns()
    assert story.events == ["left: ['a', 'b']"]
    assert worker.queued == 0
