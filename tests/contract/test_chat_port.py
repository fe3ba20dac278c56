"""A chat port answers with text or a closed type, or fails in one way; the same on every line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import ChatPort, ChatReply, StructuredReply, Usage
from agentscope_reme.testing import ScriptedChatModel, Text
from tests.contract.parts import IMAGE, PIXEL, Card, Never, said

Make = Callable[..., ChatPort]
streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@streaming
async def test_it_answers_in_text(chat_port: Make, stream: bool) -> None:
    model = ScriptedChatModel([Text("Good morning, 早上好.", thinking="hm")], stream=stream)
    messages = [said("Be kind.", role="system"), said("Hello")]

    assert await chat_port(model).complete(messages) == ChatReply(
        "Good morning, 早上好.", Usage(10, 5)
    )
    prompt = model.requests[0].text
    assert prompt.index("Be kind.") < prompt.index("Hello")
    model.assert_exhausted()


@streaming
async def test_it_answers_with_the_asked_type(chat_port: Make, stream: bool) -> None:
    model = ScriptedChatModel([{"title": "Tea"}], stream=stream)
    reply = await chat_port(model).structured([said("tea")], Card)
    assert reply == StructuredReply(Card(title="Tea"), Usage(10, 5))
    assert len(model.requests) == 1


@streaming
async def test_a_value_of_another_shape_is_a_failure(chat_port: Make, stream: bool) -> None:
    with pytest.raises(ModelFailed):
        await chat_port(ScriptedChatModel([{"name": 5}], stream=stream)).structured(
            [said("tea")], Card
        )


@streaming
async def test_silence_is_a_failure(chat_port: Make, stream: bool) -> None:
    with pytest.raises(ModelFailed):
        await chat_port(ScriptedChatModel([" "], stream=stream)).complete([said("tea")])


async def test_a_model_error_is_a_failure_that_names_its_cause(chat_port: Make) -> None:
    model = ScriptedChatModel([ConnectionError("no route")] * 2)
    with pytest.raises(ModelFailed, match="ConnectionError: no route") as raised:
        await chat_port(model).complete([said("tea")])
    assert isinstance(raised.value.__cause__, ConnectionError)
    with pytest.raises(ModelFailed, match="ConnectionError: no route"):
        await chat_port(model).structured([said("tea")], Card)


async def test_a_formatter_that_raises_is_a_failure(chat_port: Make, broken_formatter: Any) -> None:
    model = ScriptedChatModel([LookupError("no such picture")] * 2)
    with pytest.raises(ModelFailed, match="no such picture"):
        await chat_port(model, broken_formatter).complete([said("tea")])
    with pytest.raises(ModelFailed, match="no such picture"):
        await chat_port(model, broken_formatter).structured([said("tea")], Card)


@pytest.mark.parametrize("structured", [False, True])
async def test_cancelling_the_caller_cancels_the_call(chat_port: Make, structured: bool) -> None:
    never = Never()
    port = chat_port(ScriptedChatModel([never]))
    messages = [said("tea")]
    call: asyncio.Task[Any] = asyncio.create_task(
        port.structured(messages, Card) if structured else port.complete(messages)
    )
    await never.asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_images_reach_the_model(chat_port: Make) -> None:
    model = ScriptedChatModel(["A pixel."])
    port = chat_port(model)
    await port.complete([said("look", IMAGE)])
    assert port.supports_images
    assert model.requests[0].text.count(PIXEL) == 1


async def test_a_formatter_without_vision_says_so(chat_port: Make) -> None:
    from agentscope.formatter import DeepSeekChatFormatter

    model = ScriptedChatModel([])
    assert not chat_port(model, DeepSeekChatFormatter()).supports_images
    assert chat_port(model).supports_images
