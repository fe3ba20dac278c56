"""Once a day, at a local time, in one process; what was missed is caught up once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.runtime.schedule import (
    DailyJob,
    Schedule,
    latest_moment_before,
    next_moment,
)
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from agentscope_reme.workspace import Workspace

BERLIN = ZoneInfo("Europe/Berlin")
AT = time(3, 30)


class Diary:
    """Schedules over one folder that write down what they did."""

    def __init__(self, root: Path, clock: FakeClock) -> None:
        self.workspace = Workspace(root)
        self.workspace.create()
        self.clock = clock
        self.ran: list[str] = []
        self.failures: list[str] = []
        self.fails = False

    async def job(self) -> None:
        self.ran.append(self.clock.now().isoformat(timespec="minutes"))
        if self.fails:
            raise ValueError("the model is down")

    def schedule(self, run: Callable[[], Awaitable[None]] | None = None) -> Schedule:
        return Schedule(
            [DailyJob("dream", AT, run or self.job)],
            self.workspace,
            self.clock,
            Disk(fsync=False),
            WorkspaceLocks(self.workspace),
            on_failure=lambda name, error: self.failures.append(f"{name}: {error}"),
        )


@pytest.fixture
def diary(root: Path, clock: FakeClock) -> Diary:
    return Diary(root, clock)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(BERLIN)


@pytest.mark.parametrize(
    ("now", "before", "after"),
    [
        ("2026-06-20T09:30+02:00", "2026-06-20T03:30+02:00", "2026-06-21T03:30+02:00"),
        ("2026-06-20T03:30+02:00", "2026-06-20T03:30+02:00", "2026-06-21T03:30+02:00"),
        ("2026-06-20T03:29+02:00", "2026-06-19T03:30+02:00", "2026-06-20T03:30+02:00"),
        # 29 March 2026: 02:00 becomes 03:00; 25 October 2026: 03:00 becomes 02:00
        ("2026-03-28T12:00+01:00", "2026-03-28T03:30+01:00", "2026-03-29T03:30+02:00"),
        ("2026-10-25T12:00+01:00", "2026-10-25T03:30+01:00", "2026-10-26T03:30+01:00"),
    ],
)
def test_a_time_of_day_is_one_of_the_zone(now: str, before: str, after: str) -> None:
    assert latest_moment_before(AT, at(now)) == datetime.fromisoformat(before)
    assert next_moment(AT, at(now)) == datetime.fromisoformat(after)


def test_a_skipped_time_is_due_after_the_gap_and_a_repeated_one_once() -> None:
    half_past_two = time(2, 30)
    assert next_moment(half_past_two, at("2026-03-29T01:00+01:00")) == at("2026-03-29T03:30+02:00")
    first = at("2026-10-25T02:30+02:00")
    assert next_moment(half_past_two, at("2026-10-25T00:00+02:00")) == first
    assert latest_moment_before(half_past_two, at("2026-10-25T02:45+01:00")) == first
    assert next_moment(half_past_two, first) == at("2026-10-26T02:30+01:00")


async def test_a_new_schedule_catches_nothing_up(diary: Diary) -> None:
    schedule = diary.schedule()
    assert await schedule.run_due() == []
    diary.clock.advance(hours=17, minutes=59)
    assert await schedule.run_due() == []
    diary.clock.advance(minutes=1)
    assert await schedule.run_due() == ["dream"]
    assert await schedule.run_due() == []
    assert diary.ran == ["2026-06-21T03:30+02:00"]
    last = schedule.last_runs()["dream"]
    assert (last.at, last.outcome) == (at("2026-06-21T03:30+02:00"), "done")


async def test_a_clock_that_went_wrong_stops_nothing_for_years(diary: Diary) -> None:
    right = FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")
    await diary.schedule().run_due()
    diary.clock.advance(days=3650)
    assert await diary.schedule().run_due() == ["dream"]
    diary.clock = right
    assert await diary.schedule().run_due() == []
    right.advance(days=1)
    assert await diary.schedule().run_due() == ["dream"]


async def test_a_clock_that_is_set_back_a_little_runs_nothing_twice(diary: Diary) -> None:
    await diary.schedule().run_due()
    diary.clock = FakeClock("2026-06-21T03:30:10", timezone="Europe/Berlin")
    assert await diary.schedule().run_due() == ["dream"]
    diary.clock = FakeClock("2026-06-21T03:29:00", timezone="Europe/Berlin")
    assert await diary.schedule().run_due() == []
    diary.clock.advance(minutes=2)
    assert await diary.schedule().run_due() == []


async def test_what_was_missed_is_caught_up_once(diary: Diary) -> None:
    await diary.schedule().run_due()
    diary.clock.advance(days=5)
    again = diary.schedule()
    assert await again.run_due() == ["dream"]
    assert await again.run_due() == []
    assert len(diary.ran) == 1


async def test_two_processes_run_it_once(diary: Diary) -> None:
    schedules = [diary.schedule(), diary.schedule()]
    for schedule in schedules:
        await schedule.run_due()
    diary.clock.advance(days=1)
    assert await asyncio.gather(*(s.run_due() for s in schedules)) in (
        [["dream"], []],
        [[], ["dream"]],
    )
    assert len(diary.ran) == 1


async def test_a_failing_job_is_told_and_waits_for_the_next_day(diary: Diary) -> None:
    schedule = diary.schedule()
    await schedule.run_due()
    diary.fails = True
    diary.clock.advance(days=1)
    await schedule.run_due()
    assert await schedule.run_due() == []
    assert diary.failures == ["dream: the model is down"]
    assert schedule.last_runs()["dream"].outcome == "failed"
    diary.fails = False
    diary.clock.advance(days=1)
    assert await schedule.run_due() == ["dream"]


async def test_a_job_that_was_cut_off_is_caught_up(diary: Diary) -> None:
    started = asyncio.Event()

    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    await diary.schedule().run_due()
    diary.clock.advance(days=1)
    schedule = diary.schedule(endless)
    await schedule.start()
    await started.wait()
    assert schedule.queued == 1
    assert not await schedule.drain(0)
    await schedule.close()
    assert await diary.schedule().run_due() == ["dream"]


async def test_its_one_task_sleeps_until_the_next_time_and_ends_with_close(diary: Diary) -> None:
    slept: list[float] = []
    awake = asyncio.Event()

    async def wait(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            awake.set()
            await asyncio.Event().wait()
        diary.clock.advance(seconds)

    schedule = diary.schedule()
    schedule.wait = wait
    diary.clock.set("2026-06-21T03:28:30+02:00")
    before = len(asyncio.all_tasks())
    await schedule.start()
    await awake.wait()
    assert slept == [60.0, 30.0, 60.0]
    assert diary.ran == ["2026-06-21T03:30+02:00"]
    assert len(asyncio.all_tasks()) == before + 1
    await schedule.close()
    await schedule.close()
    assert len(asyncio.all_tasks()) == before


async def test_a_damaged_record_starts_anew(diary: Diary) -> None:
    schedule = diary.schedule()
    await schedule.run_due()
    place = diary.workspace.journal / "checkpoints/schedule.json"
    for damage in ("", "[]", '{"dream": {"at": "soon"}}', '{"dream": 3}'):
        place.write_text(damage)
        assert await schedule.run_due() == []
    diary.clock.advance(days=1)
    assert await schedule.run_due() == ["dream"]


async def test_by_default_nothing_is_scheduled(open_memory: Callable[..., ReMe]) -> None:
    before = len(asyncio.all_tasks())
    async with open_memory(ScriptedChatModel([])) as reme:
        assert (await reme.status()).details["schedule"] == {}
    assert len(asyncio.all_tasks()) == before


async def test_a_memory_dreams_at_its_time_and_says_so(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    settings = Settings(watch=False, fsync=False, dream_at="03:30")
    async with open_memory(ScriptedChatModel([]), settings=settings) as reme:
        await reme.status()
        schedule = reme._engine.schedule
        await schedule.run_due()
        clock.advance(days=1)
        assert await schedule.run_due() == ["auto_dream"]
        told = (await reme.status()).details["schedule"]["auto_dream"]
    assert told == {
        "next": "2026-06-22T03:30+02:00",
        "last": "2026-06-21T09:30:00+02:00",
        "outcome": "done",
    }


async def test_without_a_model_no_dream_is_scheduled(open_memory: Callable[..., ReMe]) -> None:
    settings = Settings(watch=False, fsync=False, dream_at="03:30")
    async with open_memory(settings=settings) as reme:
        assert (await reme.status()).details["schedule"] == {}
