"""Memory tools run without asking, say what went wrong, and never replace another tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agentscope.message import ToolCallBlock, ToolResultBlock
from agentscope.permission import PermissionMode
from agentscope.state import AgentState
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v2 import as_toolbase, register_tools
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import ToolCall
from tests.agentscope_v2.agents import PIXEL, Weather, make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


async def result_of(toolkit: Toolkit, name: str, arguments: dict[str, Any]) -> Any:
    call = ToolCallBlock(id="c1", name=name, input=json.dumps(arguments))
    return [item async for item in toolkit.call_tool(call, AgentState())][-1]


async def test_an_agent_writes_to_memory_without_a_permission_question(
    memory: InMemoryService,
) -> None:
    agent = make_agent(
        [ToolCall("remember", {"text": "tea is green"}), "Noted."],
        tools=[as_toolbase(tool) for tool in memory.tools()],
    )
    final = await agent.reply(user("remember tea"))
    assert final.get_text_content() == "Noted."
    assert memory.known == {"tea": "tea is green"}


async def test_only_readers_run_while_exploring(memory: InMemoryService) -> None:
    memory.known["tea"] = "tea is green"
    agent = make_agent(
        [
            [ToolCall("memory_search", {"query": "tea"}), ToolCall("remember", {"text": "x y"})],
            "ok",
        ],
        tools=[as_toolbase(tool) for tool in memory.tools()],
    )
    agent.state.permission_context.mode = PermissionMode.EXPLORE
    await agent.reply(user("hi"))
    assert "tea is green" in script_of(agent).requests[1].text
    assert "x" not in memory.known


async def test_wrong_arguments_are_told_in_words(memory: InMemoryService) -> None:
    toolkit = Toolkit(tools=[as_toolbase(tool) for tool in memory.tools()])
    answer = await result_of(toolkit, "memory_search", {"question": "tea"})
    assert answer.state == "error"
    assert "memory_search was not run, its arguments do not fit:" in answer.content[0].text


async def test_images_of_an_answer_reach_the_model(memory: InMemoryService) -> None:
    memory.media = [DataBlock(media_type="image/png", data=PIXEL)]
    agent = make_agent(
        [ToolCall("memory_search", {"query": "tea"}), "A picture."],
        tools=[as_toolbase(tool) for tool in memory.tools()],
    )
    await agent.reply(user("show me"))
    blocks = script_of(agent).requests[1].messages[-1].content
    (answer,) = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert isinstance(answer.output, list)
    assert [part.type for part in answer.output] == ["text", "data"]


async def test_registering_twice_changes_nothing(memory: InMemoryService) -> None:
    toolkit = Toolkit(tools=[Weather()])
    for _ in range(2):
        assert await register_tools(toolkit, memory.tools()) == ["memory_search", "remember"]
    names = [schema["function"]["name"] for schema in await toolkit.get_tool_schemas()]
    assert names == ["weather", "memory_search", "remember"]


async def test_agents_that_share_a_toolkit_register_once(memory: InMemoryService) -> None:
    toolkit = Toolkit()
    added = await asyncio.gather(*(register_tools(toolkit, memory.tools()) for _ in range(5)))
    assert added == [["memory_search", "remember"]] * 5
    assert len(await toolkit.get_tool_schemas()) == 2


async def test_a_new_toolkit_for_every_turn_gets_the_same_tools(memory: InMemoryService) -> None:
    tools = memory.tools()
    toolkits = [Toolkit(), Toolkit()]
    for toolkit in toolkits:
        await register_tools(toolkit, tools)
    first, second = [await toolkit.get_tool("memory_search") for toolkit in toolkits]
    assert first is second
    assert as_toolbase(tools[0], in_its_session=True) is not first  # whoever asks owns a new one


async def test_a_tool_of_the_application_is_never_replaced(memory: InMemoryService) -> None:
    own = Weather()
    own.name = "remember"
    toolkit = Toolkit(tools=[own])
    assert await register_tools(toolkit, memory.tools()) == ["memory_search"]
    assert await toolkit.get_tool("remember") is own


@pytest.mark.parametrize(("read_only", "names"), [(True, 1), (False, 2)])
def test_a_tool_says_whether_it_only_reads(
    memory: InMemoryService, read_only: bool, names: int
) -> None:
    tools = [as_toolbase(tool) for tool in memory.tools(read_only=read_only)]
    assert len(tools) == names
    assert tools[0].is_read_only
