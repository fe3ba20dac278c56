"""The scripted model behaves like a provider's model, streaming or not."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.model import ChatResponse
from pydantic import BaseModel

from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.testing import Text, ToolCall, UnscriptedCall, take_unscripted_calls
from tests.agentscope_v2.agents import Weather, make_agent, user


class Verdict(BaseModel):
    sure: bool


async def last(response: Any) -> Any:
    if isinstance(response, ChatResponse):
        return response
    return [chunk async for chunk in response][-1]


@pytest.mark.parametrize("stream", [False, True])
async def test_it_speaks_calls_tools_and_reports_usage(stream: bool) -> None:
    model = ScriptedChatModel(
        [ToolCall("weather", {"city": "Köln"}), Text("Sunny.", thinking="hm")], stream=stream
    )
    first = await last(await model([user("hi")]))
    assert (first.content[0].name, first.content[0].input) == ("weather", '{"city": "Köln"}')
    second = await last(await model([user("hi")]))
    assert [block.type for block in second.content] == ["thinking", "text"]
    assert second.content[1].text == "Sunny."
    assert (second.usage.input_tokens, second.usage.output_tokens) == (10, 5)
    model.assert_exhausted()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_real_agent_plays_the_script(stream: bool) -> None:
    model = ScriptedChatModel([ToolCall("weather"), "It is sunny."], stream=stream)
    agent = make_agent(model, tools=[Weather()])
    final = await agent.reply(user("weather?"))
    assert final.get_text_content() == "It is sunny."
    assert model.requests[0].tool_names == ["weather"]
    assert "sunny" in model.requests[1].text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_structured_call_takes_one_step_even_when_it_fails(stream: bool) -> None:
    model = ScriptedChatModel([{"sure": True}, {"wrong": 1}], stream=stream)
    right = await model.generate_structured_output([user("sure?")], Verdict)
    assert right.content == {"sure": True}
    with pytest.raises(Exception, match="sure"):
        await model.generate_structured_output([user("sure?")], Verdict)
    model.assert_exhausted()
    assert "sure" in model.requests[0].output["properties"]


async def test_a_call_beyond_the_script_is_an_error() -> None:
    model = ScriptedChatModel([])
    with pytest.raises(UnscriptedCall):
        await model([user("hi")])
    assert len(take_unscripted_calls()) == 1


async def test_a_provider_failure_is_raised() -> None:
    with pytest.raises(ConnectionError, match="down"):
        await ScriptedChatModel([ConnectionError("down")])([user("hi")])
