"""Neutral tools as toolkit functions: their schema, their arguments, their answers, their names."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, ToolUseBlock
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme.agentscope_v1 import ReMeToolkit, register_tools
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.agentscope_v1.tools import pending_images, show_pending_images
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import ToolCall
from tests.agentscope_v1.list_memory import PIXEL, ListMemory

TEA = "Tea is served at four."


async def call(toolkit: Toolkit, name: str, **arguments: Any) -> str:
    use = ToolUseBlock(type="tool_use", id="1", name=name, input=arguments)
    answers = [chunk async for chunk in await toolkit.call_tool_function(use)]
    assert [block["type"] for block in answers[-1].content] == ["text"]
    return str(answers[-1].content[0]["text"])


def image(number: int) -> DataBlock:
    return DataBlock(media_type="image/png", data=f"{number}")


def test_the_model_sees_the_schema_of_the_arguments() -> None:
    toolkit = Toolkit()

    names = register_tools(toolkit, ListMemory().tools(include=["memory_search"]))

    assert names == ["memory_search"]
    assert toolkit.get_json_schemas() == [
        {
            "type": "function",
            "function": {
                "name": "memory_search",
                "description": "Search memory.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string"},
                        "limit": {"type": "integer", "default": 5},
                    },
                    "required": ["query"],
                },
            },
        }
    ]


async def test_a_call_is_answered_in_words() -> None:
    assert await call(ReMeToolkit(ListMemory([TEA])), "memory_search", query="tea") == TEA


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "query: Field required"),
        ({"query": "tea", "limit": "many"}, "limit: Input should be a valid integer"),
    ],
)
async def test_arguments_are_validated(arguments: dict[str, Any], fault: str) -> None:
    answer = await call(ReMeToolkit(ListMemory([TEA])), "memory_search", **arguments)

    assert answer.startswith("memory_search was not run, its arguments do not fit:")
    assert fault in answer


async def test_a_model_cannot_smuggle_in_a_scope() -> None:
    mine, other = ListMemory(["tea mine"]), ListMemory(["tea other"])

    answer = await call(
        ReMeToolkit(mine), "memory_search", query="tea", self=other, user_id="other"
    )

    assert answer == "tea mine"


def test_read_only_leaves_the_writing_tools_out() -> None:
    assert ReMeToolkit(ListMemory(), read_only=True).memory_tools == ["memory_search", "read_image"]


async def test_registering_again_replaces_our_own_tools() -> None:
    toolkit = Toolkit()
    register_tools(toolkit, ListMemory(["tea old"]).tools())

    assert len(register_tools(toolkit, ListMemory(["tea new"]).tools())) == 3
    assert await call(toolkit, "memory_search", query="tea") == "tea new"


async def test_a_function_of_the_application_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def write() -> ToolResponse:
        """Write something else."""
        return ToolResponse(content=[{"type": "text", "text": "the application's own"}])

    toolkit = Toolkit()
    toolkit.register_tool_function(write)

    names = register_tools(toolkit, ListMemory().tools())

    assert names == ["memory_search", "read_image"]
    assert await call(toolkit, "write") == "the application's own"
    assert "has a function 'write' already" in caplog.text


def test_another_function_under_a_taken_name_still_raises() -> None:
    def memory_search() -> ToolResponse:
        """Something else."""
        return ToolResponse(content=[])

    with pytest.raises(ValueError, match="already registered"):
        ReMeToolkit(ListMemory()).register_tool_function(memory_search)


async def test_an_image_waits_for_the_next_prompt_and_never_stands_in_a_tool_result() -> None:
    toolkit = ReMeToolkit(ListMemory())

    answer = await call(toolkit, "read_image", query="cat")

    assert answer == "resource/cat.png, 70 bytes\n[image/png: resource/cat.png]"
    assert [block.data for block in pending_images(toolkit).take()] == [PIXEL]
    assert pending_images(toolkit).take() == []


def test_only_the_newest_images_wait() -> None:
    waiting = pending_images(Toolkit())

    for number in range(7):
        waiting.add([image(number)])

    assert [block.data for block in waiting.take()] == ["2", "3", "4", "5", "6"]


async def test_a_formatter_without_vision_is_shown_nothing() -> None:
    toolkit = ReMeToolkit(ListMemory())
    agent = ReActAgent("F", "", ScriptedChatModel(), OpenAIChatFormatter(), toolkit=toolkit)
    pending_images(toolkit).add([image(1)])

    await show_pending_images(toolkit, agent.memory, vision=False)

    assert await agent.memory.size() == 0
    assert pending_images(toolkit).take() == []


async def test_parallel_calls_are_all_answered() -> None:
    calls = [ToolCall("memory_search", {"query": "tea"}), ToolCall("write", {"query": "tea cold"})]
    model = ScriptedChatModel([calls, "done"])
    agent = ReActAgent(
        "F",
        "",
        model,
        OpenAIChatFormatter(),
        toolkit=ReMeToolkit(ListMemory([TEA])),
        parallel_tool_calls=True,
    )

    await agent(Msg("user", "go", "user"))

    roles = [message["role"] for message in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
