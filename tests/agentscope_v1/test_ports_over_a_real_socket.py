"""The ports with AgentScope's own model classes, over HTTP to a provider on this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import dashscope
import pytest
from agentscope.embedding import (
    DashScopeMultiModalEmbedding,
    DashScopeTextEmbedding,
    OpenAITextEmbedding,
)
from agentscope.model import ChatModelBase, DashScopeChatModel, OpenAIChatModel
from pydantic import BaseModel

from agentscope_reme.agentscope_v1 import agent_port, chat_port, embedding_port
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock
from agentscope_reme.ports import Usage
from tests.agentscope_v1.list_memory import PIXEL, ListMemory, say
from tests.loopback.script import Reply, Request
from tests.loopback.server import LoopbackProvider

Make = Callable[[LoopbackProvider, bool], ChatModelBase]
TEA = "Tea is served at four."


class Card(BaseModel):
    title: str
    stars: int


class Gate(threading.Event):
    """Holds an answer back, and tells the event loop as soon as it does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.reached = asyncio.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self._loop.call_soon_threadsafe(self.reached.set)
        return super().wait(timeout)


def openai(provider: LoopbackProvider, stream: bool) -> ChatModelBase:
    arguments: dict[str, Any] = {"base_url": provider.openai_url, "max_retries": 0}
    return OpenAIChatModel("gpt", api_key="k", stream=stream, client_kwargs=arguments)


def qwen(provider: LoopbackProvider, stream: bool) -> ChatModelBase:
    return DashScopeChatModel(
        "qwen-plus", api_key="k", stream=stream, base_http_api_url=provider.dashscope_url
    )


def qwen_vl(provider: LoopbackProvider, stream: bool) -> ChatModelBase:
    return DashScopeChatModel(
        "qwen-vl-max", api_key="k", stream=stream, base_http_api_url=provider.dashscope_url
    )


pytestmark = pytest.mark.usefixtures("dashscope_address")
every_model = pytest.mark.parametrize("make", [openai, qwen, qwen_vl])
streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@every_model
@streaming
async def test_completion(provider: LoopbackProvider, make: Make, stream: bool) -> None:
    provider.reply("Tea is at four.", thinking="hm")

    reply = await chat_port(make(provider, stream)).complete([say("When is tea?")])

    assert reply.text == "Tea is at four."
    assert reply.usage == Usage(11, 7)
    assert provider.chats[0].texts == ["When is tea?"]
    assert provider.chats[0].stream is stream


@every_model
@streaming
async def test_structured_output(provider: LoopbackProvider, make: Make, stream: bool) -> None:
    provider.reply(structured={"title": "tea", "stars": 3})

    reply = await chat_port(make(provider, stream)).structured([say("Rate tea.")], Card)

    assert reply.value == Card(title="tea", stars=3)


@streaming
async def test_a_provider_without_json_schema_is_asked_in_words(
    provider: LoopbackProvider, stream: bool
) -> None:
    # Newer releases of AgentScope try a forced tool call first, which is refused here as well.
    def refuse_structure(request: Request) -> Reply:
        if "response_format" in request.body or request.tool_names:
            return Reply(status=400, message="response_format is not supported")
        return Reply(text='{"title": "tea", "stars": 2}')

    provider.respond_with(refuse_structure)

    reply = await chat_port(openai(provider, stream)).structured([say("Rate tea.")], Card)

    assert reply.value == Card(title="tea", stars=2)
    assert "JSON schema" in provider.chats[-1].texts[-1]


@every_model
async def test_an_image_arrives_whole(provider: LoopbackProvider, make: Make) -> None:
    provider.reply("A pixel.")
    image = DataBlock(media_type="image/png", data=PIXEL)
    message = Message(role="user", name="user", blocks=(TextBlock(text="What is it?"), image))

    await chat_port(make(provider, False)).complete([message])

    assert provider.chats[0].images == [f"data:image/png;base64,{PIXEL}"]


@pytest.mark.filterwarnings("ignore:'required' is not supported by DashScope")
@every_model
@streaming
async def test_an_agent_with_tools_and_a_typed_answer(
    provider: LoopbackProvider, make: Make, stream: bool
) -> None:
    provider.reply(tool_calls=[("memory_search", {"query": "tea"})])
    provider.reply(structured={"title": "tea", "stars": 4})
    tools = ListMemory([TEA]).tools(include=["memory_search"])

    run = await agent_port(make(provider, stream)).run("Rate.", [say("Tea?")], tools, Card)

    assert run.output == Card(title="tea", stars=4)
    assert run.calls == len(provider.chats) == 2
    assert run.usage == Usage(22, 14)
    assert TEA in "\n".join(provider.chats[1].texts)


