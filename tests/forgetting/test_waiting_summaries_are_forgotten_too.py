"""Conversations that wait in ``journal/summaries/`` are copies of what was said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Message, ReMe, ReMeError
from agentscope_reme.files.summary_records import CLAIM, SummaryRecord, record_place
from tests.forgetting.life import LOG, SECRETS, TALK, leaks

OTHER = {"id": "s1", "role": "user", "content": "Lunch is at noon."}


def wait(reme: ReMe, name: str, *rows: dict[str, Any]) -> Path:
    """A summary task as a CoPaw-style host leaves it."""
    place = record_place(reme.workspace, name)
    place.parent.mkdir(exist_ok=True)
    messages = tuple(Message.from_dict(row) for row in rows)
    place.write_bytes(SummaryRecord("2026-06-20", 3, messages).dump())
    return place


def left_in(place: Path) -> list[str]:
    return [row["id"] for row in json.loads(place.read_text())["messages"]]


async def test_turns_of_a_forgotten_session_leave_them(lived: ReMe, root: Path) -> None:
    copied = {**TALK[1], "id": "another id"}
    mixed = wait(lived, "1", TALK[1], OTHER, copied)
    alone = wait(lived, "2", *TALK)
    shown = await lived.forget(path=LOG)
    assert [p.path for p in shown.parts if p.layer == "summary"] == [
        *["journal/summaries/1.json"] * 2,
        *["journal/summaries/2.json"] * 2,
    ]
    await lived.forget(path=LOG, dry_run=False)
    assert leaks(root) == []
    assert left_in(mixed) == ["s1"]
    assert json.loads(mixed.read_text())["attempts"] == 3
    assert not alone.exists()


async def test_a_query_finds_what_stands_nowhere_else(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory() as reme:
        place = wait(reme, "1", *TALK, OTHER)
        for word in SECRETS:
            await reme.forget(query=word, dry_run=False)
        assert leaks(root) == []
        assert left_in(place) == ["s1"]


async def test_an_unreadable_record_that_holds_it_goes(lived: ReMe, root: Path) -> None:
    place = wait(lived, "1", OTHER)
    place.write_text('{"messages": [{"text": "the locker Quetzalcoatlus')
    await lived.forget(path=LOG, dry_run=False)
    assert leaks(root) == []
    assert not place.exists()


async def test_records_that_hold_nothing_of_it_stay(lived: ReMe) -> None:
    place = wait(lived, "1", OTHER)
    before = place.read_bytes()
    await lived.forget(path=LOG, dry_run=False)
    assert place.read_bytes() == before


async def test_nothing_is_forgotten_while_a_summary_is_written(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as first:
        settings = first.settings.model_copy(update={"lock_patience_seconds": 0.05})
    async with open_memory(settings=settings) as reme:
        await reme.write("digest/wiki/x.md", "The locker is blue.")
        with (
            reme.application.components.locks.claim(CLAIM),
            pytest.raises(ReMeError, match="a model is at work"),
        ):
            await reme.forget(path="digest/wiki/x.md", dry_run=False)
        await reme.forget(path="digest/wiki/x.md", dry_run=False)
