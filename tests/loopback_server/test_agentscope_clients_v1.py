"""AgentScope 1.x's own model and embedding classes against the provider."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from agentscope.embedding import (
    DashScopeMultiModalEmbedding,
    DashScopeTextEmbedding,
    OpenAITextEmbedding,
)
from agentscope.formatter import DashScopeChatFormatter, OpenAIChatFormatter
from agentscope.message import Base64Source, ImageBlock, Msg, TextBlock
from agentscope.model import ChatResponse, DashScopeChatModel, OpenAIChatModel
from pydantic import BaseModel

from tests.loopback import LoopbackProvider
from tests.loopback.vectors import vector_of

PIXEL = base64.b64encode(b"\x89PNG not really").decode()
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
ASK = [{"role": "user", "content": "What is the weather?"}]


class Verdict(BaseModel):
    answer: str
    sure: bool


def openai_model(provider: LoopbackProvider, *, stream: bool) -> OpenAIChatModel:
    return OpenAIChatModel(
        "m", api_key="k", stream=stream, client_kwargs={"base_url": provider.openai_url}
    )


def dashscope_model(
    provider: LoopbackProvider, *, stream: bool, name: str = "qwen-plus"
) -> DashScopeChatModel:
    return DashScopeChatModel(
        name, api_key="k", stream=stream, base_http_api_url=provider.dashscope_url
    )


async def last_of(answer: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    if isinstance(answer, ChatResponse):
        return answer
    chunks = [chunk async for chunk in answer]
    return chunks[-1]


@pytest.fixture(params=["openai", "dashscope"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def model(
    family: str, request: pytest.FixtureRequest, dashscope_at: LoopbackProvider
) -> OpenAIChatModel | DashScopeChatModel:
    make: Any = openai_model if family == "openai" else dashscope_model
    made: OpenAIChatModel | DashScopeChatModel = make(dashscope_at, stream=request.param)
    return made


async def test_text_and_usage_arrive(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("Sunny, 晴天, all day.")
    answer = await last_of(await model(ASK))
    assert [b["text"] for b in answer.content if b["type"] == "text"] == ["Sunny, 晴天, all day."]
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert provider.requests[0].stream is model.stream


async def test_tool_calls_arrive_with_their_arguments(
    model: Any, provider: LoopbackProvider
) -> None:
    calls = [("weather", {"city": "Köln"}), ("weather", {"city": "北京"})]
    provider.reply(tool_calls=calls)
    answer = await last_of(await model(ASK, tools=[WEATHER]))
    uses = [b for b in answer.content if b["type"] == "tool_use"]
    assert [(b["name"], b["input"]) for b in uses] == calls
    assert len({b["id"] for b in uses}) == 2
    assert provider.requests[0].tool_names == ["weather"]


async def test_structured_output_arrives(model: Any, provider: LoopbackProvider) -> None:
    provider.reply(structured={"answer": "yes", "sure": True})
    answer = await last_of(await model(ASK, structured_model=Verdict))
    assert answer.metadata == {"answer": "yes", "sure": True}


async def test_thinking_arrives(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("done", thinking="let me see")
    answer = await last_of(await model(ASK))
    # AgentScope 1.x reads DashScope's reasoning only from streams.
    seen = [] if isinstance(model, DashScopeChatModel) and not model.stream else ["let me see"]
    assert [b["thinking"] for b in answer.content if b["type"] == "thinking"] == seen


async def test_an_error_status_is_an_exception(model: Any, provider: LoopbackProvider) -> None:
    provider.reply(status=400, message="too long a prompt")
    with pytest.raises(Exception, match="too long a prompt"):
        await last_of(await model(ASK))


async def test_a_stream_that_breaks_off_is_an_exception(
    family: str, dashscope_at: LoopbackProvider
) -> None:
    make: Any = openai_model if family == "openai" else dashscope_model
    dashscope_at.reply("one two three four", cut_after=2)
    with pytest.raises(Exception, match=r"broke off|incomplete|closed|Connection error"):
        await last_of(await make(dashscope_at, stream=True)(ASK))


@pytest.mark.parametrize(
    ("name", "route"),
    [("qwen-plus", "dashscope-text"), ("qwen-vl-max", "dashscope-multimodal")],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_images_reach_either_dashscope_route(
    name: str, route: str, stream: bool, dashscope_at: LoopbackProvider
) -> None:
    dashscope_at.reply("a picture")
    prompt = await DashScopeChatFormatter().format([_picture()])
    answer = await last_of(await dashscope_model(dashscope_at, stream=stream, name=name)(prompt))
    assert answer.content == [TextBlock(type="text", text="a picture")]
    (request,) = dashscope_at.requests
    assert request.route == route
    assert request.images == [f"data:image/png;base64,{PIXEL}"]
    assert request.texts == ["look"]


async def test_images_reach_openai(provider: LoopbackProvider) -> None:
    provider.reply("a picture")
    prompt = await OpenAIChatFormatter().format([_picture()])
    await openai_model(provider, stream=False)(prompt)
    assert provider.requests[0].images == [f"data:image/png;base64,{PIXEL}"]


async def test_json_schema_of_a_structured_request_is_recorded(
    provider: LoopbackProvider,
) -> None:
    provider.reply(structured={"answer": "no", "sure": False})
    await openai_model(provider, stream=False)(ASK, structured_model=Verdict)
    schema = provider.requests[0].body["response_format"]
    assert schema["type"] == "json_schema"
    assert set(json.loads(json.dumps(schema))["json_schema"]["schema"]["properties"]) == {
        "answer",
        "sure",
    }


async def test_openai_embeddings(provider: LoopbackProvider) -> None:
    embed = OpenAITextEmbedding("k", "e", dimensions=8, base_url=provider.openai_url)
    answer = await embed(["green tea", "绿茶"])
    assert provider.requests[0].path == "/v1/embeddings"
    for found, text in zip(answer.embeddings, ["green tea", "绿茶"], strict=True):
        assert found == pytest.approx(vector_of(text, 8), abs=1e-6)


async def test_dashscope_text_embeddings(dashscope_at: LoopbackProvider) -> None:
    answer = await DashScopeTextEmbedding("k", "text-embedding-v4", dimensions=8)(["green tea"])
    assert answer.embeddings[0] == pytest.approx(vector_of("green tea", 8))
    assert answer.usage is not None
    assert answer.usage.tokens == 2
    assert dashscope_at.requests[0].route == "dashscope-text-embeddings"


async def test_dashscope_multimodal_embeddings(dashscope_at: LoopbackProvider) -> None:
    embed = DashScopeMultiModalEmbedding("k", "tongyi-embedding-vision-plus", dimensions=1152)
    answer = await embed([TextBlock(type="text", text="green tea"), _image()])
    assert len(answer.embeddings) == 2
    (request,) = dashscope_at.requests
    assert request.route == "dashscope-multimodal-embeddings"
    assert request.body["input"]["contents"] == [
        {"text": "green tea"},
        {"image": f"data:image/png;base64,{PIXEL}"},
    ]


async def test_an_embedding_error_is_an_exception(dashscope_at: LoopbackProvider) -> None:
    dashscope_at.embed(status=429, message="slow down")
    with pytest.raises(RuntimeError, match="slow down"):
        await DashScopeTextEmbedding("k", "text-embedding-v4")(["x"])


def _image() -> ImageBlock:
    source = Base64Source(type="base64", media_type="image/png", data=PIXEL)
    return ImageBlock(type="image", source=source)


def _picture() -> Msg:
    return Msg("user", [TextBlock(type="text", text="look"), _image()], "user")