@every_model
async def test_an_image_of_a_tool_arrives_as_a_users(
    provider: LoopbackProvider, make: Make
) -> None:
    provider.reply(tool_calls=[("read_image", {"query": "cat"})]).reply("A cat.")

    run = await agent_port(make(provider, False)).run("", [say("Look.")], ListMemory().tools())

    assert run.text == "A cat."
    assert [chat.images for chat in provider.chats] == [[], [f"data:image/png;base64,{PIXEL}"]]
    assert provider.chats[1].messages[-1]["role"] == "user"


@every_model
@pytest.mark.parametrize("status", [401, 429, 500])
async def test_an_error_status_is_a_failed_model(
    provider: LoopbackProvider, make: Make, status: int
) -> None:
    for _ in range(2):
        provider.reply(status=status, message="scripted refusal")

    with pytest.raises(ModelFailed, match="scripted refusal"):
        await chat_port(make(provider, False)).complete([say("hi")])
    with pytest.raises(ModelFailed, match="scripted refusal"):
        await agent_port(make(provider, False)).run("", [say("hi")], [])


async def test_a_server_that_hangs_is_left_at_the_deadline(provider: LoopbackProvider) -> None:
    never = threading.Event()
    provider.reply("late", delay_until=never)

    with pytest.raises(ModelFailed, match="not done after"):
        await agent_port(openai(provider, False)).run("", [say("hi")], [], deadline=0.1)


def openai_embedding(provider: LoopbackProvider) -> OpenAITextEmbedding:
    return OpenAITextEmbedding("k", "m", dimensions=8, base_url=provider.openai_url, max_retries=0)


def dashscope_embedding(provider: LoopbackProvider) -> DashScopeTextEmbedding:
    dashscope.base_http_api_url = provider.dashscope_url
    return DashScopeTextEmbedding("k", "text-embedding-v4", dimensions=8)


def dashscope_pictures(provider: LoopbackProvider) -> DashScopeMultiModalEmbedding:
    dashscope.base_http_api_url = provider.dashscope_url
    return DashScopeMultiModalEmbedding("k", "multimodal-embedding-v1")


every_embedding = pytest.mark.parametrize(
    "make", [openai_embedding, dashscope_embedding, dashscope_pictures]
)


@every_embedding
async def test_each_text_gets_its_own_vector(
    provider: LoopbackProvider, make: Callable[[LoopbackProvider], Any]
) -> None:
    texts = [f"text {n}" for n in range(12)]
    port = embedding_port(make(provider))

    together = await port.embed(texts)
    apart = [(await port.embed([text]))[0] for text in texts]

    assert together == apart
    assert len({tuple(vector) for vector in together}) == 12


async def test_an_image_gets_a_vector(provider: LoopbackProvider) -> None:
    image = DataBlock(media_type="image/png", data=PIXEL)

    vectors = await embedding_port(dashscope_pictures(provider)).embed([image, "a pixel"])

    assert len(vectors) == 2
    assert provider.requests[0].body["input"]["contents"] == [
        {"image": f"data:image/png;base64,{PIXEL}"}
    ]


@every_embedding
async def test_a_failing_provider_is_a_failed_model(
    provider: LoopbackProvider, make: Callable[[LoopbackProvider], Any]
) -> None:
    provider.embed(status=401, message="scripted refusal")

    with pytest.raises(ModelFailed, match="scripted refusal"):
        await embedding_port(make(provider)).embed(["a"])


@pytest.mark.parametrize("make", [openai_embedding, dashscope_embedding])
async def test_a_batch_the_provider_finds_too_long_is_halved(
    provider: LoopbackProvider, make: Callable[[LoopbackProvider], Any]
) -> None:
    provider.embed(status=400, message="batch size is invalid")

    vectors = await embedding_port(make(provider)).embed(["a", "b"])

    assert len(vectors) == 2
    assert len(provider.requests) == 3


@pytest.mark.parametrize("make", [dashscope_embedding, dashscope_pictures])
async def test_the_event_loop_goes_on_while_dashscope_embeds(
    provider: LoopbackProvider, make: Callable[[LoopbackProvider], Any]
) -> None:
    gate = Gate(asyncio.get_running_loop())
    provider.embed(delay_until=gate)
    task = asyncio.create_task(embedding_port(make(provider)).embed(["a"]))

    await gate.reached.wait()
    gate.set()  # only a loop that is not blocked by the open request gets here

    assert len(await task) == 1
