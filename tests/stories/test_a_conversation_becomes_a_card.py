"""A conversation is saved, distilled into one daily card with its source, and found again."""

from __future__ import annotations

from collections.abc import Callable

from agentscope_reme import ReMe
from agentscope_reme.testing import ScriptedChatModel, ToolCall

TALK = [
    {
        "id": "m1",
        "role": "user",
        "content": "发布日期从 7 月 2 日改到 7 月 9 日，因为审计要多一周。",
        "created_at": "2026-06-18T10:00:00+02:00",
    },
    {
        "id": "m2",
        "role": "assistant",
        "content": "Noted: the launch moved to 9 July because of the audit.",
        "created_at": "2026-06-18T10:01:00+02:00",
    },
]

WRITE = ToolCall(
    "daily_write",
    {
        "name": "launch-date",
        "description": "The launch moved from 2 July to 9 July.",
        "content": "# Launch date\n\n- 发布日期: 2026-07-09, was 2026-07-02. Reason: audit.\n",
    },
)


async def test_the_card_is_written_named_dated_and_linked(
    open_memory: Callable[..., ReMe],
) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory(TALK, session_id="launch")
        card = (reme.workspace.root / "daily/2026-06-18/launch-date.md").read_text("utf-8")
        page = (reme.workspace.root / "daily/2026-06-18.md").read_text("utf-8")
        found = await reme.search("发布日期")
    assert result.success
    assert result.path == "daily/2026-06-18/launch-date.md"
    assert (result.created, result.pending, result.date) == (True, False, "2026-06-18")
    assert "session_id: launch" in card
    assert "[[session/dialog/launch.jsonl]]" in card
    assert "[[daily/2026-06-18/launch-date.md]]" in page
    assert found.hits[0].path == result.path
    model.assert_exhausted()


async def test_what_is_sent_to_the_model_is_the_conversation_and_one_tool(
    open_memory: Callable[..., ReMe],
) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="launch", hint="dates matter")
    asked = model.requests[0]
    assert asked.tool_names == ["daily_write"]
    assert "[user @ 2026-06-18T10:00:00+02:00] 发布日期从 7 月 2 日改到 7 月 9 日" in asked.text
    assert "Day: 2026-06-18" in asked.text
    assert "Hint: dates matter" in asked.text
    assert "You keep the daily memory of one person" in asked.text


async def test_chinese_prompts_are_sent_when_asked_for(open_memory: Callable[..., ReMe]) -> None:
    model = ScriptedChatModel(["没有需要记录的内容。"])
    async with open_memory(model, language="zh") as reme:
        result = await reme.auto_memory(TALK, session_id="launch")
    assert "你负责为一个人维护每日记忆" in model.requests[0].text
    assert "日期：2026-06-18" in model.requests[0].text
    assert (result.success, result.path, result.pending) == (True, None, False)


async def test_the_same_turns_again_cost_no_model_call(open_memory: Callable[..., ReMe]) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="launch")
    async with open_memory(model) as reme:
        again = await reme.auto_memory(TALK, session_id="launch")
    assert again.success
    assert (again.model_calls, again.created, again.modified) == (0, False, False)
    assert again.path == "daily/2026-06-18/launch-date.md"
    assert "Nothing is waiting" in again.answer
    model.assert_exhausted()


async def test_new_turns_update_the_one_card_and_lose_no_link(
    open_memory: Callable[..., ReMe],
) -> None:
    later = {
        "id": "m3",
        "role": "user",
        "content": "And the budget is 12,400 euros.",
        "created_at": "2026-06-18T11:00:00+02:00",
    }
    rewrite = ToolCall(
        "write",
        {
            "path": "daily/2026-06-18/launch-date.md",
            "name": "launch-plan",
            "description": "Launch date and budget.",
            "content": "# Launch\n\n- 9 July\n- budget 12,400 euros\n",
        },
    )
    model = ScriptedChatModel([WRITE, "Recorded.", rewrite, "Updated."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="launch")
        await reme.edit(
            "daily/2026-06-18/launch-date.md", "# Launch date", "# Launch date\n\n[[digest/x.md]]"
        )
        updated = await reme.auto_memory([*TALK, later], session_id="launch")
        folder = sorted(p.name for p in (reme.workspace.root / "daily/2026-06-18").iterdir())
        card = (reme.workspace.root / str(updated.path)).read_text("utf-8")
    assert updated.path == "daily/2026-06-18/launch-plan.md"
    assert (updated.created, updated.modified) == (False, True)
    assert folder == ["launch-plan.md"]
    assert "12,400" in card
    assert "[[digest/x.md]]" in card  # the model dropped it; the code put it under Sources
    assert "session_id: launch" in card
    second = model.requests[2]
    assert set(second.tool_names) == {"read", "edit", "frontmatter_update", "write"}
    assert "budget is 12,400" in second.text
    assert "审计要多一周" not in second.text  # only the new turn is sent again


async def test_two_sessions_with_one_topic_make_two_cards(
    open_memory: Callable[..., ReMe],
) -> None:
    model = ScriptedChatModel([WRITE, "Recorded.", WRITE, "Recorded."])
    async with open_memory(model) as reme:
        first = await reme.auto_memory(TALK, session_id="one")
        second = await reme.auto_memory(
            [{**turn, "id": f"other-{turn['id']}"} for turn in TALK], session_id="two"
        )
    assert first.path == "daily/2026-06-18/launch-date.md"
    assert second.path == "daily/2026-06-18/launch-date-2.md"


async def test_a_backlog_of_several_days_is_split_at_day_boundaries(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as reme:
        for day in ("18", "19"):
            turn = {**TALK[0], "id": f"d{day}", "created_at": f"2026-06-{day}T10:00:00+02:00"}
            saved = await reme.auto_memory([turn], session_id="launch")
            assert (saved.success, saved.pending) == (True, True)
        assert (await reme.status()).pending_sessions == ["launch"]
    model = ScriptedChatModel([WRITE, "Recorded.", WRITE, "Recorded."])
    async with open_memory(model) as reme:
        caught_up = await reme.auto_memory()
        assert (await reme.status()).pending_sessions == []
        cards = sorted(p.parent.name for p in (reme.workspace.root / "daily").glob("*/*.md"))
    assert caught_up.success
    assert cards == ["2026-06-18", "2026-06-19"]
