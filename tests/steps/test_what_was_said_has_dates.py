"""What was said in a session has the days it was said on: filters and answers go by them."""

from __future__ import annotations

from typing import Any

from agentscope_reme import ReMe
from agentscope_reme.messages import Message, TextBlock


def turn(number: int, text: str, moment: str | None) -> Message:
    return Message(
        id=str(number), role="user", name="Ann", created_at=moment, blocks=(TextBlock(text=text),)
    )


async def days(reme: ReMe, query: str, **where: Any) -> list[str | None]:
    return [hit.date for hit in (await reme.search(query, **where)).hits]


async def test_a_date_range_leaves_out_what_was_said_before_and_after(reme: ReMe) -> None:
    await reme.record("s", [turn(1, "the zebra escaped", "2020-01-05T10:00:00")], distil=False)
    assert await days(reme, "zebra") == ["2020-01-05"]
    assert await days(reme, "zebra", start_date="2030-01-01") == []
    assert await days(reme, "zebra", end_date="2019-12-31") == []
    assert await days(reme, "zebra", start_date="2020-01-05", end_date="2020-01-05") == [
        "2020-01-05"
    ]
    assert "] 2020-01-05 " in (await reme.search("zebra")).answer
    assert "| 2020-01-05" in (await reme.recall("zebra")).answer


async def test_the_days_of_a_log_are_told_apart_however_many_there_are(reme: ReMe) -> None:
    words = "the zebra " + "walked around the garden and " * 18
    turns = [turn(n, words, f"2020-01-{n:02}T10:00:00") for n in range(1, 29)]
    await reme.record("s", turns, distil=False)
    assert await days(reme, "zebra", start_date="2020-01-28", limit=1) == ["2020-01-28"]
    found = await days(reme, "zebra", start_date="2020-01-10", end_date="2020-01-12", limit=10)
    assert sorted(filter(None, found)) == ["2020-01-10", "2020-01-11", "2020-01-12"]


async def test_of_several_days_in_one_passage_the_last_within_the_range_is_shown(
    reme: ReMe,
) -> None:
    said = [turn(1, "zebra", "2020-01-05T23:59:00"), turn(2, "lion", "2020-01-06T00:01:00")]
    await reme.record("s", said, distil=False)
    assert await days(reme, "zebra") == ["2020-01-06"]
    assert await days(reme, "zebra", end_date="2020-01-05") == ["2020-01-05"]
    assert await days(reme, "zebra", start_date="2020-01-07") == []


async def test_the_name_of_a_session_is_not_its_day(reme: ReMe) -> None:
    said = [turn(1, "the zebra escaped", "2020-01-05T10:00:00")]
    await reme.record("2026-06-20", said, distil=False)
    assert await days(reme, "zebra", end_date="2020-12-31") == ["2020-01-05"]
    assert await days(reme, "zebra", start_date="2026-01-01") == []


async def test_what_is_added_to_a_log_later_has_dates_too(reme: ReMe) -> None:
    await reme.record("s", [turn(1, "zebra", "2020-01-05T10:00:00")], distil=False)
    await reme.record("s", [turn(2, "zebra", "2021-01-05T10:00:00")], distil=False)
    assert await days(reme, "zebra", start_date="2021-01-01") == ["2021-01-05"]


async def test_turns_without_a_time_pass_every_range(reme: ReMe) -> None:
    row = '{"id": "1", "role": "user", "blocks": [{"type": "text", "text": "zebra"}]}'
    folder = reme.application.components.workspace.root / "session" / "dialog"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "old.jsonl").write_text(row + "\n", "utf-8")
    await reme.reindex()
    assert await days(reme, "zebra", start_date="2030-01-01") == [None]
