"""What does not fit waits, what fails is tried again, however old it is; nothing is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import ModelFailed
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import documents, note
from tests.dream.models import CARD, Dreamer, Toolbox

Open = Callable[..., ReMe]
DAY = "2026-06-20"


def facts(count: int) -> list[str]:
    return [f"[wiki] Subject{n:03d}: value number {n}" for n in range(count)]


def nodes(reme: ReMe) -> list[str]:
    return sorted(path for path in documents(reme) if path.startswith("digest/"))


async def test_units_above_the_cap_wait_for_the_next_run(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", *facts(8))
        first = await reme.auto_dream()
        assert (await reme.status()).details["dream"] == {"units": 3, "files": 0}
    async with open_memory(dreamer) as reme:
        second = await reme.auto_dream()
        third = await reme.auto_dream()
        assert len(nodes(reme)) == 8
    assert (len(first.integrated), len(second.integrated), len(third.units)) == (5, 3, 0)
    assert (first.pending, second.pending) == (True, False)
    assert first.carried == ["Subject005", "Subject006", "Subject007"]
    assert [a.kind for a in dreamer.asked].count("extract") == 1
    assert first.agent_runs == 6


async def test_nothing_new_is_read_while_waiting_units_fill_the_run(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", *facts(8))
        await reme.auto_dream(max_units=2)
        card = await note(reme, DAY, "more", "[personal] Tea: green")
        second = await reme.auto_dream(max_units=2)
        assert card in second.carried
        while (await reme.auto_dream(max_units=2)).pending:
            pass
        assert len(nodes(reme)) == 9


class FailsOnce(Dreamer):
    """The provider is down in the first dream."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    async def extract(self, text: str) -> dict[str, Any]:
        if self.kind == "extract":
            raise ModelFailed("m", "the provider is down", "Later.")
        return await super().extract(text)

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        if self.kind == "integrate":
            raise ModelFailed("m", "the provider is down", "Later.")
        return await super().integrate(text, box)


@pytest.mark.parametrize("kind", ["extract", "integrate"])
async def test_failures_are_tried_again_long_after_the_window(
    open_memory: Open, clock: FakeClock, kind: str
) -> None:
    dreamer = FailsOnce(kind)
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        before = documents(reme)
        failed = await reme.auto_dream(topic_count=0)
        assert documents(reme) == before
        assert (await reme.status()).failures == {"auto_dream": 1}
        for _ in range(3):
            clock.advance(days=30)
            failed = await reme.auto_dream(topic_count=0)
            assert not failed.success
        clock.advance(days=30)
        dreamer.kind = ""
        result = await reme.auto_dream()
        node = (await reme.read("digest/personal/tea.md")).content
    assert (failed.success, failed.pending) == (False, True)
    assert "the provider is down" in failed.failed[0].reason
    assert (result.success, result.pending) == (True, False)
    assert f"(observed {DAY})" in node  # when it was noted, not when it was understood


async def test_one_malformed_unit_costs_itself_only(open_memory: Open) -> None:
    class Sloppy(Dreamer):
        async def extract(self, text: str) -> dict[str, Any]:
            answer = await super().extract(text)
            bad = [
                {"name": "x", "summary": "y", "bucket": "cellar", "paths": ["no.md"]},
                {"name": "x", "summary": "y", "bucket": "wiki", "paths": ["no.md"]},
                "text",
            ]
            return {**answer, "units": [*answer["units"], *bad]}

    dreamer = Sloppy()
    async with open_memory(dreamer) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        other = await note(reme, DAY, "walk", "nothing of note")
        result = await reme.auto_dream()
        assert nodes(reme) == ["digest/personal/tea.md"]
        assert not result.success
        assert [failure.item for failure in result.failed] == [card, other]
        assert "bucket" in result.failed[0].reason
        again = await reme.auto_dream()  # all are read again, once
        assert [(i.action, i.unit) for i in again.integrated] == [("CORROBORATE", "Tea")]
        last = await reme.auto_dream()
    assert [failure.item for failure in last.failed] == [other]  # no unit speaks of it
    assert other in dreamer.asked[-1].text
    assert card not in dreamer.asked[-1].text


