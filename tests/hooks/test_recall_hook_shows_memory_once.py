"""Recalled memory is in the prompt of a turn, and nowhere else afterwards."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import DeepSeekChatFormatter, FormatterBase, OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.pipeline import MsgHub

from agentscope_reme.agentscope_v1 import ReMeMemory, ReMeToolkit
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.hooks import RecallHook, ToolImageHook
from agentscope_reme.messages import RECALL_TAG
from agentscope_reme.settings import Settings
from agentscope_reme.testing import Request, Step, ToolCall
from tests.agentscope_v1.list_memory import PIXEL, ListMemory

TEA = "Tea is served at four."


def friday(
    service: ListMemory,
    steps: list[Step],
    formatter: FormatterBase | None = None,
    name: str = "Friday",
    **kwargs: Any,
) -> tuple[ReActAgent, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    agent = ReActAgent(name, "You help.", model, formatter or OpenAIChatFormatter(), **kwargs)
    agent.register_instance_hook("pre_reasoning", "recall", RecallHook(service))
    agent.register_instance_hook("pre_reasoning", "images", ToolImageHook(service))
    return agent, model


async def test_it_is_in_the_prompt_and_not_in_the_state() -> None:
    agent, model = friday(ListMemory([TEA]), ["At four."])
    keys = set(agent.state_dict())

    await agent(Msg("user", "When is tea?", "user"))

    assert f"<{RECALL_TAG}>" in model.requests[0].text
    assert TEA in model.requests[0].text
    assert TEA not in json.dumps(agent.state_dict())
    assert set(agent.state_dict()) == keys == set(ReActAgent("F", "", model, None).state_dict())


async def test_memory_is_asked_once_and_shown_at_every_step_of_the_turn() -> None:
    service = ListMemory([TEA])
    agent, model = friday(
        service,
        [ToolCall("memory_search", {"query": "x"}), "At four."],
        toolkit=ReMeToolkit(service),
    )

    await agent(Msg("user", "When is tea?", "user"))

    assert service.recalls == ["When is tea?"]
    assert [request.text.count(TEA) for request in model.requests] == [1, 1]


async def test_the_next_turn_asks_again_and_sees_only_its_own_answer() -> None:
    service = ListMemory([TEA, "Cake is on Sunday."])
    agent, model = friday(service, ["At four.", "On Sunday."])

    await agent(Msg("user", "When is tea?", "user"))
    await agent(Msg("user", "And cake?", "user"))

    assert service.recalls == ["When is tea?", "And cake?"]
    assert TEA not in model.requests[1].text
    assert "Sunday" in model.requests[1].text


async def test_with_nothing_known_the_prompt_is_as_without_the_hook() -> None:
    agent, model = friday(ListMemory(), ["hm"])

    await agent(Msg("user", "When is tea?", "user"))

    assert [message["role"] for message in model.requests[0].messages] == ["system", "user"]


async def test_a_late_memory_is_not_waited_for_and_not_asked_again() -> None:
    service = ListMemory([TEA], settings=Settings(recall_deadline_ms=5))
    service.slow.add("recall")
    agent, _ = friday(
        service, [ToolCall("memory_search", {"query": "x"}), "hm"], toolkit=ReMeToolkit(service)
    )

    reply = await agent(Msg("user", "When is tea?", "user"))

    assert reply.get_text_content() == "hm"
    assert service.recalls == ["When is tea?"]
    assert [where for where, _ in service.failures] == ["hook.recall"]


async def test_a_broken_memory_costs_no_reply() -> None:
    service = ListMemory([TEA])
    service.broken["recall"] = RuntimeError("broken")
    agent, _ = friday(service, ["hm"])

    assert (await agent(Msg("user", "When is tea?", "user"))).get_text_content() == "hm"
    assert len(service.failures) == 1


async def test_cancellation_is_not_swallowed() -> None:
    service = ListMemory([TEA], settings=Settings(recall_deadline_ms=60_000))
    service.slow.add("recall")
    agent, _ = friday(service, [])
    hook = RecallHook(service)
    await agent.memory.add(Msg("user", "When is tea?", "user"))
    task = asyncio.create_task(hook(agent, {}))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_prompt_that_could_not_be_made_leaves_no_recall_for_the_next() -> None:
    class Moody(OpenAIChatFormatter):
        broken = True

        async def format(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
            if self.broken:
                raise ValueError("no such image")
            formatted: list[dict[str, Any]] = await super().format(*args, **kwargs)
            return formatted

    formatter = Moody()
    agent, model = friday(ListMemory([TEA]), ["ok"], formatter)
    with pytest.raises(ValueError, match="no such image"):
        await agent(Msg("user", "When is tea?", "user"))

    formatter.broken = False
    await agent(Msg("user", "Never mind.", "user"))

    assert TEA not in model.requests[0].text


async def test_hints_of_agentscope_are_not_the_question() -> None:
    service = ListMemory([TEA])
    agent, _ = friday(service, ["ok"])
    await agent.memory.add(Msg("user", "tea", "user"))
    await agent.memory.add(Msg("user", "<system-hint>plan</system-hint>", "user"), marks="hint")

    await agent(None)

    assert service.recalls == ["tea"]


async def test_retrieved_memory_is_not_the_question() -> None:
    service = ListMemory([TEA])
    agent, _ = friday(service, ["ok"])
    await agent.memory.add(Msg("user", "tea", "user"))
    await agent.memory.add(Msg("long_term_memory", "<long_term_memory>x", "user"))

    await agent(None)

    assert service.recalls == ["tea"]


async def test_another_agent_may_ask() -> None:
    service = ListMemory([TEA])
    bob, _ = friday(ListMemory(), ["Is there tea?"], name="Bob")
    alice, model = friday(service, ["At four."], name="Alice")

    async with MsgHub([bob, alice]):
        await bob(Msg("user", "Ask Alice.", "user"))
        await alice()

    assert service.recalls == ["Is there tea?"]
    assert TEA in model.requests[0].text


@pytest.mark.parametrize("memory", ["in_memory", "reme"])
async def test_any_working_memory_will_do(memory: str) -> None:
    service = ListMemory([TEA])
    made = InMemoryMemory() if memory == "in_memory" else ReMeMemory(service, "s")
    agent, model = friday(service, ["At four."], memory=made)

    await agent(Msg("user", "When is tea?", "user"))

    assert TEA in model.requests[0].text
    assert service.archives == service.sessions == {}


@pytest.mark.parametrize(
    ("formatter", "shown"), [(OpenAIChatFormatter(), [0, 1, 0]), (DeepSeekChatFormatter(), [0] * 3)]
)
async def test_an_image_of_a_tool_is_shown_once_to_a_model_that_sees(
    formatter: FormatterBase, shown: list[int]
) -> None:
    service = ListMemory()
    steps: list[Step] = [
        ToolCall("read_image", {"query": "cat"}),
        ToolCall("memory_search", {"query": "cat"}),
        "A cat.",
    ]
    agent, model = friday(service, steps, formatter, toolkit=ReMeToolkit(service))

    await agent(Msg("user", "Look.", "user"))

    assert [request.text.count(PIXEL) for request in model.requests] == shown
    assert PIXEL not in json.dumps(agent.state_dict())


async def test_parallel_turns_are_served() -> None:
    both_reached = asyncio.Barrier(2)

    async def wait(_: Request) -> str:
        await both_reached.wait()
        return "ok"

    agent, _ = friday(ListMemory([TEA]), [wait, wait])

    replies = await asyncio.gather(*(agent(Msg("user", f"tea {n}", "user")) for n in range(2)))

    assert [reply.get_text_content() for reply in replies] == ["ok", "ok"]


async def test_two_memories_of_one_agent_are_both_shown() -> None:
    cake = "Cake is on Sunday."
    agent, model = friday(ListMemory([TEA]), ["a", ConnectionError("down"), "c"])
    agent.register_instance_hook("pre_reasoning", "second", RecallHook(ListMemory([cake])))

    await agent(Msg("user", "When is tea?", "user"))
    with pytest.raises(ConnectionError):  # what was recalled is left behind
        await agent(Msg("user", "When is cake?", "user"))
    agent.remove_instance_hook("pre_reasoning", "second")
    await agent(Msg("user", "When is tea again?", "user"))

    shown = [(request.text.count(TEA), request.text.count(cake)) for request in model.requests]
    assert shown == [(1, 1), (1, 1), (1, 0)]
