"""Everything said is recorded once, whatever happened to the turn it was said in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from pydantic import BaseModel

from agentscope_reme.agentscope_v1 import ReMeLongTermMemory, ReMeMemory, ReMeToolkit
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput
from agentscope_reme.hooks import AutoMemoryHook, attach_v1
from agentscope_reme.messages import ToolCallBlock, ToolResultBlock
from agentscope_reme.testing import Request, Step, ToolCall
from tests.agentscope_v1.list_memory import ListMemory

TEA = "Tea is served at four."


def friday(
    service: ListMemory, steps: list[Step], *, attach: bool = True, **kwargs: Any
) -> tuple[ReActAgent, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), **kwargs)
    if attach:
        attach_v1(service, agent, session_id="s")
    return agent, model


def ask(text: str) -> Msg:
    return Msg("user", text, "user")


async def test_a_turn_is_recorded_when_it_is_over() -> None:
    service = ListMemory([TEA])
    agent, _ = friday(service, ["At four."])

    await agent(ask("When is tea?"))

    assert service.said("s") == ["When is tea?", "At four."]


async def test_only_what_is_new_is_handed_over() -> None:
    service = ListMemory()
    agent, _ = friday(service, ["one", "two"])
    handed: list[int] = []
    record = service.record

    async def spy(session_id: str, messages: Any, **kwargs: Any) -> Any:
        handed.append(len(messages))
        return await record(session_id, messages, **kwargs)

    service.record = spy  # type: ignore[method-assign]
    await agent(ask("a"))
    await agent(ask("b"))

    assert handed == [2, 2]


async def test_tools_are_recorded_in_order() -> None:
    service = ListMemory([TEA])
    agent, _ = friday(
        service,
        [[ToolCall("memory_search", {"query": "a"}), ToolCall("write", {"query": "b"})], "done"],
        toolkit=ReMeToolkit(service),
        parallel_tool_calls=True,
    )

    await agent(ask("go"))

    blocks = [block for message in service.sessions["s"] for block in message.blocks]
    calls = [block.id for block in blocks if isinstance(block, ToolCallBlock)]
    results = [block.id for block in blocks if isinstance(block, ToolResultBlock)]
    assert calls == ["call-1", "call-2"]
    assert sorted(results) == calls
    assert service.said("s")[-1] == "done"


async def test_an_interrupted_turn_is_caught_up_at_the_next() -> None:
    service = ListMemory()
    started = asyncio.Event()

    async def hang(_: Request) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    agent, _ = friday(service, [hang, "Back."])
    task = asyncio.create_task(agent(ask("Remember the milk.")))
    await started.wait()
    await agent.interrupt()
    await task
    assert service.said("s") == []

    await agent(ask("Go on."))

    assert service.said("s")[0] == "Remember the milk."
    assert service.said("s")[-2:] == ["Go on.", "Back."]
    assert len(service.said("s")) == 4


async def test_a_failed_turn_is_saved_before_the_next_one_can_fail_too() -> None:
    service = ListMemory()
    agent, _ = friday(service, [ConnectionError("down"), ConnectionError("down")])
    for text in ("Remember the milk.", "Hello?"):
        with pytest.raises(ConnectionError):
            await agent(ask(text))

    assert service.said("s") == ["Remember the milk."]


async def test_an_interrupted_last_turn_can_be_flushed() -> None:
    service = ListMemory()
    agent, _ = friday(service, [ConnectionError("down")], attach=False)
    attachment = attach_v1(service, agent, session_id="s")
    with pytest.raises(ConnectionError):
        await agent(ask("Remember the milk."))

    assert await attachment.flush() == 1
    assert await attachment.flush() == 0
    assert service.said("s") == ["Remember the milk."]


async def test_parallel_turns_are_all_recorded_in_the_end() -> None:
    service = ListMemory()
    all_reached = asyncio.Barrier(3)

    async def wait(_: Request) -> str:
        await all_reached.wait()
        return "ok"

    agent, _ = friday(service, [wait, wait, wait, "end"])
    await asyncio.gather(*(agent(ask(f"turn {n}")) for n in range(3)))

    await agent(ask("last"))

    assert sorted(service.said("s")) == sorted(
        ["turn 0", "turn 1", "turn 2", "ok", "ok", "ok", "last", "end"]
    )


async def test_attaching_twice_records_once() -> None:
    service = ListMemory([TEA])
    agent, model = friday(service, ["ok"])
    attach_v1(service, agent, session_id="s")

    await agent(ask("tea"))

    assert service.records == 1
    assert model.requests[0].text.count(TEA) == 1


async def test_hooks_working_memory_and_long_term_memory_together_record_once() -> None:
    service = ListMemory([TEA])
    agent, _ = friday(
        service,
        ["one", "two"],
        memory=ReMeMemory(service, "s"),
        long_term_memory=ReMeLongTermMemory(service, session_id="s"),
        long_term_memory_mode="static_control",
    )

    await agent(ask("tea"))
    await agent(ask("more tea"))
    await agent.memory.clear()

    assert service.said("s") == ["tea", "one", "more tea", "two"]


async def test_a_restored_conversation_is_recorded_once() -> None:
    service = ListMemory()
    first, _ = friday(service, ["one"])
    await first(ask("a"))
    second, _ = friday(service, ["two"])
    second.load_state_dict(first.state_dict())

    await second(ask("b"))

    assert service.said("s") == ["a", "one", "b", "two"]


async def test_a_broken_memory_costs_no_reply_and_is_caught_up() -> None:
    service = ListMemory()
    service.broken["record"] = OSError("full")
    agent, _ = friday(service, ["one", "two"])

    assert (await agent(ask("a"))).get_text_content() == "one"
    assert [where for where, _ in service.failures] == ["hook.auto_memory"]
    service.broken.clear()
    await agent(ask("b"))

    assert service.said("s") == ["a", "one", "b", "two"]


async def test_cancellation_is_not_swallowed() -> None:
    service = ListMemory()
    service.slow.add("record")
    agent, _ = friday(service, [], attach=False)
    await agent.memory.add(ask("a"))
    task = asyncio.create_task(AutoMemoryHook(service, "s")(agent, {}))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_reply_and_its_typed_value_are_untouched() -> None:
    class Card(BaseModel):
        title: str

    service = ListMemory()
    agent, _ = friday(service, [{"title": "tea"}, "Here."])

    reply = await agent(ask("card"), structured_model=Card)

    assert reply.metadata == {"title": "tea"}
    assert service.said("s")[0] == "card"
    assert service.said("s")[-1] == "Here."


async def test_a_hook_alone_needs_no_session_id() -> None:
    service = ListMemory()
    plain, _ = friday(service, ["one"], attach=False)
    own, _ = friday(service, ["two"], attach=False, memory=ReMeMemory(service, "own"))
    for agent in (plain, own):
        agent.register_instance_hook("post_reply", "record", AutoMemoryHook(service))
        await agent(ask("hi"))

    assert set(service.sessions) == {plain.id, "own"}


async def test_detaching_ends_it_and_leaves_other_hooks() -> None:
    service = ListMemory()
    agent, model = friday(service, ["one", "two"], attach=False)
    seen: list[str] = []
    agent.register_instance_hook("pre_reply", "mine", lambda self, kwargs: seen.append("mine"))
    old = attach_v1(service, agent, session_id="s", recall="both")
    new = attach_v1(service, agent, session_id="s", recall="both")
    old.detach()
    await agent(ask("a"))
    assert service.said("s") == ["a", "one"]

    new.detach()
    new.detach()
    await agent(ask("b"))

    assert service.said("s") == ["a", "one"]
    assert seen == ["mine", "mine"]
    assert model.requests[1].tool_names == []


@pytest.mark.parametrize(
    ("recall", "prompt", "tools"),
    [
        ("auto", True, 0),
        (True, True, 0),
        ("agent", False, 3),
        ("both", True, 3),
        ("off", False, 0),
        (False, False, 0),
    ],
)
async def test_recall_can_be_chosen(recall: Any, prompt: bool, tools: int) -> None:
    service = ListMemory([TEA])
    agent, model = friday(service, ["ok"], attach=False)
    attach_v1(service, agent, session_id="s", recall=recall, record=False, compact=False)

    await agent(ask("tea"))

    assert (TEA in model.requests[0].text) is prompt
    assert len(model.requests[0].tool_names) == tools
    assert service.sessions == {}


def test_bad_arguments_are_refused() -> None:
    service = ListMemory()
    agent, _ = friday(service, [], attach=False)

    for call in (
        lambda: attach_v1(service, agent, session_id=""),
        lambda: attach_v1(service, agent, session_id="s", recall="always"),  # type: ignore[arg-type]
        lambda: attach_v1(service, InMemoryMemory(), session_id="s"),
    ):
        with pytest.raises(BadInput):
            call()