async def test_a_model_that_never_answers_is_given_up(open_memory: Open) -> None:
    class Mute(Dreamer):
        async def extract(self, text: str) -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    settings = Settings(watch=False, fsync=False, agent_deadline_seconds=0.05)
    async with open_memory(Mute(), settings=settings) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        result = await reme.auto_dream()
    assert [failure.item for failure in result.failed] == [card]
    assert "no answer after 0.05 seconds" in result.failed[0].reason


async def test_paths_that_were_not_given_are_no_sources(open_memory: Open) -> None:
    class Inventor(Dreamer):
        async def extract(self, text: str) -> dict[str, Any]:
            answer = await super().extract(text)
            for unit in answer["units"]:
                unit["paths"] = [
                    f"[[{unit['paths'][0]}]]",
                    "daily/2026-06-20/invented.md",
                    "/etc/x",
                ]
            return answer

    async with open_memory(Inventor()) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        result = await reme.auto_dream()
    assert [unit.paths for unit in result.units] == [[card]]
    assert result.success


@pytest.mark.parametrize("answer", [{}, {"units": "all"}, {"units": None}, {"topics": []}])
async def test_an_answer_of_another_kind_is_a_failure_and_no_order_to_delete(
    open_memory: Open, answer: dict[str, Any]
) -> None:
    class Garbled(Dreamer):
        async def structured(self, messages: Any, output: Any) -> Any:
            from pydantic import ValidationError

            try:
                return output.model_validate(answer)
            except ValidationError as error:
                raise ModelFailed(answer, f"not an answer: {error}", "Again.") from error

    async with open_memory(Dreamer()) as reme:
        await note(reme, "2026-06-19", "talk", "[personal] Tea: green")
        await reme.auto_dream()
    async with open_memory(Garbled()) as reme:
        await note(reme, DAY, "news", "[personal] Tea: black")
        before = documents(reme)
        result = await reme.auto_dream()
        assert documents(reme) == before
    assert (result.success, result.pending) == (False, True)


async def test_long_files_are_read_in_parts_and_every_line_is_shown(open_memory: Open) -> None:
    dreamer = Dreamer()
    settings = Settings(watch=False, fsync=False, dream_prompt_tokens=4000)
    lines = [f"Line {n} of a long day with {n * 7} steps and {n * 3} birds." for n in range(700)]
    async with open_memory(dreamer, settings=settings) as reme:
        card = await note(reme, DAY, "long", *lines)
        short = await note(reme, DAY, "short", "One line more.")
        runs = 1
        result = await reme.auto_dream()
        while result.pending:
            assert result.success
            result = await reme.auto_dream()
            runs += 1
            assert runs < 40
        text = (await reme.read(card)).content
    shown = "".join(body for asked in dreamer.asked for path, body in CARD.findall(asked.text))
    assert runs > 3
    assert all(line in shown for line in lines)
    assert shown.count("Line 17 of") == 1
    assert "One line more." in shown
    assert all(estimate_tokens(asked.text) <= 4000 for asked in dreamer.asked)
    assert text  # untouched
    assert short


async def test_a_line_longer_than_a_prompt_is_cut_and_goes_on(open_memory: Open) -> None:
    dreamer = Dreamer()
    settings = Settings(watch=False, fsync=False, dream_prompt_tokens=4000)
    async with open_memory(dreamer, settings=settings) as reme:
        await note(reme, DAY, "long", "字" * 12000 + "END")
        while (await reme.auto_dream()).pending:
            assert len(dreamer.asked) < 40
    assert "END" in dreamer.asked[-1].text


async def test_old_notes_are_outside_the_window_unless_dreaming_paused(
    open_memory: Open, clock: FakeClock
) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-01", "old", "[wiki] Old: matter")
        await note(reme, "2026-06-19", "new", "[wiki] New: matter")
        first = await reme.auto_dream()
        assert [unit.name for unit in first.units] == ["New"]
        wide = await reme.auto_dream(scan_days=30)
        assert [unit.name for unit in wide.units] == ["Old"]
        clock.advance(days=5)  # the machine was off for some days
        await note(reme, "2026-06-22", "meanwhile", "[wiki] Meanwhile: matter")
        late = await reme.auto_dream()
    assert [unit.name for unit in late.units] == ["Meanwhile"]


