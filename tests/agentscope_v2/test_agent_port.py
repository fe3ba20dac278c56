"""A background run uses tools, stops at its limits and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from agentscope_reme.agentscope_v2 import agent_port
from agentscope_reme.agentscope_v2.answers import parsed
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope_reme.ports import AgentRun, KnowsItsWindow, Usage
from agentscope_reme.testing import Request, Structured, ToolCall
from agentscope_reme.testing.script import Plain
from tests.agentscope_v2.agents import PIXEL
from tests.agentscope_v2.memory_service import InMemoryService

both = pytest.mark.parametrize("stream", [False, True])


class Card(BaseModel):
    title: str


def said(text: str, role: str = "user", name: str = "Ann") -> Message:
    return Message.model_validate(
        {"role": role, "name": name, "blocks": [{"type": "text", "text": text}]}
    )


@both
async def test_tools_run_until_the_agent_is_done(memory: InMemoryService, stream: bool) -> None:
    model = ScriptedChatModel(
        [
            [ToolCall("remember", {"text": "tea green"}), ToolCall("remember", {"text": "bus 7"})],
            "Both kept.",
        ],
        stream=stream,
    )
    run: AgentRun[Card] = await agent_port(model).run(
        "Keep facts.", [said("tea and bus")], memory.tools()
    )
    assert (run.text, run.output, run.usage, run.calls) == ("Both kept.", None, Usage(20, 10), 2)
    assert memory.known == {"tea": "tea green", "bus": "bus 7"}
    assert model.requests[0].messages[0].get_text_content() == "Keep facts."


@both
async def test_the_final_answer_has_the_asked_type(memory: InMemoryService, stream: bool) -> None:
    """Newer releases ask for it inside the reply, older ones in a call of its own."""
    model = ScriptedChatModel([], stream=stream)

    def next_step(request: Request) -> Plain:
        if request.number == 1:
            return ToolCall("remember", {"text": "tea green"})
        structured = request.output is not None and "title" in request.output["properties"]
        return Structured({"title": "Tea"}) if structured else "Kept."

    model.script.add(next_step, next_step, next_step)
    run = await agent_port(model).run("Keep.", [said("tea")], memory.tools(), Card)
    assert run.output == Card(title="Tea")
    assert run.calls == len(model.requests)
    assert run.usage == Usage(10 * run.calls, 5 * run.calls)


async def test_one_allowed_call_is_one_call() -> None:
    model = ScriptedChatModel([{"title": "Tea"}])
    run = await agent_port(model).run("Keep.", [said("tea")], [], Card, max_iters=1)
    assert (run.output, run.calls) == (Card(title="Tea"), 1)


async def test_a_run_stops_at_its_calls(memory: InMemoryService) -> None:
    again = ToolCall("memory_search", {"query": "tea"})
    model = ScriptedChatModel([again, again])
    with pytest.raises(ModelFailed, match="not done after 2 model calls"):
        await agent_port(model).run("Search.", [said("tea")], memory.tools(), max_iters=2)


async def never(_: Request) -> str:
    await asyncio.Event().wait()
    return "late"


@both
async def test_a_run_stops_at_its_deadline(stream: bool) -> None:
    model = ScriptedChatModel([never], stream=stream)
    with pytest.raises(ModelFailed, match="not done after"):
        await agent_port(model).run("Think.", [said("tea")], [], deadline=0.02)


async def test_cancelling_a_run_cancels_it() -> None:
    asked = asyncio.Event()

    async def slow(request: Request) -> str:
        asked.set()
        return await never(request)

    run: asyncio.Task[AgentRun[Card]] = asyncio.create_task(
        agent_port(ScriptedChatModel([slow])).run("Think.", [said("tea")], [])
    )
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


@both
async def test_a_provider_failure_is_a_failed_run(stream: bool) -> None:
    model = ScriptedChatModel([ConnectionError("no route")], stream=stream)
    with pytest.raises(ModelFailed, match="no route"):
        await agent_port(model).run("Think.", [said("tea")], [])


async def test_a_conversation_with_tool_steps_can_be_handed_in() -> None:
    model = ScriptedChatModel(["Seen."])
    steps = (
        ToolCallBlock(id="c", name="weather", input='{"city": "Rome"}'),
        ToolResultBlock(id="c", name="weather", output=(TextBlock(text="sunny"),)),
    )
    messages = [
        said("rules", "system", "system"),
        said("weather?"),
        Message(role="assistant", name="memory", blocks=steps),
    ]
    assert (await agent_port(model).run("Look.", messages, [])).text == "Seen."
    prompt = model.requests[0].text
    assert "weather answered: sunny" in prompt
    assert [m.role for m in model.requests[0].messages] == ["system", "user", "user", "assistant"]


async def test_many_images_all_arrive() -> None:
    model = ScriptedChatModel(["Seven."])
    images = tuple(DataBlock(media_type="image/png", data=PIXEL) for _ in range(7))
    port = agent_port(model)
    await port.run("Count.", [Message(role="user", name="Ann", blocks=images)], [])
    assert port.supports_images
    assert model.requests[0].text.count(PIXEL) == 7


async def test_runs_share_nothing() -> None:
    model = ScriptedChatModel(["One.", "Two."])
    port = agent_port(model)
    await port.run("Look.", [said("first secret")], [])
    await port.run("Look.", [said("second")], [])
    assert "first secret" not in model.requests[1].text


async def test_a_run_is_never_given_a_summary_of_its_own_prompt() -> None:
    """A prompt above the window goes to the provider as it is; AgentScope would compress it."""
    model = ScriptedChatModel(["Read."], context_size=1000)
    port = agent_port(model)
    assert isinstance(port, KnowsItsWindow)
    assert port.context_tokens == 1000
    run: AgentRun[Card] = await port.run("Read.", [said("zebra " * 3000)], [])
    assert run.calls == 1
    assert "zebra " * 3000 in "".join(
        str(message.get_text_content()) for message in model.requests[0].messages
    )


async def test_a_mistake_inside_a_model_object_is_named_first() -> None:
    def broken(_request: Request) -> Plain:
        raise ValueError("the city is unknown")

    with pytest.raises(ModelFailed, match="ValueError: the city is unknown") as failed:
        await agent_port(ScriptedChatModel([broken])).run("Keep.", [said("tea")], [])
    assert "quota" not in str(failed.value)
    assert "Look at the model object" in str(failed.value)


async def test_what_is_no_answer_is_told_in_plain_words() -> None:
    with pytest.raises(ModelFailed, match="Card: title: ") as failed:
        parsed(Card, {"name": "Tea"})
    assert "pydantic" not in str(failed.value)
