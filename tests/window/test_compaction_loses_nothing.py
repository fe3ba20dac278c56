"""Compaction in front of a reply: what goes, what stays, what the user sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.memory import InMemoryMemory, MemoryBase
from agentscope.message import Msg
from agentscope.token import CharTokenCounter
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe, ReMeMemory, Settings
from agentscope_reme.errors import BadInput, ModelFailed
from agentscope_reme.hooks import MemoryCompactionHook
from tests.window.parts import CHECKPOINT, LONG, WORDS, Writer, answer, call, friday, talk

QUIET = Settings(watch=False, fsync=False, record_every_turns=1000)
STARTED = "🔄 Context compaction started..."
COMPLETED = "✅ Context compaction completed"
FAILED = "⚠️ Context compaction failed."
SKIPPED = "✅ Context compaction skipped"

Open = Callable[..., ReMe]


@pytest.fixture
def open_memory(tmp_path: Path) -> Open:
    def opened(writer: Writer | None = None, **options: Any) -> ReMe:
        return ReMe(tmp_path, chat_model=writer, settings=QUIET, **options)

    return opened


KINDS = ["ReMeMemory", "InMemoryMemory"]


def memory_of(kind: str, reme: ReMe) -> MemoryBase:
    return ReMeMemory(reme, "s") if kind == "ReMeMemory" else InMemoryMemory()


def state(agent: ReActAgent) -> str:
    return json.dumps(agent.memory.state_dict())


def summary_of(agent: ReActAgent) -> str:
    return str(agent.memory.state_dict()["_compressed_summary"])


def logged(folder: Path, kind: str) -> list[dict[str, Any]]:
    place = folder / "session" / kind / "s.jsonl"
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    return [row for row in rows if "role" in row]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_user_sees_that_it_happened_and_what_was_kept(
    kind: str, open_memory: Open, tmp_path: Path
) -> None:
    writer = Writer()
    async with open_memory(writer) as reme:
        agent, model, printed = friday(memory_of(kind, reme), ["ok"])
        said = await talk(agent)
        hook = MemoryCompactionHook(reme, 400, session_id="s", record=True)
        agent.register_instance_hook("pre_reasoning", "compact", hook)

        await agent(Msg("user", "And now?", "user"))

        assert printed[:2] == [STARTED, COMPLETED]
        assert printed[2].startswith("Kept ")
        assert "session/agentscope/s.jsonl" in printed[2]
        assert CHECKPOINT in printed[2]
        assert len(printed) == 3
        prompt = model.requests[0].text
        assert "## Goal\\nTea." in prompt
        assert "question 0" not in prompt
        assert "And now?" in prompt
        archived = [row["id"] for row in logged(tmp_path, "agentscope")]
        assert archived == [msg.id for msg in said[: len(archived)]]
        assert [row["id"] for row in logged(tmp_path, "dialog")] == archived


@pytest.mark.parametrize("kind", KINDS)
async def test_an_empty_summary_changes_nothing_and_is_shown(kind: str, open_memory: Open) -> None:
    async with open_memory(Writer([""])) as reme:
        agent, _, printed = friday(memory_of(kind, reme))
        await talk(agent)
        await agent.memory.update_compressed_summary("earlier")
        before = state(agent)
        hook = MemoryCompactionHook(reme, 400, session_id="s")

        await hook(agent, {})
        await hook(agent, {})

        assert state(agent) == before
        assert printed == [STARTED, FAILED] * 2
        assert (await reme.status()).failures["hook.compaction"] == 2


async def test_an_error_never_becomes_the_summary(open_memory: Open) -> None:
    async with open_memory(Writer([ModelFailed("m", "Connection error", "Wait.")])) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        before = state(agent)
        await MemoryCompactionHook(reme, 400)(agent, {})
        assert state(agent) == before
        assert printed == [STARTED, FAILED]


async def test_a_model_that_never_recovers_is_replaced_by_quotations(open_memory: Open) -> None:
    async with open_memory(Writer([ModelFailed("m", "Connection error", "Wait.")])) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        await agent.memory.update_compressed_summary("earlier")
        hook = MemoryCompactionHook(reme, 400)
        for _ in range(3):
            await hook(agent, {})
        assert printed[:5] == [STARTED, FAILED] * 2 + [STARTED]
        assert printed[5] == COMPLETED
        summary = summary_of(agent)
        assert summary.startswith("earlier")
        assert "question 0" in summary
        assert "Connection error" not in summary


async def test_a_self_introduction_is_refused_and_the_earlier_summary_stays_inside(
    open_memory: Open,
) -> None:
    async with open_memory(Writer(["I am an AI assistant, how can I help?"])) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        await agent.memory.update_compressed_summary("earlier")
        await MemoryCompactionHook(reme, 400)(agent, {})
        assert summary_of(agent).startswith("earlier\n\n## What was said since")
        assert "AI assistant" not in summary_of(agent)
        assert printed[1] == COMPLETED


async def test_a_reserve_above_the_threshold_still_compacts(open_memory: Open) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent, 40)
        await MemoryCompactionHook(reme, 4_000, keep_recent=None, reserve=10_000)(agent, {})
        assert printed[1] == COMPLETED
        assert (await agent.memory.estimate_tokens())["estimated_tokens"] < 2_200


async def test_the_same_messages_are_not_compacted_twice(open_memory: Open) -> None:
    writer = Writer()
    async with open_memory(writer) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"), sys_prompt="Rules. " * 500)
        await talk(agent)
        await agent.memory.add(Msg("user", "go", "user"))
        hook = MemoryCompactionHook(reme, 400)
        await hook(agent, {})
        before, asked = state(agent), len(writer.asked)

        await hook(agent, {})

        assert state(agent) == before
        assert len(writer.asked) == asked == 1
        assert printed[:2] == [STARTED, COMPLETED]
        assert len(printed) == 3


async def test_a_system_prompt_above_the_threshold_is_told_once_and_the_rest_still_done(
    open_memory: Open,
) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"), sys_prompt="Rules. " * 500)
        await talk(agent)
        await agent.memory.add(Msg("user", "go", "user"))
        hook = MemoryCompactionHook(reme, 400)
        for _ in range(3):
            await hook(agent, {})
        assert [m.content for m in await agent.memory.get_memory(prepend_summary=False)] == ["go"]
        status = await reme.status()
        assert status.failures["compaction.too_large"] == 1
        assert "system prompt and tools take about" in status.last_failures["compaction.too_large"]


async def test_a_request_larger_than_the_window_is_kept_and_answered(open_memory: Open) -> None:
    async with open_memory(Writer()) as reme:
        agent, model, _ = friday(ReMeMemory(reme, "s"), ["done"])
        agent.register_instance_hook("pre_reasoning", "c", MemoryCompactionHook(reme, 400))
        await talk(agent)
        reply = await agent(Msg("user", "HUGE " + WORDS * 300, "user"))
        assert reply.get_text_content() == "done"
        assert "HUGE" in model.requests[0].text
        assert "question 2" not in model.requests[0].text
        assert (await reme.status()).failures["compaction.too_large"] == 1


async def test_tool_results_go_first_and_that_may_be_enough(
    open_memory: Open, tmp_path: Path
) -> None:
    writer = Writer()
    log = "\n".join(f"line {n}" for n in range(4_000))
    async with open_memory(writer) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        said = [Msg("user", "look", "user"), call(1), answer(1, log), Msg("F", "ok", "assistant")]
        said += [
            Msg("user", "again", "user"),
            call(2),
            answer(2, "short"),
            Msg("user", "so", "user"),
        ]
        said += [call(3), answer(3, "short")]
        await agent.memory.add(said)

        await MemoryCompactionHook(reme, 4_000)(agent, {})

        window = await agent.memory.get_memory()
        assert [m.id for m in window] == [m.id for m in said]
        (block,) = window[2].content
        assert block["output"][0]["text"].startswith("line 0\nline 1\n")
        assert "line 3999\n" in block["output"][0]["text"]
        assert (tmp_path / block["omitted"]).read_text() == log
        assert (writer.asked, printed) == ([], [])
        (row,) = logged(tmp_path, "agentscope")
        assert row["blocks"][0]["output"][0]["text"] == log

        before = state(agent)
        await MemoryCompactionHook(reme, 1)(friday(agent.memory)[0], {})
        assert [row["id"] for row in logged(tmp_path, "agentscope")].count(said[2].id) == 1
        assert state(agent) != before


async def test_a_moved_result_is_no_news_for_the_log(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"))
        said = [
            Msg("user", "look", "user"),
            call(1),
            answer(1, LONG * 40),
            Msg("user", "so", "user"),
        ]
        await agent.memory.add([*said, call(2), answer(2, "short")])
        await reme.record("s", await agent.memory.get_memory())
        lines = (tmp_path / "session/dialog/s.jsonl").read_bytes()

        await MemoryCompactionHook(reme, 1_500)(agent, {})
        window = await agent.memory.get_memory()
        assert "omitted" in window[2].content[0]
        result = await reme.record("s", window)

        assert (result.appended, result.pending) == (0, False)
        assert (tmp_path / "session/dialog/s.jsonl").read_bytes() == lines


async def test_results_of_the_running_turn_are_moved_when_nothing_else_helps(
    open_memory: Open, tmp_path: Path
) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"))
        request = Msg("user", "The request.", "user")
        await agent.memory.add(
            [call(0), answer(0, "old"), Msg("Friday", LONG, "assistant"), request]
        )
        for n in range(1, 5):
            await agent.memory.add([call(n), answer(n, f"result {n} " + LONG * 20)])
        await MemoryCompactionHook(reme, 1_000)(agent, {})
        window = await agent.memory.get_memory(prepend_summary=False)
        assert window[0].id == request.id
        assert len(window) == 9
        assert (await agent.memory.estimate_tokens())["estimated_tokens"] < 1_000
        assert len(list((tmp_path / "tool_result").iterdir())) == 4
        assert "compaction.too_large" not in (await reme.status()).failures


async def test_parallel_calls_stay_together(open_memory: Open) -> None:
    uses = [{"type": "tool_use", "id": f"p{n}", "name": "shell", "input": {}} for n in range(1, 4)]
    results = [
        Msg(
            "system",
            [{"type": "tool_result", "id": f"p{n}", "name": "shell", "output": "ok"}],
            "system",
        )
        for n in range(1, 4)
    ]
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        await agent.memory.add(
            [Msg("Friday", uses, "assistant"), *results, call(4), answer(4, "ok")]
        )
        await agent.memory.add(Msg("user", "live", "user"))
        await MemoryCompactionHook(reme, 400, keep_recent=4)(agent, {})
        kept = await agent.memory.get_memory(prepend_summary=False)
        ids = [block["id"] for m in kept for block in m.get_content_blocks() if "id" in block]
        assert ids == ["c4", "c4"]
        assert kept[-1].content == "live"


async def test_tools_and_system_prompt_count(open_memory: Open) -> None:
    async def look(where: str) -> ToolResponse:
        """Look somewhere."""
        raise AssertionError("not called")

    toolkit = Toolkit()
    description = "This tool looks somewhere and comes back with an answer. " * 30
    toolkit.register_tool_function(look, func_description=description)
    async with open_memory(Writer()) as reme:
        for options, compacted in (
            ({}, False),
            ({"sys_prompt": "Rules and more rules. " * 120}, True),
            ({"toolkit": toolkit}, True),
        ):
            agent, _, printed = friday(ReMeMemory(reme, "s"), **options)
            await talk(agent, 2)
            await MemoryCompactionHook(reme, 500)(agent, {})
            assert bool(printed) is compacted


async def test_agents_ask_without_excluding_and_still_see_no_compressed_message(
    open_memory: Open,
) -> None:
    async with open_memory(Writer()) as reme:
        agent, model, _ = friday(ReMeMemory(reme, "s"), ["one", "two"])
        agent.register_instance_hook("pre_reasoning", "c", MemoryCompactionHook(reme, 400))
        await talk(agent)
        await agent(Msg("user", "first", "user"))
        await agent(Msg("user", "second", "user"))
        assert await agent.memory.size() == 10
        for request in model.requests:
            assert "question 0" not in request.text
            assert request.text.count("## Goal") == 1


async def test_blocks_of_older_hosts_stop_no_compaction(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        old = {"type": "file", "source": {"type": "url", "url": "file:///report.pdf"}}
        await agent.memory.add(Msg("user", ["bare words", {"text": "no type"}, old], "user"))
        await talk(agent)
        await agent.memory.add(Msg("user", ["live words", {"text": "live"}], "user"))
        await MemoryCompactionHook(reme, 400)(agent, {})
        assert printed[1] == COMPLETED
        kept = (await agent.memory.get_memory())[-1]
        assert kept.content == [
            {"type": "text", "text": "live words"},
            {"type": "text", "text": "live"},
        ]
        first = logged(tmp_path, "agentscope")[0]
        assert "report.pdf" in first["blocks"][2]["text"]


async def test_printing_that_fails_costs_neither_the_compaction_nor_the_reply(
    open_memory: Open,
) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"), ["ok"])
        agent.register_instance_hook("pre_reasoning", "c", MemoryCompactionHook(reme, 400))
        await talk(agent)

        def broken(_: ReActAgent, kwargs: dict[str, Any]) -> None:
            if "ompaction" in str(kwargs["msg"].content):
                raise ConnectionError("the page was closed")

        agent.register_instance_hook("pre_print", "broken", broken)
        reply = await agent(Msg("user", "And now?", "user"))
        assert reply.get_text_content() == "ok"
        assert summary_of(agent).startswith(CHECKPOINT)
        assert (await reme.status()).failures["hook.compaction.print"] == 2


async def test_switched_off_it_only_moves_results_and_says_so(open_memory: Open) -> None:
    writer = Writer()
    async with open_memory(writer) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        before = state(agent)
        await MemoryCompactionHook(reme, 400, enabled=False)(agent, {})
        assert (state(agent), printed, writer.asked) == (before, [SKIPPED], [])
        await MemoryCompactionHook(reme, 400, enabled=False, announce=False)(agent, {})
        assert printed == [SKIPPED]


async def test_a_window_cleared_during_the_summary_stays_cleared(open_memory: Open) -> None:
    writer = Writer()
    async with open_memory(writer) as reme:
        agent, _, printed = friday(ReMeMemory(reme, "s"))
        await talk(agent)
        writer.answers = [agent.memory.clear_content]
        await MemoryCompactionHook(reme, 400)(agent, {})
        assert printed == [STARTED, FAILED]
        assert await agent.memory.get_memory() == []
        assert "Conflict" in (await reme.status()).last_failures["hook.compaction"]


async def test_a_cleared_window_is_archived_at_its_next_use(
    open_memory: Open, tmp_path: Path
) -> None:
    async with open_memory(Writer()) as reme:
        agent, _, _ = friday(ReMeMemory(reme, "s"))
        said = await talk(agent)
        agent.memory.clear_content()
        assert agent.memory.content == []
        assert await agent.memory.get_memory() == []
        assert [row["id"] for row in logged(tmp_path, "agentscope")] == [msg.id for msg in said]


async def test_a_wish_of_the_user_reaches_the_writer(open_memory: Open) -> None:
    writer = Writer()
    async with open_memory(writer) as reme:
        memory = ReMeMemory(reme, "s")
        agent, _, _ = friday(memory)
        await talk(agent)
        assert await memory.compact(keep_recent=2, extra_instruction="Mind the cake.") == 4
        assert writer.asked[0].endswith("Mind the cake.")


async def test_agentscopes_own_compression_and_the_hook_build_on_each_other(
    open_memory: Open, tmp_path: Path
) -> None:
    config = ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=4_000, keep_recent=2
    )
    theirs = {
        "task_overview": "Their summary.",
        "current_state": "s",
        "important_discoveries": "d",
        "next_steps": "n",
        "context_to_preserve": "c",
    }
    writer = Writer()
    async with open_memory(writer) as reme:
        agent, model, _ = friday(ReMeMemory(reme, "s"), [theirs, "ok"], compression_config=config)
        hook = MemoryCompactionHook(reme, 150)
        agent.register_instance_hook("pre_reasoning", "c", hook)
        said = await talk(agent, 6)

        await agent(Msg("user", "And now?", "user"))

        assert "Their summary." in writer.asked[0]
        prompt = model.requests[-1].text
        assert "## Goal\\nTea." in prompt
        assert "question 0" not in prompt
        archived = {row["id"] for row in logged(tmp_path, "agentscope")}
        visible = {m.id for m in await agent.memory.get_memory(prepend_summary=False)}
        assert {m.id for m in said} <= archived | visible


async def test_what_a_provider_reports_moves_the_estimate(open_memory: Open) -> None:
    async with open_memory(Writer()) as reme:
        agent, model, printed = friday(ReMeMemory(reme, "s"), ["one", "two"], input_tokens=3_000)
        agent.register_instance_hook("pre_reasoning", "c", MemoryCompactionHook(reme, 2_800))
        await talk(agent, 8)
        assert (await agent.memory.estimate_tokens())["estimated_tokens"] < 1_900
        await agent(Msg("user", "first", "user"))
        assert printed == []
        await agent(Msg("user", "second", "user"))
        assert printed[:2] == [STARTED, COMPLETED]
        assert type(model).__name__ == "ScriptedChatModel"


@pytest.mark.parametrize("options", [{"reserve": -1}, {"keep_recent": -1}])
def test_negative_limits_are_refused(options: dict[str, Any], open_memory: Open) -> None:
    with pytest.raises(BadInput, match="is negative"):
        MemoryCompactionHook(open_memory(), 100, **options)