async def test_a_note_that_grew_is_read_again_and_makes_no_second_node(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        await reme.auto_dream()
        await reme.edit(card, "- [personal] Tea: green", "- [personal] Tea: green\n- a line more")
        before = (await reme.read("digest/personal/tea.md")).content
        result = await reme.auto_dream()
        assert (await reme.read("digest/personal/tea.md")).content == before
    assert [(i.action, i.target_path) for i in result.integrated] == [
        ("CORROBORATE", "digest/personal/tea.md")
    ]
    assert (result.success, result.change_id) == (True, "")


async def test_notes_that_were_deleted_owe_nothing(open_memory: Open) -> None:
    dreamer = FailsOnce("integrate")
    async with open_memory(dreamer) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        assert not (await reme.auto_dream()).success
        await reme.delete(card)
        result = await reme.auto_dream()
    assert (result.success, result.pending, result.units) == (True, False, [])


async def test_recalled_memory_in_a_note_is_not_extracted_again(open_memory: Open) -> None:
    dreamer = Dreamer()
    quoted = '<recalled-memory note="n">\n- [wiki] Echo: of a node\n</recalled-memory>'
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", f"[personal] Tea: green\n\n{quoted}\n")
        result = await reme.auto_dream()
    assert [unit.name for unit in result.units] == ["Tea"]
    assert "Echo" not in dreamer.asked[0].text


async def test_words_a_person_adds_to_the_index_page_of_a_day_are_read(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "nothing of note")
        page = f"daily/{DAY}.md"
        text = (await reme.read(page)).content
        await reme.write(page, f"{text}\n- [personal] Tea: green\n")
        result = await reme.auto_dream()
        assert [unit.paths for unit in result.units] == [[page]]
        await note(reme, DAY, "other", "nothing of note either")  # the list on the page grows
        await reme.auto_dream()
    assert f'path="{page}"' not in dreamer.asked[-1].text


async def test_the_call_budget_of_a_job_leaves_the_rest_waiting(open_memory: Open) -> None:
    settings = Settings(watch=False, fsync=False, job_model_calls=9, agent_max_iters=4)
    async with open_memory(Dreamer(), settings=settings) as reme:
        await note(reme, DAY, "talk", *facts(5))
        result = await reme.auto_dream()
    assert result.success
    assert result.pending
    assert result.model_calls <= 9
    assert 1 <= len(result.integrated) < 5


async def test_a_dream_on_a_day_that_never_was_hides_no_later_pause(
    open_memory: Open, clock: FakeClock
) -> None:
    """The clock of the machine stood years ahead once."""
    dreamer = Dreamer()
    clock.advance(days=1500)
    async with open_memory(dreamer) as reme:
        await reme.auto_dream()
    clock.advance(days=-1500)
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green")
        await reme.auto_dream()
        clock.advance(days=10)
        await note(reme, "2026-06-23", "more", "[personal] Cat: Tom")
        result = await reme.auto_dream()
    assert [one.unit for one in result.integrated] == ["Cat"]


async def test_the_answer_stays_short_however_much_waits(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        folder = reme.workspace.root / "daily/2026-06-20"
        folder.mkdir(parents=True)
        for number in range(300):
            (folder / f"n{number}.md").write_text(f"- [wiki] Topic {number}: {'long ' * 50}\n")
        result = await reme.auto_dream()
    assert len(result.carried) > 100
    assert len(result.answer) < 4000
    assert f"{len(result.carried) - 10} more" in result.answer


async def test_waiting_units_outlive_a_reading_of_other_notes(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        await note(reme, DAY, "talk", *facts(8))
        await reme.auto_dream()
        await note(reme, DAY, "more", "[personal] Tea: green")
        await reme.auto_dream()
        assert len(nodes(reme)) == 9
