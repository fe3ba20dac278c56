"""An agent port runs one agent to its end, or fails in one way; the same on every line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import AgentPort, AgentRun, ToolOutput, Usage
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.contract.parts import (
    IMAGE,
    PIXEL,
    Card,
    Never,
    Notebook,
    card_when_asked,
    said,
)

Make = Callable[..., AgentPort]
streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
KEEP = ToolCall("remember", {"text": "tea is green"})


@streaming
async def test_a_run_without_tools_answers_in_text(agent_port: Make, stream: bool) -> None:
    model = ScriptedChatModel(["Good morning."], stream=stream)

    run: AgentRun[Card] = await agent_port(model).run("Be kind.", [said("Hello")], [])

    assert run == AgentRun("Good morning.", None, Usage(10, 5), 1)
    prompt = model.requests[0].text
    assert prompt.index("Be kind.") < prompt.index("Hello")
    model.assert_exhausted()


@streaming
async def test_tools_run_until_the_agent_is_done(agent_port: Make, stream: bool) -> None:
    notebook = Notebook()
    two = [KEEP, ToolCall("remember", {"text": "bus 7"})]
    model = ScriptedChatModel([two, KEEP, "All kept."], stream=stream)

    run: AgentRun[Card] = await agent_port(model).run("Keep.", [said("tea")], notebook.tools)

    assert run == AgentRun("All kept.", None, Usage(30, 15), 3)
    assert notebook.facts == ["tea is green", "bus 7", "tea is green"]
    assert model.requests[0].tool_names == ["remember"]
    assert "Kept: bus 7" in model.requests[1].text


async def test_wrong_arguments_are_told_to_the_agent(agent_port: Make) -> None:
    notebook = Notebook()
    model = ScriptedChatModel([ToolCall("remember", {"words": "tea"}), "Sorry."])

    await agent_port(model).run("Keep.", [said("tea")], notebook.tools)

    assert notebook.facts == []
    assert "required" in model.requests[1].text.partition("words")[2]


@streaming
async def test_the_answer_has_the_asked_type(agent_port: Make, stream: bool) -> None:
    notebook = Notebook()
    model = ScriptedChatModel([KEEP, *[card_when_asked] * 2], stream=stream)

    run = await agent_port(model).run("Keep.", [said("tea")], notebook.tools, Card)

    assert run.output == Card(title="Tea")
    assert notebook.facts == ["tea is green"]
    assert run.calls == len(model.requests)
    assert run.usage == Usage(10 * run.calls, 5 * run.calls)


async def test_a_typed_answer_in_the_last_allowed_call_counts(agent_port: Make) -> None:
    model = ScriptedChatModel([card_when_asked])
    run = await agent_port(model).run("Keep.", [said("tea")], [], Card, max_iters=1)
    assert (run.output, run.calls) == (Card(title="Tea"), 1)


async def test_a_text_answer_in_the_last_allowed_call_counts(agent_port: Make) -> None:
    model = ScriptedChatModel([KEEP, "Kept."])
    run: AgentRun[Card] = await agent_port(model).run(
        "Keep.", [said("tea")], Notebook().tools, max_iters=2
    )
    assert (run.text, run.calls) == ("Kept.", 2)


@streaming
@pytest.mark.parametrize("calls", [1, 3])
async def test_an_agent_that_is_not_done_fails(agent_port: Make, calls: int, stream: bool) -> None:
    model = ScriptedChatModel([KEEP] * calls, stream=stream)
    with pytest.raises(ModelFailed, match=f"not done after {calls} model calls.*stays pending"):
        await agent_port(model).run("Keep.", [said("tea")], Notebook().tools, max_iters=calls)
    model.assert_exhausted()


async def test_an_agent_that_never_gives_the_asked_type_fails(agent_port: Make) -> None:
    model = ScriptedChatModel([KEEP] * 3)
    with pytest.raises(ModelFailed):
        await agent_port(model).run("Keep.", [said("tea")], Notebook().tools, Card, max_iters=3)
    assert len(model.requests) <= 3


@streaming
async def test_a_run_ends_at_its_deadline(agent_port: Make, stream: bool) -> None:
    model = ScriptedChatModel([Never()], stream=stream)
    with pytest.raises(ModelFailed, match=r"not done after 0\.02 seconds"):
        await agent_port(model).run("Think.", [said("tea")], [], deadline=0.02)


class Stuck(Notebook):
    """A notebook whose tool never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def _remember(self, fact: Any) -> ToolOutput:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_deadline_ends_a_tool_too(agent_port: Make) -> None:
    with pytest.raises(ModelFailed, match=r"not done after 0\.05 seconds"):
        await agent_port(ScriptedChatModel([KEEP])).run(
            "Keep.", [said("tea")], Stuck().tools, deadline=0.05
        )


@streaming
async def test_a_model_error_fails_the_run_and_names_its_cause(
    agent_port: Make, stream: bool
) -> None:
    model = ScriptedChatModel([KEEP, ConnectionError("no route")], stream=stream)
    with pytest.raises(ModelFailed, match="ConnectionError: no route") as raised:
        await agent_port(model).run("Keep.", [said("tea")], Notebook().tools)
    assert isinstance(raised.value.__cause__, ConnectionError)


async def test_a_formatter_that_raises_fails_the_run(
    agent_port: Make, broken_formatter: Any
) -> None:
    model = ScriptedChatModel([LookupError("no such picture")])
    with pytest.raises(ModelFailed, match="no such picture"):
        await agent_port(model, broken_formatter).run("Look.", [said("tea")], [])


async def test_cancelling_the_caller_cancels_the_run(agent_port: Make) -> None:
    never = Never()
    model = ScriptedChatModel([never])
    run: asyncio.Task[AgentRun[Card]] = asyncio.create_task(
        agent_port(model).run("Think.", [said("tea")], [])
    )
    await never.asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_cancelling_the_caller_cancels_a_tool_too(agent_port: Make) -> None:
    stuck = Stuck()
    port = agent_port(ScriptedChatModel([KEEP]))
    run: asyncio.Task[AgentRun[Card]] = asyncio.create_task(
        port.run("Keep.", [said("tea")], stuck.tools)
    )
    await stuck.asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_every_image_reaches_the_model(agent_port: Make) -> None:
    model = ScriptedChatModel(["Seven."])
    port = agent_port(model)

    await port.run("Count.", [said("look", *[IMAGE] * 7)], [])

    assert port.supports_images
    assert model.requests[0].text.count(PIXEL) == 7


async def test_an_image_of_a_tool_reaches_the_model(agent_port: Make) -> None:
    class Album(Notebook):
        async def _remember(self, fact: Any) -> ToolOutput:
            return ToolOutput("a picture", (IMAGE,))

    model = ScriptedChatModel([KEEP, "A pixel."])
    await agent_port(model).run("Look.", [said("tea")], Album().tools)
    assert model.requests[1].text.count(PIXEL) == 1


async def test_runs_share_nothing(agent_port: Make) -> None:
    model = ScriptedChatModel(["One.", "Two."])
    port = agent_port(model)
    await port.run("Look.", [said("first secret")], [])
    await port.run("Look.", [said("second")], [])
    assert "first secret" not in model.requests[1].text
