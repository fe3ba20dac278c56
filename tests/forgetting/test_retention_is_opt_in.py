"""Nothing goes by its age unless a rule says so; then it goes the way of `forget`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import FakeClock
from tests.forgetting.life import leaks

RULE = Settings(
    watch=False, fsync=False, forget_after_days={"session": 30, "daily": 60, "resource": 10}
)
OLD_CARD = "daily/2026-04-01/old.md"


async def fill(reme: ReMe) -> None:
    for day, session in (("2026-04-01", "old"), ("2026-06-01", "recent")):
        said = {"role": "user", "content": f"Said zeta-{session}.", "id": f"m-{session}"}
        await reme.record(session, [{**said, "created_at": f"{day}T10:00:00"}], distil=False)
        await reme.write(
            f"daily/{day}/{session}.md",
            f"# Card\n\nNoted eta-{session}.\n",
            metadata={"session_id": session},
        )
        await reme.write(f"resource/{day}/{session}.txt", f"Text theta-{session}.")
    await reme.write("digest/wiki/node.md", f"Learnt iota-old.\n\n## Sources\n\n- [[{OLD_CARD}]]\n")


async def test_without_a_rule_nothing_is_ever_too_old(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    async with open_memory() as reme:
        await fill(reme)
        clock.advance(days=5000)
        result = await reme.retention(dry_run=False)
        assert result.parts == []
        assert "No rule" in result.answer
        assert (await reme.search("zeta-old")).hits


async def test_a_rule_shows_first_what_is_too_old(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(settings=RULE) as reme:
        await fill(reme)
        shown = await reme.retention()
        reasons = {part.path: part.reason for part in shown.parts}
        assert reasons[OLD_CARD] == "older than 60 days"
        assert reasons["resource/2026-04-01/old.txt"] == "older than 10 days"
        assert "(named)" not in shown.answer
        assert {(part.layer, part.path) for part in shown.parts} == {
            ("turn", "session/dialog/old.jsonl"),
            ("card", OLD_CARD),
            ("resource", "resource/2026-04-01/old.txt"),
            ("resource", "resource/2026-06-01/recent.txt"),
            ("link", "digest/wiki/node.md"),
        }
        assert (await reme.search("zeta-old")).hits


async def test_raw_material_goes_and_what_was_made_of_it_stays(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory(settings=RULE) as reme:
        await fill(reme)
        await reme.retention(dry_run=False)
        assert leaks(root, ["zeta-old", "eta-old", "theta-old"]) == []
        assert "iota-old" in (await reme.read("digest/wiki/node.md")).content
        assert (await reme.search("zeta-recent")).hits
        assert (await reme.search("eta-recent")).hits
        change = (await reme.history(limit=1)).changes[0]
        assert (change.actor, change.operation) == ("retention", "forget")
        assert (await reme.retention(dry_run=False)).parts == []


async def test_pinned_files_have_no_age(open_memory: Callable[..., ReMe], root: Path) -> None:
    async with open_memory(settings=RULE) as reme:
        await fill(reme)
        await reme.frontmatter_update(OLD_CARD, {"pinned": True})
        await reme.retention(dry_run=False)
        assert "eta-old" in (root / OLD_CARD).read_text()


async def test_the_card_of_a_resource_goes_with_it_and_not_before(
    open_memory: Callable[..., ReMe],
) -> None:
    rule = Settings(watch=False, fsync=False, forget_after_days={"daily": 60})
    async with open_memory(settings=rule) as reme:
        await reme.write("resource/2026-04-01/r.txt", "Text.")
        source = {"source_resource": "[[resource/2026-04-01/r.txt]]"}
        await reme.write("daily/2026-04-01/r.md", "Card.", metadata=source)
        assert (await reme.retention()).parts == []
    both = Settings(watch=False, fsync=False, forget_after_days={"daily": 60, "resource": 60})
    async with open_memory(settings=both) as reme:
        assert {part.path for part in (await reme.retention()).parts} == {
            "resource/2026-04-01/r.txt",
            "daily/2026-04-01/r.md",
        }


async def test_status_says_what_a_rule_will_do(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(settings=RULE) as reme:
        status = await reme.status()
    assert status.details["forget_after_days"] == {"session": 30, "daily": 60, "resource": 10}
    assert status.details["schedule"]["retention"]["next"] == "2026-06-21T04:00+02:00"
    assert "Forgotten by age: daily after 60 days" in status.answer


def test_a_rule_of_less_than_a_day_is_refused() -> None:
    with pytest.raises(BadInput, match="at least 1"):
        Settings(forget_after_days={"session": 0})
    with pytest.raises(BadInput, match="forget_after_days"):
        Settings(forget_after_days={"digest": 10})  # type: ignore[dict-item]
