"""A provider that refuses is asked another way, and a model that fails has a deputy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agentscope.agent import Agent, ModelConfig
from agentscope.credential import OpenAICredential
from agentscope.model import ChatModelBase, OpenAIChatModel
from agentscope.state import AgentState
from pydantic import BaseModel

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware, agent_port, chat_port
from agentscope_reme.messages import Message, TextBlock
from tests.agentscope_v2.agents import user
from tests.agentscope_v2.memory_service import InMemoryService
from tests.loopback import LoopbackProvider, Reply, Request

ASK = [Message(role="user", name="Ann", blocks=(TextBlock(text="Hello"),))]
both = pytest.mark.parametrize("stream", [False, True])


class Verdict(BaseModel):
    sure: bool


def openai(provider: LoopbackProvider, name: str, *, stream: bool) -> ChatModelBase:
    key = OpenAICredential(api_key="k", base_url=provider.openai_url)
    return OpenAIChatModel(key, name, stream=stream, max_retries=0)


def forces(request: Request) -> bool:
    return isinstance(request.body.get("tool_choice"), dict)


def no_force(request: Request) -> Reply:
    """As providers do while a model thinks: no tool may be forced."""
    if forces(request):
        return Reply(status=400, message="tool_choice does not support being set to required")
    names = json.dumps(request.body.get("tools", []))
    asked = next(
        (n for n in ("generate_structured_output", "GenerateStructuredOutput") if n in names), None
    )
    return Reply(structured={"sure": True}) if asked else Reply(text="Hello.")


@both
async def test_a_typed_answer_is_had_without_force(
    provider: LoopbackProvider, stream: bool
) -> None:
    provider.respond_with(no_force)
    reply = await chat_port(openai(provider, "m", stream=stream)).structured(ASK, Verdict)
    assert reply.value == Verdict(sure=True)
    assert forces(provider.chats[0])
    assert not forces(provider.chats[-1])


@both
async def test_so_is_the_typed_answer_of_an_agent(provider: LoopbackProvider, stream: bool) -> None:
    provider.respond_with(no_force)
    port = agent_port(openai(provider, "m", stream=stream))
    run = await port.run("Decide.", ASK, [], Verdict)
    assert run.output == Verdict(sure=True)


@both
async def test_the_deputy_of_a_failing_model_sees_the_memory_and_is_recorded(
    provider: LoopbackProvider, memory: InMemoryService, stream: bool
) -> None:
    memory.known["tea"] = "tea: gyokuro"

    def answer(request: Request) -> Reply:
        return Reply(status=500) if request.model == "first" else Reply(text="Gyokuro.")

    provider.respond_with(answer)
    agent: Any = Agent(
        "Friday",
        "You help.",
        openai(provider, "first", stream=stream),
        middlewares=[ReMeMemoryMiddleware(memory)],
        model_config=ModelConfig(fallback_model=openai(provider, "deputy", stream=stream)),
        state=AgentState(session_id="s1"),
    )
    await agent.reply(user("Which tea?"))
    prompts = {request.model: "\n".join(request.texts) for request in provider.chats}
    assert "tea: gyokuro" in prompts["first"]
    assert "tea: gyokuro" in prompts["deputy"]
    assert memory.said("s1") == [("user", "Which tea?"), ("assistant", "Gyokuro.")]
