"""What goes wrong with one resource is told, stops no other, and is tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.resources.conftest import Put
from tests.resources.parts import CARD, DAY, KEEPS, REPORT, WRITE

OUTSIDE = ToolCall("daily_write", {**WRITE.input, "date": "2020-01-01"})


@pytest.mark.parametrize(
    "answers",
    [
        [ConnectionError("provider is down")],
        ["The weather is fine."],
        [OUTSIDE, "Recorded."],
        [ToolCall("daily_write", {"name": 7}), "Recorded."],
    ],
    ids=["down", "garbage", "another day", "bad arguments"],
)
async def test_a_model_that_fails_costs_an_attempt_and_no_resource(
    open_memory: Callable[..., ReMe], put: Put, root: Path, answers: list[object]
) -> None:
    async with open_memory(ScriptedChatModel(answers)) as reme:
        put(f"{DAY}/report.md", "text")
        failed = await reme.auto_resource()
        status = await reme.status()
        assert not (root / "daily" / DAY).exists()
    assert (failed.success, [f.item for f in failed.failed]) == (False, [REPORT])
    assert "failed and is tried again" in failed.answer
    assert status.failures["auto_resource"] == 1
    async with open_memory(ScriptedChatModel(KEEPS)) as reme:
        again = await reme.auto_resource()
    assert (again.success, [c.path for c in again.cards]) == (True, [CARD])


async def test_every_bad_file_is_named_and_stops_no_other(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    settings = Settings(watch=False, fsync=False, max_indexed_file_bytes=2048)
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model, settings=settings) as reme:
        bad = [
            put(f"{DAY}/a-binary.md", bytes(range(256))),
            put(f"{DAY}/b-empty.txt", " \n"),
            put(f"{DAY}/c-huge.txt", "x" * 3000),
            put(f"{DAY}/d-page.html", "<script>only()</script>"),
            put(f"{DAY}/e-broken.pdf", b"%PDF-1.7 and no more"),
            put(f"{DAY}/f-broken.docx", b"PK\x03\x04nothing"),
            put(f"{DAY}/g-broken.png", b"\x89PNG\r\n\x1a\nnothing"),
            put(f"{DAY}/h-nothing.png", b"no picture at all"),
        ]
        unknown = [put(f"{DAY}/i.zip", b"PK"), put("no-day/j.md", "text")]
        put(f"{DAY}/z-good.md", "text")
        result = await reme.auto_resource()
        named = await reme.auto_resource(unknown)
    assert [f.item for f in result.failed] == bad
    assert sorted(f.item for f in result.skipped) == sorted(unknown)
    assert [c.resource for c in result.cards] == [f"resource/{DAY}/z-good.md"]
    assert all(f.item in result.answer and f.reason in result.answer for f in result.failed)
    assert [f.item for f in named.failed] == unknown  # asked for by name, it is a failure


@pytest.mark.parametrize(
    "path", ["../x.md", "daily/a.md", "resource/nowhere.md", "", "/etc/passwd"]
)
async def test_a_path_that_is_no_resource_is_told(
    open_memory: Callable[..., ReMe], put: Put, path: str
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        good = put(f"{DAY}/report.md", "text")
        result = await reme.auto_resource([path, good])
    assert [f.item for f in result.failed] == [path]
    assert [c.resource for c in result.cards] == [REPORT]


async def test_the_calls_of_a_run_are_capped_and_the_rest_waits(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    settings = Settings(watch=False, fsync=False, job_model_calls=3)
    model = ScriptedChatModel(KEEPS + KEEPS)
    async with open_memory(model, settings=settings) as reme:
        paths = [put(f"{DAY}/{name}.md", name) for name in "ab"]
        first = await reme.auto_resource()
        second = await reme.auto_resource()
    assert (first.success, first.pending, first.model_calls) == (True, paths[1:], 2)
    assert "the model calls of this run are used up" in first.answer
    assert [c.resource for c in second.cards] == paths[1:]
    assert (second.pending, second.unchanged) == ([], 1)


async def test_what_keeps_failing_does_not_starve_the_others(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    settings = Settings(watch=False, fsync=False, job_model_calls=12, agent_max_iters=12)
    model = ScriptedChatModel(["Garbage."])
    async with open_memory(model, settings=settings) as reme:
        put(f"{DAY}/a-bad.md", "text")
        good = put(f"{DAY}/b-good.md", "text")
        assert (await reme.auto_resource()).pending == [good]  # a failed run gives nothing back
    model = ScriptedChatModel([*KEEPS, "Garbage."])
    async with open_memory(model, settings=settings) as reme:
        second = await reme.auto_resource()
    assert [c.resource for c in second.cards] == [good]


async def test_a_damaged_ledger_costs_nothing_but_time(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", "text")
        await reme.auto_resource()
        ledger = root / "journal/checkpoints/resource.jsonl"
        ledger.write_bytes(b'\xff\x00 garbage\n{"path": 3}\n[]\n' + ledger.read_bytes()[:20])
        again = await reme.auto_resource()
        last = await reme.auto_resource()
    assert (again.unchanged, last.unchanged) == (1, 1)
    model.assert_exhausted()


async def test_a_model_that_says_nothing_of_a_changed_resource_is_asked_again(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    async with open_memory(ScriptedChatModel([*KEEPS, "", "It says all of it."])) as reme:
        put(f"{DAY}/report.md", "old")
        await reme.auto_resource()
        put(f"{DAY}/report.md", "new")
        silent = await reme.auto_resource()
        assert (silent.success, silent.cards) == (False, [])
        assert "said and changed nothing" in silent.failed[0].reason
        again = await reme.auto_resource()
    assert (again.success, [c.path for c in again.cards]) == (True, [CARD])


async def test_the_status_lists_what_waits(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    async with open_memory() as reme:
        assert (await reme.status()).details["pending_resources"] == []
        put(f"{DAY}/report.md", "text")
        put(f"{DAY}/archive.zip", b"PK")
        status = await reme.status()
    assert status.details["pending_resources"] == [REPORT]
    assert "1 resource(s) waiting to be read" in status.answer
    async with open_memory(ScriptedChatModel(KEEPS)) as reme:
        await reme.auto_resource()
        assert (await reme.status()).details["pending_resources"] == []
        put(f"{DAY}/report.md", "changed text")
        assert (await reme.status()).details["pending_resources"] == [REPORT]


async def test_the_answer_stays_short_however_much_waits(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    async with open_memory() as reme:
        paths = [put(f"{DAY}/{number}.md", f"text {number}") for number in range(300)]
        result = await reme.auto_resource()
    assert result.pending == sorted(paths)
    assert len(result.answer) < 1000
