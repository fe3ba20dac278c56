"""A script answers in order, remembers what it was asked and notices every deviation."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from agentscope_reme.testing import (
    Request,
    Script,
    Structured,
    Text,
    ToolCall,
    ToolCalls,
    UnscriptedCall,
    take_unscripted_calls,
)


class Colour(BaseModel):
    name: str


async def test_steps_are_played_in_order() -> None:
    script = Script(
        ["hi", ToolCall("read", {"path": "a"}), Colour(name="red"), {"name": "blue"}, Text("end")]
    )

    answers = [await script.answer([]) for _ in range(5)]

    assert answers == [
        Text("hi"),
        ToolCalls((ToolCall("read", {"path": "a"}, "call-1"),)),
        Structured({"name": "red"}),
        Structured({"name": "blue"}),
        Text("end"),
    ]
    script.assert_exhausted()


async def test_parallel_calls_are_numbered_and_given_ids_kept() -> None:
    script = Script([[ToolCall("a"), ToolCall("b", id="mine")], ToolCall("c")])

    first, second = await script.answer([]), await script.answer([])

    assert isinstance(first, ToolCalls)
    assert isinstance(second, ToolCalls)
    assert [call.id for call in (*first.calls, *second.calls)] == ["call-1", "mine", "call-3"]


async def test_an_exception_is_raised() -> None:
    script = Script([ConnectionError("down")])

    with pytest.raises(ConnectionError, match="down"):
        await script.answer([])


async def test_a_step_may_look_at_the_request_first() -> None:
    async def later(request: Request) -> str:
        return f"{request.number}: {request.tool_names}"

    script = Script([lambda request: f"heard {request.text}", later])
    tools = [{"type": "function", "function": {"name": "read"}}]

    heard = await script.answer([{"role": "user", "content": "ping"}])
    named = await script.answer([], tools=tools)

    assert heard == Text('heard [{"role": "user", "content": "ping"}]')
    assert named == Text("2: ['read']")


async def test_an_unscripted_call_is_raised_and_remembered() -> None:
    script = Script(["only one"])
    await script.answer([])

    with pytest.raises(UnscriptedCall, match="model call 2 is not in the script of 1 steps"):
        await script.answer([{"content": "too much"}])

    with pytest.raises(UnscriptedCall):
        script.assert_exhausted()
    assert len(take_unscripted_calls()) == 1
    assert take_unscripted_calls() == []
    assert len(script.requests) == 2


async def test_steps_left_over_are_noticed() -> None:
    script = Script(["never"])

    with pytest.raises(AssertionError, match="1 scripted steps were never played"):
        script.assert_exhausted()


async def test_something_else_is_no_step() -> None:
    with pytest.raises(TypeError, match="cannot be a step"):
        await Script([3.5]).answer([])  # type: ignore[list-item]
