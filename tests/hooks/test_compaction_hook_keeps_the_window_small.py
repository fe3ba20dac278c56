"""Above the threshold a window is archived, summarised and shortened; or left as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory, MemoryBase
from agentscope.message import Msg
from agentscope.token import CharTokenCounter

from agentscope_reme import ReMe
from agentscope_reme.agentscope_v1 import ReMeMemory, ReMeToolkit
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.hooks import MemoryCompactionHook, attach_v1
from agentscope_reme.settings import Settings
from agentscope_reme.testing import Request, Step, ToolCall
from tests.agentscope_v1.list_memory import ListMemory

FULL = StorageFailed("disk", "full", "Free some space.")
CHECKPOINT = "## Goal\nTea.\n\n## Progress\nCake.\n\n## Next Steps\nEat."
LONG = "many words about tea and cake and more " * 10


def friday(
    service: ListMemory, steps: list[Step], memory: MemoryBase | None = None, **kwargs: Any
) -> tuple[ReActAgent, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), memory=memory, **kwargs)
    hook = MemoryCompactionHook(service, memory_compact_threshold=300, session_id="s")
    agent.register_instance_hook("pre_reasoning", "compact", hook)
    return agent, model


async def fill(agent: ReActAgent, turns: int = 3) -> list[Msg]:
    said = []
    for n in range(turns):
        said.append(Msg("user", f"question {n} {LONG}", "user"))
        said.append(Msg("Friday", f"answer {n} {LONG}", "assistant"))
    await agent.memory.add(said)
    return said


def kinds(service: ListMemory) -> list[MemoryBase]:
    return [InMemoryMemory(), ReMeMemory(service, "s")]


@pytest.mark.parametrize("kind", [0, 1], ids=["InMemoryMemory", "ReMeMemory"])
async def test_the_next_prompt_is_short_and_nothing_is_lost(kind: int) -> None:
    service = ListMemory()
    service.summaries = ["SUMMARY"]
    agent, model = friday(service, ["ok"], kinds(service)[kind])
    said = await fill(agent)

    await agent(Msg("user", "And now?", "user"))

    prompt = model.requests[0].text
    assert "SUMMARY" in prompt
    assert "session/agentscope/s.jsonl" in prompt
    assert "question 0" not in prompt
    assert "And now?" in prompt
    archived = [message.id for message in service.archives["s"]]
    kept = [msg.id for msg in await agent.memory.get_memory(prepend_summary=False)]
    assert archived == [msg.id for msg in said[: len(archived)]]
    assert [*archived, *kept[:-2]] == [msg.id for msg in said]


async def test_below_the_threshold_nothing_happens() -> None:
    service = ListMemory()
    agent, model = friday(service, ["ok"])

    await agent(Msg("user", "short", "user"))

    assert len(model.requests[0].messages) == 2
    assert service.archives == {}


async def test_with_agentscopes_compression_the_messages_are_marked_and_stay() -> None:
    service = ListMemory()
    service.summaries = ["SUMMARY"]
    config = ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=10**9
    )
    agent, model = friday(service, ["ok", "ok"], compression_config=config)
    await fill(agent)

    await agent(Msg("user", "And now?", "user"))

    assert await agent.memory.size() == 8
    assert "question 0" not in model.requests[0].text
    await agent(Msg("user", "Again.", "user"))
    assert model.requests[1].text.count("SUMMARY") == 1


@pytest.mark.parametrize("kind", [0, 1], ids=["InMemoryMemory", "ReMeMemory"])
@pytest.mark.parametrize("step", ["archive", "summarise"])
async def test_a_failure_leaves_the_window_as_it_was(kind: int, step: str) -> None:
    service = ListMemory()
    service.broken[step] = FULL
    agent, model = friday(service, ["ok"], kinds(service)[kind])
    await fill(agent)
    before = json.dumps(agent.memory.state_dict())

    await MemoryCompactionHook(service, 300, session_id="s")(agent, {})

    assert json.dumps(agent.memory.state_dict()) == before
    assert service.failures == [("hook.compaction", FULL)]
    await agent(Msg("user", "And now?", "user"))
    assert "question 0" in model.requests[0].text


@pytest.mark.parametrize("kind", [0, 1], ids=["InMemoryMemory", "ReMeMemory"])
@pytest.mark.parametrize("answer", ["", RuntimeError("Connection error")], ids=["empty", "error"])
async def test_a_model_that_fails_changes_nothing_and_is_asked_again(
    kind: int, answer: Step, tmp_path: Path
) -> None:
    checkpoints = iter([answer, CHECKPOINT])

    def told(request: Request) -> Step:
        asked = "You write checkpoints" in request.text
        return next(checkpoints) if asked else "Nothing to record."  # distilled in the background

    writer = ScriptedChatModel([told] * 8)
    quiet = Settings(watch=False, fsync=False, record_every_turns=1000)
    async with ReMe(
        tmp_path, chat_model=writer, formatter=OpenAIChatFormatter(), settings=quiet
    ) as reme:
        memory = InMemoryMemory() if kind == 0 else reme.memory(session_id="s")
        agent = ReActAgent(
            "F", "You help.", ScriptedChatModel([]), OpenAIChatFormatter(), memory=memory
        )
        await fill(agent)
        await agent.memory.update_compressed_summary("earlier")
        before = json.dumps(agent.memory.state_dict())
        hook = MemoryCompactionHook(reme, 300, session_id="s")

        await hook(agent, {})
        assert json.dumps(agent.memory.state_dict()) == before
        assert (await reme.status()).failures == {"hook.compaction": 1}

        await hook(agent, {})
        assert CHECKPOINT in str(agent.memory.state_dict()["_compressed_summary"])


async def test_an_answer_that_is_no_summary_is_replaced_by_quotes(tmp_path: Path) -> None:
    writer = ScriptedChatModel(["I am an AI assistant, how can I help?"])
    quiet = Settings(watch=False, fsync=False, record_every_turns=1000)
    async with ReMe(
        tmp_path, chat_model=writer, formatter=OpenAIChatFormatter(), settings=quiet
    ) as reme:
        agent = ReActAgent("F", "You help.", ScriptedChatModel([]), OpenAIChatFormatter())
        await fill(agent)
        await agent.memory.update_compressed_summary("earlier")
        await MemoryCompactionHook(reme, 300, session_id="s")(agent, {})
        summary = str(agent.memory.state_dict()["_compressed_summary"])
        assert summary.startswith("earlier\n\n## What was said since")
        assert "question 0" in summary
        assert "AI assistant" not in summary


async def test_a_memory_that_cannot_let_go_keeps_its_old_summary() -> None:
    class Stubborn(InMemoryMemory):
        async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
            raise ConnectionError("database gone")

    service = ListMemory()
    service.summaries = ["SUMMARY"]
    agent, _ = friday(service, [], Stubborn())
    await fill(agent)
    await agent.memory.update_compressed_summary("before")
    state = json.dumps(agent.memory.state_dict())

    await MemoryCompactionHook(service, 300, session_id="s")(agent, {})

    assert json.dumps(agent.memory.state_dict()) == state
    assert [where for where, _ in service.failures] == ["hook.compaction"]


async def test_without_a_model_the_summary_quotes_the_user() -> None:
    service = ListMemory()
    agent, model = friday(service, ["ok"])
    await fill(agent)

    await agent(Msg("user", "And now?", "user"))

    assert "question 0" in model.requests[0].text
    assert "answer 0" not in model.requests[0].text


async def test_a_running_turn_with_many_tool_calls_keeps_its_request() -> None:
    service = ListMemory([f"tea {LONG}"])
    service.summaries = ["SUMMARY 1", "SUMMARY 2", "SUMMARY 3"]
    steps: list[Step] = [ToolCall("memory_search", {"query": "tea"}) for _ in range(3)]
    agent, model = friday(service, [*steps, "done"], toolkit=ReMeToolkit(service))
    await fill(agent)

    await agent(Msg("user", "The request.", "user"))

    for request in model.requests:
        assert "The request." in request.text
        roles = [message["role"] for message in request.messages]
        assert roles.count("tool") == sum(len(m.get("tool_calls") or ()) for m in request.messages)


async def test_retrieved_memory_is_neither_archived_nor_taken_for_the_request() -> None:
    service = ListMemory()
    service.summaries = ["SUMMARY"]
    agent, model = friday(service, ["ok"])
    await fill(agent)
    await agent.memory.add(Msg("long_term_memory", f"<long_term_memory>{LONG}", "user"))

    await agent(Msg("user", "And now?", "user"))

    assert all(message.name != "long_term_memory" for message in service.archives["s"])
    assert "And now?" in model.requests[0].text


@pytest.mark.parametrize(
    ("explicit", "length", "settings", "compacted"),
    [(None, 0, 200, True), (None, 10**6, 200, False), (200, 10**6, 10**6, True)],
    ids=["settings", "length of the memory", "argument"],
)
async def test_where_the_threshold_comes_from(
    explicit: int | None, length: int, settings: int, compacted: bool
) -> None:
    service = ListMemory(settings=Settings(memory_compact_threshold=settings))
    service.summaries = ["SUMMARY"]
    memory = ReMeMemory(service, "s", max_input_length=length)
    agent, _ = friday(service, [], memory)
    await fill(agent)

    await MemoryCompactionHook(service, explicit)(agent, {})

    assert ("s" in service.archives) is compacted


@pytest.mark.parametrize("record", [True, False])
async def test_what_leaves_is_recorded_when_asked(record: bool) -> None:
    service = ListMemory()
    agent, _ = friday(service, [])
    await fill(agent)

    await MemoryCompactionHook(service, 300, session_id="s", record=record)(agent, {})

    assert (service.sessions == service.archives) is record
    assert service.archives["s"]


@pytest.mark.parametrize("record", [True, False])
async def test_attached_it_records_only_what_may_be_recorded(record: bool) -> None:
    service = ListMemory(settings=Settings(memory_compact_threshold=300))
    model = ScriptedChatModel(["ok"])
    agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
    said = await fill(agent)
    attach_v1(service, agent, session_id="s", record=record)

    await agent(Msg("user", "And now?", "user"))

    recorded = [message.id for message in service.sessions.get("s", [])]
    assert recorded[: len(said)] == ([msg.id for msg in said] if record else [])
    assert len(set(recorded)) == len(recorded) == (len(said) + 2 if record else 0)


@pytest.mark.parametrize("arguments", [(0,), (-5,), (None, -1)])
def test_impossible_limits_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput):
        MemoryCompactionHook(ListMemory(), *arguments)
