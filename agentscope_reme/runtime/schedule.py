"""Runs jobs once a day at a local time, in one of the processes that share a workspace.

A time of day is one of the workspace's zone. Where clocks are put forward a skipped time is due
right after the gap; where they are put back it is due the first time only. What was missed while
nothing ran is caught up once, not as often as it was missed.

``journal/checkpoints/schedule.json`` says when each job last ended; a job a crash interrupted has
no such line and is caught up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final, Literal

from agentscope_reme.clock import Clock
from agentscope_reme.errors import NotFound, ReMeError
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

PLACE: Final = "checkpoints/schedule.json"
"""Below ``journal/``."""

LONGEST_WAIT_SECONDS: Final = 60.0
"""How long to sleep at once: a machine that slept, or a clock that was set, is noticed then."""

_FUTURE: Final = timedelta(hours=1)
"""A record further ahead was made by a clock that went wrong: it must not stop a job for years."""

Wait = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class DailyJob:
    """Something to do once a day.

    Attributes:
        name: what it is called in locks, records and failures.
        at: the local time of day.
        run: does it; what it raises is reported, and it is due again the next day.
    """

    name: str
    at: time
    run: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class LastRun:
    """How a job last ended. ``new`` means that it never ran, only waits since `at`."""

    at: datetime
    outcome: Literal["new", "done", "failed"]


@dataclass(slots=True)
class Schedule:
    """The jobs of one workspace; one task owns them, and `close` awaits it.

    Args:
        jobs: what to do, and when.
        workspace: where the record is kept.
        clock: the time and the zone.
        disk: makes the record durable.
        locks: keep processes from doing a job twice.
        on_failure: called with the name of a job and what it raised; must not raise.
        wait: sleeps for some seconds; for tests.
    """

    jobs: Sequence[DailyJob]
    workspace: Workspace
    clock: Clock
    disk: Disk
    locks: WorkspaceLocks
    on_failure: Callable[[str, BaseException], None]
    wait: Wait = asyncio.sleep
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _running: str | None = field(default=None, init=False)
    _idle: asyncio.Event | None = field(default=None, init=False)

    @property
    def queued(self) -> int:
        """Jobs at work now."""
        return int(self._running is not None)

    async def start(self) -> None:
        """Begin; what was missed since the last run is done at once."""
        if self.jobs and self._task is None:
            self._task = asyncio.create_task(self._keep_time(), name="schedule")

    async def close(self) -> None:
        """Cancel what is at work and wait for the task to end; calling it again does nothing."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait until no job is at work; ``False`` when the deadline came first."""
        if self._running is None or self._idle is None:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), max(0.0, deadline_seconds))
        return self._running is None

    def last_runs(self) -> dict[str, LastRun]:
        """How every job last ended, by name; empty before the first."""
        try:
            rows: Any = json.loads(self.disk.read(self.workspace.journal / PLACE))
        except (NotFound, ValueError):
            return {}
        return {
            name: run
            for name, row in (rows.items() if isinstance(rows, dict) else ())
            if (run := _parsed(row)) is not None
        }

    def next_runs(self) -> dict[str, datetime]:
        """When every job is due next, by name."""
        now = self.clock.now()
        return {job.name: next_moment(job.at, now) for job in self.jobs}

    async def run_due(self) -> list[str]:
        """Do what is due now; returns the names of the jobs this process did."""
        return [job.name for job in self.jobs if await self._run_if_due(job)]

    async def _keep_time(self) -> None:
        while True:
            await self.run_due()
            now = self.clock.now()
            upcoming = min(self.next_runs().values())
            await self.wait(min(LONGEST_WAIT_SECONDS, max(0.0, _seconds(now, upcoming))))

    async def _run_if_due(self, job: DailyJob) -> bool:
        try:
            if not await asyncio.to_thread(self._is_due, job):
                return False
            with self.locks.claim(f"schedule {job.name}") as mine:
                if not mine or not await asyncio.to_thread(self._is_due, job):
                    return False
                await self._run(job)
                return True
        except ReMeError as error:  # the record or the lock; looked at again in a while
            self.on_failure(job.name, error)
            return False

    async def _run(self, job: DailyJob) -> None:
        began = self.clock.now()
        self._running, self._idle = job.name, asyncio.Event()
        outcome: Literal["done", "failed"] = "done"
        try:
            await job.run()
        except Exception as error:  # noqa: BLE001 - a background task is a process edge
            outcome = "failed"
            self.on_failure(job.name, error)
        finally:
            self._running = None
            self._idle.set()
        await asyncio.to_thread(self._note, job.name, LastRun(began, outcome))

    def _is_due(self, job: DailyJob) -> bool:
        now = self.clock.now()
        last = self.last_runs().get(job.name)
        if last is None or last.at - now > _FUTURE:
            # Nothing was missed before the first time; nor can a clock be believed that was wrong.
            self._note(job.name, LastRun(now, "new"))
            return False
        return last.at < latest_moment_before(job.at, now)

    def _note(self, name: str, run: LastRun) -> None:
        with self.locks.commit():
            rows = {known: _row(last) for known, last in self.last_runs().items()}
            rows[name] = _row(run)
            self.disk.replace(self.workspace.journal / PLACE, json.dumps(rows).encode() + b"\n")


def latest_moment_before(at: time, now: datetime) -> datetime:
    """The last instant, up to now, at which the clocks of a zone showed a time of day.

    Args:
        at: the local time.
        now: aware, in the zone.
    """
    for days in (0, 1, 2):
        moment = _moment(at, now, -days)
        if moment <= now:
            return moment
    raise AssertionError("one of three days in a row lies behind us")


def next_moment(at: time, now: datetime) -> datetime:
    """The first instant after now at which the clocks of a zone show a time of day."""
    for days in (0, 1, 2):
        moment = _moment(at, now, days)
        if moment > now:
            return moment
    raise AssertionError("one of three days in a row lies before us")


def _moment(at: time, now: datetime, days: int) -> datetime:
    day = now.date() + timedelta(days=days)
    local = datetime.combine(day, at, tzinfo=now.tzinfo)
    return local.astimezone(UTC).astimezone(now.tzinfo)  # over UTC: a skipped time gets a real one


def _seconds(now: datetime, then: datetime) -> float:
    return (then.astimezone(UTC) - now.astimezone(UTC)).total_seconds()


def _row(run: LastRun) -> Mapping[str, str]:
    return {"at": run.at.isoformat(timespec="seconds"), "outcome": run.outcome}


def _parsed(row: Any) -> LastRun | None:
    try:
        at = datetime.fromisoformat(row["at"])
        outcome = row["outcome"]
    except (TypeError, KeyError, ValueError):
        return None
    if at.tzinfo is None or outcome not in ("new", "done", "failed"):
        return None
    return LastRun(at, outcome)
