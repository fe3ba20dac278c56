"""The ports and the middleware with AgentScope's own clients, over a socket."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.agent import Agent
from agentscope.credential import DashScopeCredential, OpenAICredential
from agentscope.embedding import OpenAIEmbeddingModel
from agentscope.message import Base64Source, DataBlock, TextBlock, UserMsg
from agentscope.model import ChatModelBase, DashScopeChatModel, OpenAIChatModel
from agentscope.state import AgentState
from agentscope.tool import Toolkit
from pydantic import BaseModel

from agentscope_reme.agentscope_v2 import (
    ReMeMemoryMiddleware,
    agent_port,
    chat_port,
    embedding_port,
)
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock as Data
from agentscope_reme.messages import Message, ToolResultBlock
from agentscope_reme.messages import TextBlock as Text
from agentscope_reme.ports import Usage
from tests.agentscope_v2.agents import PIXEL, user
from tests.agentscope_v2.memory_service import InMemoryService
from tests.loopback import LoopbackProvider, Reply, Request
from tests.loopback.vectors import vector_of

ASK = [Message(role="user", name="Ann", blocks=(Text(text="Hello"),))]


class Verdict(BaseModel):
    sure: bool


@pytest.fixture(params=["openai", "openai-stream", "dashscope", "dashscope-stream"])
def model(request: pytest.FixtureRequest, provider: LoopbackProvider) -> ChatModelBase:
    family, _, streamed = request.param.partition("-")
    options: dict[str, Any] = {"stream": bool(streamed), "max_retries": 0}
    if family == "openai":
        key = OpenAICredential(api_key="k", base_url=provider.openai_url)
        return OpenAIChatModel(key, "m", **options)
    dashscope = DashScopeCredential(api_key="k", base_url=provider.compatible_url)
    return DashScopeChatModel(dashscope, "qwen-plus", **options)


async def test_complete_and_structured(model: ChatModelBase, provider: LoopbackProvider) -> None:
    provider.reply("Good morning, 早上好.").reply(structured={"sure": True})
    port = chat_port(model)
    reply = await port.complete(ASK)
    assert (reply.text, reply.usage) == ("Good morning, 早上好.", Usage(11, 7))
    assert (await port.structured(ASK, Verdict)).value == Verdict(sure=True)


async def test_an_image_arrives_inline(model: ChatModelBase, provider: LoopbackProvider) -> None:
    provider.reply("A cat.")
    image = Data(media_type="image/png", data=PIXEL)
    await chat_port(model).complete([Message(role="user", name="Ann", blocks=(image,))])
    assert provider.requests[0].images == [f"data:image/png;base64,{PIXEL}"]


async def test_an_error_status_is_a_model_failure(
    model: ChatModelBase, provider: LoopbackProvider
) -> None:
    provider.reply(status=400, message="too long a prompt")
    with pytest.raises(ModelFailed, match="too long a prompt"):
        await chat_port(model).complete(ASK)


async def test_tool_steps_of_the_past_are_a_valid_prompt(
    model: ChatModelBase, provider: LoopbackProvider
) -> None:
    provider.reply("Sunny.")
    past = [
        ASK[0],
        Message.from_dict(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "w", "arguments": "{}"}}],
            }
        ),
        Message(
            role="system",
            name="w",
            blocks=(ToolResultBlock(id="c1", name="w", output=(Text(text="sun"),)),),
        ),
    ]
    await chat_port(model).complete(past)
    assert [m["role"] for m in provider.requests[0].messages] == ["user", "assistant", "tool"]


async def test_an_agent_run_ends_in_a_closed_type(
    model: ChatModelBase, provider: LoopbackProvider, memory: InMemoryService
) -> None:
    def answer(request: Request) -> Reply:
        if request.number == 1:
            return provider_call("remember", {"text": "tea green"})
        if request.structured_function:
            return Reply(structured={"sure": True})
        return Reply(text="Kept.")

    provider.respond_with(answer)
    run = await agent_port(model).run("Keep.", ASK, memory.tools(), Verdict)
    assert run.output == Verdict(sure=True)
    assert memory.known == {"tea": "tea green"}
    assert run.calls == len(provider.requests)
    assert run.usage == Usage(11 * run.calls, 7 * run.calls)


async def test_a_whole_turn(
    model: ChatModelBase, provider: LoopbackProvider, memory: InMemoryService
) -> None:
    memory.known["tea"] = "tea: Ann drinks green tea"
    provider.reply(tool_calls=[("memory_search", {"query": "tea"})]).reply("Green tea.")
    agent = Agent(
        "Friday",
        "You help.",
        model,
        toolkit=Toolkit(),
        middlewares=[ReMeMemoryMiddleware(memory)],
        state=AgentState(session_id="s1"),
    )
    image = DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"))
    await agent.reply(UserMsg("Ann", [TextBlock(text="Which tea?"), image]))
    first, second = provider.requests
    assert {"memory_search", "remember"} <= set(first.tool_names)
    assert any("Ann drinks green tea" in text for text in first.texts)
    roles = [message["role"] for message in second.messages]
    assert roles.index("tool") == roles.index("assistant") + 1
    assert memory.said("s1") == [("user", "Which tea?"), ("assistant", "Green tea.")]
    assert [b.data for _, b in memory.log("s1")[0].images()] == [PIXEL]


async def test_a_provider_that_fails_keeps_the_question(
    model: ChatModelBase, provider: LoopbackProvider, memory: InMemoryService
) -> None:
    provider.reply(status=400, message="no credit")
    agent = Agent(
        "Friday",
        "You help.",
        model,
        middlewares=[ReMeMemoryMiddleware(memory)],
        state=AgentState(session_id="s1"),
    )
    with pytest.raises(Exception, match="no credit"):
        await agent.reply(user("Which tea?"))
    assert memory.said("s1") == [("user", "Which tea?")]


async def test_embeddings(provider: LoopbackProvider) -> None:
    key = OpenAICredential(api_key="k", base_url=provider.openai_url)
    port = embedding_port(OpenAIEmbeddingModel(key, "e", 8))
    (vector,) = await port.embed(["green tea"])
    assert vector == pytest.approx(vector_of("green tea", 8), abs=1e-6)
    assert port.space_id.startswith("OpenAIEmbeddingModel")
    assert port.space_id.endswith("/e/8")


def provider_call(name: str, arguments: dict[str, Any]) -> Reply:
    from tests.loopback import ToolCall

    return Reply(tool_calls=(ToolCall(name, arguments),))
