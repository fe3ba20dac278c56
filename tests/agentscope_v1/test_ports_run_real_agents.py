"""The chat and agent ports drive real 1.x models and a real `ReActAgent`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import (
    DashScopeChatFormatter,
    DeepSeekChatFormatter,
    OllamaChatFormatter,
    OpenAIChatFormatter,
)
from agentscope.model import DashScopeChatModel, OllamaChatModel, OpenAIChatModel
from pydantic import BaseModel

from agentscope_reme.agentscope_v1 import agent_port, chat_port
from agentscope_reme.agentscope_v1.models import formatter_for, presentable
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock, ThinkingBlock
from agentscope_reme.ports import Tool, ToolOutput, Usage
from agentscope_reme.testing import Request, Structured, Text, ToolCall, ToolCalls
from tests.agentscope_v1.list_memory import PIXEL, ListMemory, say

streaming = pytest.mark.parametrize("stream", [False, True])


class Card(BaseModel):
    title: str
    stars: int = 0


class Nothing(BaseModel):
    pass


class BadRequest(Exception):
    status_code = 400


@streaming
async def test_completion_returns_the_words_and_the_cost(stream: bool) -> None:
    model = ScriptedChatModel([Text("hello there", thinking="hm")], stream=stream)

    reply = await chat_port(model).complete([say("hi")])

    assert reply.text == "hello there"
    assert reply.usage == Usage(10, 5)
    assert list(model.requests[0].messages) == [
        {"role": "user", "name": "user", "content": [{"type": "text", "text": "hi"}]}
    ]
    model.assert_exhausted()


@streaming
async def test_structured_output_is_parsed(stream: bool) -> None:
    model = ScriptedChatModel([{"title": "tea", "stars": 3}], stream=stream)

    reply = await chat_port(model).structured([say("rate tea")], Card)

    assert reply.value == Card(title="tea", stars=3)
    assert model.requests[0].output is Card


@streaming
async def test_a_provider_without_structured_output_is_asked_for_json(stream: bool) -> None:
    model = ScriptedChatModel(
        [BadRequest("response_format"), 'Sure:\n```json\n{"title": "tea"}\n```'], stream=stream
    )

    reply = await chat_port(model).structured([say("rate tea")], Card)

    assert reply.value == Card(title="tea")
    assert model.requests[1].output is None
    assert "JSON schema" in model.requests[1].text
    model.assert_exhausted()


@pytest.mark.parametrize(
    "step",
    [ConnectionError("no route"), Text("  "), ToolCall("read")],
    ids=["raises", "says nothing", "calls a tool"],
)
async def test_no_usable_answer_is_a_failure(step: object) -> None:
    model = ScriptedChatModel([step])

    with pytest.raises(ModelFailed):
        await chat_port(model).complete([say("hi")])


async def test_a_wrong_value_is_a_failure() -> None:
    model = ScriptedChatModel([Structured({"stars": "many"})])

    with pytest.raises(ModelFailed, match="no Card"):
        await chat_port(model).structured([say("rate tea")], Card)


async def test_only_what_is_safe_reaches_the_provider() -> None:
    model = ScriptedChatModel(["ok"])
    message = Message(
        role="user",
        name="user",
        blocks=(
            ThinkingBlock(text="secret thought"),
            DataBlock(media_type="image/png", data=PIXEL),
            DataBlock(media_type="image/png", url="https://example.org/a.png"),
            DataBlock(media_type="image/png", url="file:///etc/shadow.png"),
            DataBlock(media_type="image/png", url="/etc/shadow.png"),
        ),
    )

    await chat_port(model).complete([message])

    content = model.requests[0].messages[0]["content"]
    assert content == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "text", "text": "[image/png: file:///etc/shadow.png]"},
        {"type": "text", "text": "[image/png: /etc/shadow.png]"},
    ]


def test_reasoning_is_never_sent_back() -> None:
    said = Message(
        role="assistant", name="a", blocks=(ThinkingBlock(text="hm"), TextBlock(text="yes"))
    )

    (msg,) = presentable([said], images=True)

    assert msg.content == [{"type": "text", "text": "yes"}]


async def test_a_formatter_without_vision_gets_words_instead_of_images() -> None:
    model = ScriptedChatModel(["ok"])
    port = chat_port(model, DeepSeekChatFormatter())
    image = DataBlock(media_type="image/png", data=PIXEL, path="session/images/a.png")

    await port.complete([Message(role="user", name="user", blocks=(image,))])

    assert not port.supports_images
    assert PIXEL not in model.requests[0].text
    assert "session/images/a.png" in model.requests[0].text


@pytest.mark.parametrize(
    ("model", "formatter"),
    [
        (OpenAIChatModel("m", api_key="k"), OpenAIChatFormatter),
        (DashScopeChatModel("qwen-plus", api_key="k"), DashScopeChatFormatter),
        (ScriptedChatModel(), OpenAIChatFormatter),
    ],
    ids=["openai", "dashscope", "unknown"],
)
def test_the_formatter_follows_the_models_class(model: object, formatter: type) -> None:
    assert type(formatter_for(model)) is formatter  # type: ignore[arg-type]
    assert chat_port(model).supports_images  # type: ignore[arg-type]


def test_a_subclass_gets_the_formatter_of_its_parent() -> None:
    class Mine(OllamaChatModel):
        def __init__(self) -> None:
            self.model_name, self.stream = "mine", False

    assert type(formatter_for(Mine())) is OllamaChatFormatter


@streaming
async def test_an_agent_uses_tools_and_answers(stream: bool) -> None:
    memory = ListMemory(["Tea is served at four."])
    model = ScriptedChatModel(
        [ToolCall("memory_search", {"query": "tea"}), "At four."], stream=stream
    )

    run = await agent_port(model).run("You know things.", [say("When is tea?")], memory.tools())

    assert run.text == "At four."
    assert run.output is None
    assert run.calls == 2
    assert run.usage == Usage(20, 10)
    first, second = model.requests
    assert first.messages[0]["content"] == [{"type": "text", "text": "You know things."}]
    assert first.tool_names == ["memory_search", "read_image", "write"]
    assert "Tea is served at four." in second.text


@streaming
async def test_an_agent_returns_a_typed_value_without_a_needless_call(stream: bool) -> None:
    model = ScriptedChatModel(
        [ToolCall("memory_search", {"query": "tea"}), {"title": "tea", "stars": 4}], stream=stream
    )

    run = await agent_port(model).run("", [say("rate tea")], ListMemory().tools(), Card)

    assert run.output == Card(title="tea", stars=4)
    assert run.calls == 2
    model.assert_exhausted()


async def test_an_agent_may_correct_a_value_that_does_not_fit() -> None:
    model = ScriptedChatModel([{"stars": "many"}, {"title": "tea"}])

    run = await agent_port(model).run("", [say("rate tea")], [], Card)

    assert run.output == Card(title="tea")
    assert "title" in model.requests[1].text


async def test_a_run_never_makes_more_calls_than_allowed() -> None:
    search = ToolCall("memory_search", {"query": "tea"})
    model = ScriptedChatModel([ToolCalls((search,), text="Looking."), search, search])

    with pytest.raises(ModelFailed, match="not done after 3 model calls"):
        await agent_port(model).run("", [say("?")], ListMemory().tools(), Card, max_iters=3)

    model.assert_exhausted()


async def test_runs_share_nothing() -> None:
    model = ScriptedChatModel(["first", "second"])
    port = agent_port(model)

    await port.run("", [say("one")], [])
    await port.run("", [say("two")], [])

    assert "one" not in model.requests[1].text


async def test_images_of_the_input_and_of_tools_reach_the_model_once_each() -> None:
    model = ScriptedChatModel(
        [ToolCall("read_image", {"query": "cat"}), ToolCall("write"), "A cat."]
    )
    tools = ListMemory().tools()

    await agent_port(model).run("", [say("what is on it?")], tools, max_iters=5)

    images = [request.text.count(PIXEL) for request in model.requests]
    assert images == [0, 1, 0]
    assert model.requests[1].messages[-1]["role"] == "user"


async def test_a_failing_provider_fails_the_run() -> None:
    model = ScriptedChatModel([ConnectionError("no route")])

    with pytest.raises(ModelFailed, match="no route"):
        await agent_port(model).run("", [say("hi")], [])


async def test_a_deadline_ends_the_run_even_inside_a_tool() -> None:
    async def hang(_: Nothing) -> ToolOutput:
        await asyncio.Event().wait()
        raise AssertionError

    model = ScriptedChatModel([ToolCall("hang")])
    tool = Tool("hang", "Never returns.", Nothing, hang)

    with pytest.raises(ModelFailed, match=r"not done after 0\.01 seconds"):
        await agent_port(model).run("", [say("go")], [tool], deadline=0.01)


async def test_cancelling_the_caller_cancels_the_run() -> None:
    reached = asyncio.Event()

    async def hang(_: Request) -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(agent_port(ScriptedChatModel([hang])).run("", [say("go")], []))
    await reached.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.fixture
def class_hook() -> Iterator[list[str]]:
    calls: list[str] = []
    ReActAgent.register_class_hook("pre_reply", "spy", lambda self, kwargs: calls.append(self.name))
    yield calls
    ReActAgent.remove_class_hook("pre_reply", "spy")


async def test_class_hooks_of_the_application_do_not_see_background_agents(
    class_hook: list[str],
) -> None:
    await agent_port(ScriptedChatModel(["done"])).run("", [say("go")], [])

    assert class_hook == []


async def test_nothing_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTSCOPE_DISABLE_CONSOLE_OUTPUT")

    await agent_port(ScriptedChatModel(["loud"])).run("", [say("go")], [])

    assert capsys.readouterr().out == ""


async def test_arguments_that_do_not_fit_are_explained_to_the_model() -> None:
    model = ScriptedChatModel([ToolCall("memory_search", {"limit": "many"}), "sorry"])

    await agent_port(model).run("", [say("go")], ListMemory().tools())

    answer = json.loads(model.requests[1].text)[-1]["content"]
    assert "memory_search was not run" in answer
    assert "query: Field required" in answer


async def test_a_mistake_inside_a_model_object_is_named_first() -> None:
    def broken(_request: Request) -> Text:
        raise ValueError("the city is unknown")

    with pytest.raises(ModelFailed, match="ValueError: the city is unknown") as failed:
        await chat_port(ScriptedChatModel([broken])).complete([say("tea")])
    assert "quota" not in str(failed.value)
    assert "Look at the model object" in str(failed.value)


async def test_a_wrong_value_is_told_in_plain_words() -> None:
    with pytest.raises(ModelFailed, match="Card: title: ") as failed:
        await chat_port(ScriptedChatModel([Structured({"name": "Tea"})])).structured(
            [say("tea")], Card
        )
    assert "pydantic" not in str(failed.value)
