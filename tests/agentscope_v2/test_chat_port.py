"""The chat port answers with text or a closed type, and fails in one way."""

from __future__ import annotations

import asyncio

import pytest
from agentscope.formatter import DeepSeekChatFormatter
from agentscope.message import Msg
from pydantic import BaseModel

from agentscope_reme.agentscope_v2 import chat_port
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock
from agentscope_reme.ports import ChatReply, StructuredReply, Usage
from agentscope_reme.testing import Request
from tests.agentscope_v2.agents import PIXEL

ASK = [
    Message(role="system", name="system", blocks=(TextBlock(text="Be kind."),)),
    Message(role="user", name="Ann", blocks=(TextBlock(text="Hello"),)),
]


class Verdict(BaseModel):
    sure: bool


both = pytest.mark.parametrize("stream", [False, True])


@both
async def test_complete(stream: bool) -> None:
    model = ScriptedChatModel(["Good morning, 早上好."], stream=stream)
    assert await chat_port(model).complete(ASK) == ChatReply("Good morning, 早上好.", Usage(10, 5))
    assert [m.role for m in model.requests[0].messages] == ["system", "user"]


@both
async def test_structured(stream: bool) -> None:
    model = ScriptedChatModel([{"sure": True}], stream=stream)
    reply = await chat_port(model).structured(ASK, Verdict)
    assert reply == StructuredReply(Verdict(sure=True), Usage(10, 5))


@both
async def test_an_answer_of_another_shape_is_a_failure(stream: bool) -> None:
    model = ScriptedChatModel([{"certain": "yes"}], stream=stream)
    with pytest.raises(ModelFailed):
        await chat_port(model).structured(ASK, Verdict)


@both
async def test_a_provider_failure_names_its_cause(stream: bool) -> None:
    model = ScriptedChatModel([ConnectionError("no route"), ConnectionError("no route")])
    with pytest.raises(ModelFailed, match="ConnectionError: no route"):
        await chat_port(model).complete(ASK)
    with pytest.raises(ModelFailed, match="ConnectionError: no route"):
        await chat_port(model).structured(ASK, Verdict)


@both
async def test_silence_is_a_failure(stream: bool) -> None:
    with pytest.raises(ModelFailed, match="without words"):
        await chat_port(ScriptedChatModel([" "], stream=stream)).complete(ASK)


async def test_images_are_passed_on_and_announced() -> None:
    model = ScriptedChatModel(["A cat."])
    image = DataBlock(media_type="image/png", data=PIXEL)
    await chat_port(model).complete([Message(role="user", name="Ann", blocks=(image,))])
    sent: Msg = model.requests[0].messages[0]
    assert [block.type for block in sent.content] == ["data"]
    assert chat_port(model).supports_images


def test_another_formatter_decides_about_images_for_the_port_alone() -> None:
    model = ScriptedChatModel([])
    assert not chat_port(model, DeepSeekChatFormatter()).supports_images
    assert chat_port(model).supports_images


async def test_cancelling_is_not_an_answer() -> None:
    asked = asyncio.Event()

    async def never(_: Request) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "late"

    call = asyncio.create_task(chat_port(ScriptedChatModel([never])).complete(ASK))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
