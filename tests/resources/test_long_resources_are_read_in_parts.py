"""A long text reaches the model in parts, all of it, and reading goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.steps.resources.parts import end_of_part, tokens_of
from agentscope_reme.testing import ScriptedChatModel
from tests.resources.conftest import Put
from tests.resources.parts import CARD, DAY, KEEPS, REPORT, edit, quoted

SMALL = Settings(watch=False, fsync=False, auto_memory_prompt_tokens=1000)
LONG = "".join(f"Line {n} tells of panel {n * 7} and its {n} cells.\n" for n in range(250))
ANY_TEXT = st.text(st.sampled_from("a1 ,\n太か<é🙂"), min_size=1, max_size=400)


def adds(words: str) -> list[object]:
    return [edit("# Solar report", f"# Solar report\n\n{words}"), "Updated."]


def cut(text: str, budget: int) -> list[str]:
    parts, start = [], 0
    while start < len(text):
        end = end_of_part(text, start, budget)
        assert end > start
        parts.append(text[start:end])
        start = end
    return parts


@given(ANY_TEXT, st.integers(1, 60))
def test_the_parts_are_the_text_and_each_fits(text: str, budget: int) -> None:
    parts = cut(text, budget)
    assert "".join(parts) == text
    assert all(tokens_of(part) <= budget or len(part) == 1 for part in parts)


@given(st.lists(ANY_TEXT, min_size=2, max_size=20), st.integers(20, 200))
def test_a_line_that_fits_a_part_is_not_cut(lines: list[str], budget: int) -> None:
    text = "".join(line.replace("\n", " ") + "\n" for line in lines)
    for part in cut(text, budget)[:-1]:
        longest = max(tokens_of(line) for line in text.splitlines(keepends=True))
        assert part.endswith("\n") or longest > budget


@pytest.mark.parametrize("text", ["x" * 100_000, "7" * 50_000, "太" * 50_000, "<card>" * 9_000])
def test_one_endless_line_is_cut_into_few_parts(text: str) -> None:
    parts = cut(text, 2000)
    assert "".join(parts) == text
    assert len(parts) <= 2 + 2 * tokens_of(text) // 2000


async def test_every_part_is_shown_and_says_where_it_stands(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    parts = cut(LONG, 1000)
    later = [step for n in range(1, len(parts)) for step in adds(f"Part {n}.")]
    model = ScriptedChatModel([*KEEPS, *later])
    async with open_memory(model, settings=SMALL) as reme:
        put(f"{DAY}/report.md", LONG)
        result = await reme.auto_resource()
        again = await reme.auto_resource()
    assert len(parts) > 2
    asked = [request for request in model.requests if request.number % 2]
    assert [quoted(request) for request in asked] == parts
    ends = [sum(map(len, parts[: n + 1])) for n in range(len(parts))]
    assert f"Shown: characters 1 to {ends[0]} of {len(LONG)}" in asked[0].text
    assert f"Shown: characters {ends[0] + 1} to {ends[1]} of {len(LONG)}" in asked[1].text
    assert [(c.action, c.path) for c in result.cards] == [("created", CARD)]
    assert "source_progress" not in (root / CARD).read_text("utf-8")
    assert (again.unchanged, result.pending) == (1, [])


async def test_reading_goes_on_where_it_failed(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    parts = cut(LONG, 1000)
    model = ScriptedChatModel([*KEEPS, ConnectionError("down")])
    async with open_memory(model, settings=SMALL) as reme:
        put(f"{DAY}/report.md", LONG)
        failed = await reme.auto_resource()
        front = MarkdownDocument.parse((root / CARD).read_bytes()).front_matter
    assert ([c.path for c in failed.cards], [f.item for f in failed.failed]) == ([CARD], [REPORT])
    assert "source_hash" not in front
    assert front["source_progress"].endswith(f" {len(parts[0])}/{len(LONG)}")
    later = [step for n in range(1, len(parts)) for step in adds(f"Part {n}.")]
    model = ScriptedChatModel(later)
    async with open_memory(model, settings=SMALL) as reme:
        done = await reme.auto_resource()
    assert quoted(model.requests[0]) == parts[1]
    assert [(c.action, c.path) for c in done.cards] == [("updated", CARD)]
    card = (root / CARD).read_text("utf-8")
    assert ("source_progress" in card, f"Part {len(parts) - 1}." in card) == (False, True)


async def test_a_part_without_result_is_not_read_again(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    parts = cut(LONG, 1000)
    settings = SMALL.model_copy(update={"job_model_calls": 2})
    model = ScriptedChatModel(["Nothing to record."])
    async with open_memory(model, settings=settings) as reme:
        put(f"{DAY}/report.md", LONG)
        first = await reme.auto_resource()
    assert (first.success, first.pending) == (True, [REPORT])
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model, settings=settings) as reme:
        await reme.auto_resource()
    assert quoted(model.requests[0]) == parts[1]


async def test_a_version_that_changed_meanwhile_is_read_from_its_beginning(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    settings = SMALL.model_copy(update={"job_model_calls": 2})
    async with open_memory(ScriptedChatModel(KEEPS), settings=settings) as reme:
        put(f"{DAY}/report.md", LONG)
        await reme.auto_resource()
    model = ScriptedChatModel(adds("Anew."))
    async with open_memory(model, settings=settings) as reme:
        put(f"{DAY}/report.md", "Short now.")
        result = await reme.auto_resource()
    assert quoted(model.requests[0]) == "Short now."
    assert (result.pending, [c.action for c in result.cards]) == ([], ["updated"])
