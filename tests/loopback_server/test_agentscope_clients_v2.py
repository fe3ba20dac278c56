"""AgentScope 2.x's own model and embedding classes against the provider."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from agentscope.credential import DashScopeCredential, OpenAICredential
from agentscope.embedding import DashScopeEmbeddingModel, OpenAIEmbeddingModel
from agentscope.message import Base64Source, DataBlock, TextBlock, UserMsg
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
ASK = [UserMsg("user", "What is the weather?")]


class Verdict(BaseModel):
    answer: str
    sure: bool


def openai_model(provider: LoopbackProvider, *, stream: bool) -> OpenAIChatModel:
    credential = OpenAICredential(api_key="k", base_url=provider.openai_url)
    return OpenAIChatModel(credential, "m", stream=stream, max_retries=0)


def dashscope_model(provider: LoopbackProvider, *, stream: bool) -> DashScopeChatModel:
    credential = DashScopeCredential(api_key="k", base_url=provider.compatible_url)
    return DashScopeChatModel(credential, "qwen-plus", stream=stream, max_retries=0)


async def last_of(answer: Any) -> ChatResponse:
    if isinstance(answer, ChatResponse):
        return answer
    chunks: list[ChatResponse] = [chunk async for chunk in answer]
    return chunks[-1]


@pytest.fixture(params=["openai", "dashscope"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def model(family: str, request: pytest.FixtureRequest, provider: LoopbackProvider) -> Any:
    make: Any = openai_model if family == "openai" else dashscope_model
    return make(provider, stream=request.param)


async def test_text_and_usage_arrive(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("Sunny, 晴天, all day.")
    answer = await last_of(await model(ASK))
    assert [b.text for b in answer.content if b.type == "text"] == ["Sunny, 晴天, all day."]
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert provider.requests[0].stream is model.stream


async def test_each_family_uses_its_own_path(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("hello")
    await last_of(await model(ASK))
    (request,) = provider.requests
    if isinstance(model, DashScopeChatModel):
        assert request.path == "/compatible-mode/v1/chat/completions"
        assert request.body["enable_thinking"] is False
    else:
        assert request.path == "/v1/chat/completions"


async def test_tool_calls_arrive_with_their_arguments(
    model: Any, provider: LoopbackProvider
) -> None:
    calls = [("weather", {"city": "Köln"}), ("weather", {"city": "北京"})]
    provider.reply(tool_calls=calls)
    answer = await last_of(await model(ASK, tools=[WEATHER]))
    uses = [b for b in answer.content if b.type == "tool_call"]
    assert [(b.name, json.loads(b.input)) for b in uses] == calls
    assert len({b.id for b in uses}) == 2


async def test_structured_output_arrives(model: Any, provider: LoopbackProvider) -> None:
    provider.reply(structured={"answer": "yes", "sure": True})
    answer = await model.generate_structured_output(ASK, Verdict)
    assert answer.content == {"answer": "yes", "sure": True}
    assert provider.requests[0].structured_function == "generate_structured_output"


async def test_thinking_arrives(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("done", thinking="let me see")
    answer = await last_of(await model(ASK))
    assert [b.thinking for b in answer.content if b.type == "thinking"] == ["let me see"]


async def test_an_error_status_is_an_exception(model: Any, provider: LoopbackProvider) -> None:
    provider.reply(status=400, message="too long a prompt")
    with pytest.raises(Exception, match="too long a prompt"):
        await last_of(await model(ASK))


async def test_a_server_error_is_sent_once(provider: LoopbackProvider) -> None:
    provider.reply(status=500, message="the provider is down")
    with pytest.raises(Exception, match="the provider is down"):
        await last_of(await openai_model(provider, stream=False)(ASK))
    assert len(provider.requests) == 1


async def test_a_stream_that_breaks_off_is_an_exception(provider: LoopbackProvider) -> None:
    provider.reply("one two three four", cut_after=2)
    with pytest.raises(Exception, match=r"incomplete|closed|Connection error"):
        await last_of(await openai_model(provider, stream=True)(ASK))


async def test_images_arrive_inline(model: Any, provider: LoopbackProvider) -> None:
    provider.reply("a picture")
    await last_of(await model([UserMsg("user", [TextBlock(text="look"), _image()])]))
    assert provider.requests[0].images == [f"data:image/png;base64,{PIXEL}"]
    assert provider.requests[0].texts == ["look"]


async def test_openai_embeddings(provider: LoopbackProvider) -> None:
    credential = OpenAICredential(api_key="k", base_url=provider.openai_url)
    answer = await OpenAIEmbeddingModel(credential, "e", 8)(["green tea", "绿茶"])
    for found, text in zip(answer.embeddings, ["green tea", "绿茶"], strict=True):
        assert found == pytest.approx(vector_of(text, 8), abs=1e-6)


async def test_dashscope_text_embeddings(dashscope_at: LoopbackProvider) -> None:
    embed = DashScopeEmbeddingModel(_dashscope_key(), "text-embedding-v4", 8, max_retries=0)
    answer = await embed(["green tea"])
    assert answer.embeddings[0] == pytest.approx(vector_of("green tea", 8))
    assert dashscope_at.requests[0].route == "dashscope-text-embeddings"


async def test_dashscope_multimodal_embeddings(dashscope_at: LoopbackProvider) -> None:
    embed = DashScopeEmbeddingModel(
        _dashscope_key(), "tongyi-embedding-vision-plus", 64, max_retries=0
    )
    answer = await embed(["green tea", _image()])
    assert len(answer.embeddings) == 2
    assert dashscope_at.requests[0].body["input"]["contents"] == [
        {"text": "green tea"},
        {"image": f"data:image/png;base64,{PIXEL}"},
    ]


async def test_an_embedding_error_is_an_exception(dashscope_at: LoopbackProvider) -> None:
    dashscope_at.embed(status=429, message="slow down")
    embed = DashScopeEmbeddingModel(_dashscope_key(), "text-embedding-v4", 8, max_retries=0)
    with pytest.raises(RuntimeError, match="slow down"):
        await embed(["x"])


def _image() -> DataBlock:
    return DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"))


def _dashscope_key() -> DashScopeCredential:
    return DashScopeCredential(api_key="k")
