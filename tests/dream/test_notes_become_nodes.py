"""Daily notes become dated, linked digest nodes, in one change that can be shown and undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentscope_reme import ReMe
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import BadInput, Conflict, ModelRequired
from agentscope_reme.steps import run_workflow
from agentscope_reme.steps.dream import (
    DreamExtractStep,
    DreamFinishStep,
    DreamIntegrateStep,
    DreamTopicsStep,
)
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import documents, note
from tests.dream.models import Dreamer

Open = Callable[..., ReMe]
TEA, LAUNCH = "digest/personal/tea.md", "digest/wiki/launch.md"


async def dreamt(open_memory: Open, dreamer: Dreamer) -> None:
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        assert (await reme.auto_dream()).success


async def test_each_unit_becomes_a_node_with_date_and_source(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        card = await note(
            reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July"
        )
        result = await reme.auto_dream()
        tea = (await reme.read(TEA)).content
        found = await reme.node_search("tea")
        links = await reme.traverse(TEA)
    assert (result.success, result.pending, result.date) == (True, False, "2026-06-20")
    assert [(u.name, u.bucket, u.paths) for u in result.units] == [
        ("Tea", "personal", [card]),
        ("Launch", "wiki", [card]),
    ]
    assert [(i.unit, i.action, i.target_path) for i in result.integrated] == [
        ("Tea", "CREATE", TEA),
        ("Launch", "CREATE", LAUNCH),
    ]
    assert "- Tea: green (observed 2026-06-20)" in tea
    assert f"## Sources\n\n- [[{card}]]" in tea
    assert found.nodes[0].path == TEA
    assert card in {edge.target_path for edge in links.edges}


async def test_what_changed_is_corrected_and_the_old_stays_readable(
    open_memory: Open, clock: FakeClock
) -> None:
    dreamer = Dreamer()
    await dreamt(open_memory, dreamer)
    clock.advance(days=1)
    async with open_memory(dreamer) as reme:
        card = await note(
            reme, "2026-06-21", "news", "[personal] Tea: green", "[wiki] Launch: 9 July"
        )
        result = await reme.auto_dream()
        launch = (await reme.read(LAUNCH)).content
        tea = (await reme.read(TEA)).content
    assert [i.action for i in result.integrated] == ["CORROBORATE", "CORRECT"]
    assert "- Launch: 2 July (observed 2026-06-20, until 2026-06-21)" in launch
    assert "- Launch: 9 July (observed 2026-06-21)" in launch
    for node in (launch, tea):
        assert f"[[{card}]]" in node
        assert "[[daily/2026-06-20/talk.md]]" in node
    assert tea.count("Tea: green") == 2  # the description and the one statement


async def test_a_dream_is_one_change_that_can_be_shown_and_undone(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        before = documents(reme)
        result = await reme.auto_dream()
        [change] = [c for c in (await reme.history()).changes if c.actor == "auto_dream"]
        shown = (await reme.diff(change.change_id)).answer
        assert change.change_id == result.change_id
        assert set(change.paths) == {TEA, LAUNCH, "daily/2026-06-20/interests.yaml"}
        assert shown == result.diff
        assert "+- Launch: 2 July (observed 2026-06-20)" in shown
        await reme.undo(change.change_id)
        assert documents(reme) == before
        again = await reme.auto_dream()
    assert again.units == []  # what a person took back is not dreamt again


async def test_undo_refuses_to_lose_a_later_edit_and_names_it(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        result = await reme.auto_dream()
        await reme.edit(LAUNCH, "2 July", "3 July")
        before = documents(reme)
        with pytest.raises(Conflict, match=LAUNCH):
            await reme.undo(result.change_id)
        assert documents(reme) == before


async def test_a_dry_run_shows_the_diff_and_writes_nothing(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
        root = reme.workspace.root
        held = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
        dry = await reme.auto_dream(dry_run=True)
        now = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
        history = len((await reme.history()).changes)
        wet = await reme.auto_dream()
        assert len((await reme.history()).changes) == history + 1
    assert {p for p in held | now if held.get(p) != now.get(p) and "metadata" not in p.parts} == (
        set()
    )
    assert (dry.success, dry.dry_run, dry.change_id) == (True, True, "")
    assert dry.diff == wet.diff
    assert "nothing was written" in dry.answer


async def test_without_news_nothing_is_asked(open_memory: Open) -> None:
    dreamer = Dreamer()
    await dreamt(open_memory, dreamer)
    async with open_memory(dreamer) as reme:
        before = documents(reme)
        result = await reme.auto_dream()
        assert documents(reme) == before
    assert (result.success, result.model_calls, result.agent_runs) == (True, 0, 0)
    assert "Nothing new" in result.answer
    assert len([a for a in dreamer.asked if a.kind == "extract"]) == 1


async def test_a_dream_needs_a_model_and_says_which_argument(open_memory: Open) -> None:
    async with open_memory() as reme:
        with pytest.raises(ModelRequired, match="chat_model"):
            await reme.auto_dream()


@pytest.mark.parametrize(
    "given", [{"date": "someday"}, {"scan_days": 0}, {"max_units": 0}, {"topic_count": -1}]
)
async def test_arguments_out_of_range_are_refused(open_memory: Open, given: object) -> None:
    async with open_memory(Dreamer()) as reme:
        with pytest.raises(BadInput):
            await reme.auto_dream(**given)


async def test_the_workflow_is_a_plain_list_of_steps(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green")
        before = documents(reme)
        first = [DreamExtractStep(), DreamIntegrateStep()]
        await run_workflow(first, reme.application)
        assert documents(reme) == before  # only the last step writes
        steps = [*first, DreamTopicsStep(), DreamFinishStep()]
        result = await run_workflow(steps, reme.application)
        assert [i.target_path for i in result.integrated] == [TEA]
        assert await reme.node_search("tea")


async def test_what_the_models_are_told(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-19", "old", "[personal] Tea: green")
        await reme.auto_dream(hint="mind the tea")
        await note(reme, "2026-06-20", "talk", "[personal] Tea: black")
        await reme.auto_dream(hint="mind the tea")
    extract, _, again, integrate = dreamer.asked
    assert "You look after the long-term memory of one person." in extract.text
    assert '<card path="daily/2026-06-19/old.md">' in extract.text
    assert "Hint: mind the tea" in extract.text
    assert "daily/2026-06-19/old.md" not in again.text  # unchanged files are not sent again
    assert integrate.tools == (
        *("node_search", "read", "write", "edit", "frontmatter_read", "frontmatter_update"),
    )
    assert "until 2026-06-20" in integrate.text
    assert "Folder of a new node: digest/personal/" in integrate.text
    assert "digest/personal/tea.md | Tea | Tea: green" in integrate.text
    assert all(estimate_tokens(asked.text) < 3000 for asked in dreamer.asked)


async def test_chinese_prompts_are_sent_when_asked_for(open_memory: Open) -> None:
    class Mute(Dreamer):
        async def integrate(self, text: str, box: object) -> dict[str, str]:
            return {"action": "CREATE", "target_path": "digest/wiki/nothing.md"}

    dreamer = Mute()
    async with open_memory(dreamer, language="zh") as reme:
        await note(reme, "2026-06-20", "茶", "[personal] 茶: 绿茶")
        result = await reme.auto_dream()
    assert not result.success
    extract, first, second = dreamer.asked
    assert "你负责照看一个人的长期记忆" in extract.text
    assert "你负责照看 digest" in first.text
    assert "你的第一次尝试被拒绝" in second.text


async def test_secrets_do_not_reach_the_digest_or_the_checkpoint(open_memory: Open) -> None:
    secret = "ghp_" + "a1B2" * 10
    async with open_memory(Dreamer()) as reme:
        await note(reme, "2026-06-20", "talk", f"[wiki] Deploy: uses {secret}")
        result = await reme.auto_dream()
        root = reme.workspace.root
        kept = [*(root / "digest").rglob("*.md"), root / "journal/checkpoints/dream.jsonl"]
        assert result.success
        assert len(kept) == 2
        assert not any(secret in place.read_text("utf-8") for place in kept)
    assert secret not in result.model_dump_json()
