"""What an attachment put on an agent is taken off again, and nothing else."""

from __future__ import annotations

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1 import ReMeToolkit
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.hooks import attach_v1
from agentscope_reme.testing import ToolCall
from tests.agentscope_v1.list_memory import ListMemory

NAMES = {"memory_search", "read_image", "write"}


def friday(toolkit: Toolkit, *steps: object) -> ReActAgent:
    model = ScriptedChatModel(steps)  # type: ignore[arg-type]
    return ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), toolkit=toolkit)


@pytest.mark.parametrize("first_off", [0, 1], ids=["oldest first", "newest first"])
def test_a_second_attachment_keeps_its_tools(first_off: int) -> None:
    service, toolkit = ListMemory(), Toolkit()
    agent = friday(toolkit)
    handles = [attach_v1(service, agent, session_id="s", recall="both") for _ in range(2)]

    handles[first_off].detach()
    assert set(toolkit.tools) == NAMES
    handles[first_off].detach()
    assert set(toolkit.tools) == NAMES
    handles[1 - first_off].detach()
    assert not toolkit.tools


@pytest.mark.parametrize("first_off", [0, 1], ids=["oldest first", "newest first"])
def test_a_toolkit_keeps_its_own(first_off: int) -> None:
    service = ListMemory()
    toolkit = ReMeToolkit(service)
    own = dict(toolkit.tools)
    agent = friday(toolkit)
    handles = [attach_v1(service, agent, session_id="s", recall="both") for _ in range(2)]

    handles[first_off].detach()
    assert set(toolkit.tools) == NAMES
    handles[1 - first_off].detach()
    assert toolkit.tools == own


async def test_another_memory_is_used_until_it_is_taken_off() -> None:
    tea, coffee = ListMemory(["It is tea."]), ListMemory(["It is coffee."])
    search = ToolCall("memory_search", {"query": "it is"})
    agent = friday(ReMeToolkit(tea), search, "coffee", search, "tea")
    handle = attach_v1(coffee, agent, session_id="s", recall="agent")

    await agent(Msg("user", "which?", "user"))
    handle.detach()
    await agent(Msg("user", "and now?", "user"))

    requests = agent.model.requests
    assert "It is coffee." in requests[1].text
    assert requests[3].text.count("It is tea.") == 1


def test_a_tool_the_application_put_in_between_stays() -> None:
    def write() -> None:
        """Write a letter."""

    service, toolkit = ListMemory(), Toolkit()
    agent = friday(toolkit)
    handle = attach_v1(service, agent, session_id="s", recall="agent")
    toolkit.remove_tool_function("write")
    toolkit.register_tool_function(write)
    toolkit.remove_tool_function("read_image")

    handle.detach()

    assert list(toolkit.tools) == ["write"]
    assert toolkit.tools["write"].original_func is write
