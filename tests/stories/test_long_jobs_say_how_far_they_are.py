"""Whoever listens hears how far a long job is; nobody else notices."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.progress import Progress, followed, listening, report_progress
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import note
from tests.dream.models import Dreamer

QUIET = Settings(watch=False, fsync=False)


async def test_every_long_job_counts_what_it_does(tmp_path: Path) -> None:
    clock = FakeClock("2026-06-20T23:00:00", timezone="Europe/Berlin")
    told: list[Progress] = []
    async with ReMe(tmp_path, settings=QUIET, clock=clock) as reme:
        for name in ("a", "b", "c"):
            await reme.write(f"digest/wiki/{name}.md", f"card {name}")
            await reme.record(name, [{"role": "user", "content": "hello"}])
            place = tmp_path / f"resource/2026-06-20/{name}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(name, encoding="utf-8")
        with listening(told.append):
            await reme.reindex("digest")
            await reme.auto_memory()
            await reme.auto_resource()
    for what in ("sessions", "resources"):
        assert [p.done for p in told if p.what == what] == [0, 1, 2, 3]
    assert {p.total for p in told if p.what in ("sessions", "resources")} == {3}
    files = [p for p in told if p.what == "files"]
    assert Progress(3, 3, "files") in files


async def test_a_dream_counts_its_units(tmp_path: Path) -> None:
    clock = FakeClock("2026-06-20T23:00:00", timezone="Europe/Berlin")
    told: list[Progress] = []
    async with ReMe(tmp_path, settings=QUIET, clock=clock, chat_model=Dreamer()) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        with listening(told.append):
            assert (await reme.auto_dream()).success
    assert [str(p) for p in told if p.what == "units"] == [
        "units: 0 of 2",
        "units: 1 of 2",
        "units: 2 of 2",
    ]


async def test_two_jobs_at_once_are_told_apart() -> None:
    async def job(total: int) -> list[int]:
        seen: list[Progress] = []
        with listening(seen.append):
            for _ in followed(range(total), "files"):
                await asyncio.sleep(0)
                await asyncio.to_thread(report_progress, total, total, "threads")
        return [p.total for p in seen]

    one, two = await asyncio.gather(job(2), job(3))
    assert (set(one), set(two)) == ({2}, {3})


def test_nothing_is_told_where_nobody_listens_or_nothing_is_to_do() -> None:
    told: list[Progress] = []
    report_progress(1, 2, "files")
    with listening(told.append):
        assert list(followed([], "files")) == []
    report_progress(1, 2, "files")
    assert told == []
