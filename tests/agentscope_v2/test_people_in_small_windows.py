"""The memory of a person keeps a conversation once, also when its agent has to shorten it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentscope_reme import VectorReMe
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.messages import Message, ToolResultBlock
from agentscope_reme.testing import Request, Structured, Text, ToolCall, ToolCalls
from agentscope_reme.typed.conversations import messages_of
from tests.agentscope_v2.agents import Weather, make_agent, user

LONG = " and so on" * 40
TIGHT = 500
HISTORY = {"memory_type": "history"}


def answering(*lines: Any, window: int = TIGHT) -> ScriptedChatModel:
    """Says the lines, and writes the summaries it is asked for."""
    left = list(lines)

    def step(request: Request) -> Any:
        if request.output is not None:
            return Structured(dict.fromkeys(request.output["properties"], "so far"))
        return left.pop(0)

    return ScriptedChatModel([step] * 40, context_size=window)


async def kept(memory: VectorReMe) -> Sequence[Message]:
    nodes = await memory.list_memory("ann", filters=HISTORY)
    return [message for node in nodes for message in messages_of(node)]


async def test_what_leaves_the_context_is_not_kept_again(tmp_path: Path) -> None:
    talk = [f"answer {n}{LONG}" for n in range(4)]
    async with VectorReMe(tmp_path) as memory:
        agent = make_agent(
            answering(*talk), middlewares=[memory.middleware(user_name="ann", mode="static")]
        )
        for n in range(4):
            await agent.reply(user(f"question {n}{LONG}"))
        told = Counter(message.text.removesuffix(LONG) for message in await kept(memory))
    assert agent.state.summary
    assert told == Counter(f"{kind} {n}" for kind in ("question", "answer") for n in range(4))


async def test_a_reply_that_is_shortened_while_it_grows_is_kept_once(tmp_path: Path) -> None:
    steps = [
        ToolCalls((ToolCall("weather", id=f"w{n}"),), text=f"step {n}{LONG}") for n in range(5)
    ]
    async with VectorReMe(tmp_path) as memory:
        agent = make_agent(
            answering(*steps, "Sunny."),
            tools=[Weather()],
            middlewares=[memory.middleware(user_name="ann", mode="static")],
        )
        await agent.reply(user("Weather?"))
        messages = await kept(memory)
    assert agent.state.summary
    blocks = [block for message in messages for block in message.blocks]
    told = Counter(block.text.removesuffix(LONG) for block in blocks if block.type == "text")
    assert told == Counter(["Weather?", *(f"step {n}" for n in range(5)), "Sunny."])
    steps_kept = Counter((b.type, b.id) for b in blocks if b.type.startswith("tool"))
    assert set(steps_kept.values()) == {1}


async def test_an_answer_of_the_memory_that_leaves_the_context_is_no_conversation(
    tmp_path: Path,
) -> None:
    async with VectorReMe(tmp_path) as memory:
        await memory.add_memory("Ann drinks green tea.", "ann")
        agent = make_agent(
            answering(
                ToolCall("retrieve_memory", {"query": "What does Ann drink?"}),
                Text("Green tea." + LONG),
                *(f"answer {n}{LONG}" for n in range(3)),
            ),
            middlewares=[memory.middleware(user_name="ann", mode="agent")],
        )
        for n in range(4):
            await agent.reply(user(f"question {n}{LONG}"))
        blocks = [block for message in await kept(memory) for block in message.blocks]
    assert agent.state.summary
    assert [b.output for b in blocks if isinstance(b, ToolResultBlock)] == [()]
