"""One agent may have several memories: each shows what it knows and records every turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import VectorReMe
from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware, attach_v2
from agentscope_reme.typed.conversations import messages_of
from tests.agentscope_v2.agents import make_agent, saved_and_loaded, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


@pytest.fixture
def memories() -> tuple[InMemoryService, InMemoryService]:
    team, own = InMemoryService(), InMemoryService()
    team.known["tea"] = "tea: the team has a kettle"
    own.known["tea"] = "tea: Ann drinks it green"
    return team, own


Memories = tuple[InMemoryService, InMemoryService]


async def test_both_show_what_they_know(memories: Memories) -> None:
    team, own = memories
    agent = make_agent(
        ["Green."], middlewares=[ReMeMemoryMiddleware(team), ReMeMemoryMiddleware(own)]
    )
    await agent.reply(user("Which tea?"))
    (request,) = script_of(agent).requests
    assert [msg.name for msg in request.messages] == ["system", "memory", "memory", "Ann"]
    for memory in memories:
        assert request.text.count(memory.known["tea"]) == 1


@pytest.mark.parametrize("keys", [("agentscope_reme",) * 2, ("team", "own")])
async def test_both_record_every_turn_and_only_once(
    memories: Memories, keys: tuple[str, str]
) -> None:
    def chain() -> list[Any]:
        pairs = zip(memories, keys, strict=True)
        return [ReMeMemoryMiddleware(memory, key=key) for memory, key in pairs]

    first = make_agent(["One."], middlewares=chain())
    await first.reply(user("first"))
    second = make_agent(["Two."], middlewares=chain(), state=saved_and_loaded(first.state))
    await second.reply(user("second"))
    for memory in memories:
        assert memory.said("s1") == [
            ("user", "first"),
            ("assistant", "One."),
            ("user", "second"),
            ("assistant", "Two."),
        ]
        assert memory.calls["record"] == 2


async def test_a_third_one_may_be_attached(memories: Memories, memory: InMemoryService) -> None:
    agent = make_agent(
        ["One.", "Two."], middlewares=[ReMeMemoryMiddleware(one) for one in memories]
    )
    await agent.reply(user("first"))
    attach_v2(memory, agent)
    await agent.reply(user("second"))
    for one in (*memories, memory):
        assert [text for _, text in one.said("s1")] == ["first", "One.", "second", "Two."]
    assert [one.calls["record"] for one in (*memories, memory)] == [2, 2, 1]


async def test_a_person_and_a_task_are_both_remembered(tmp_path: Path) -> None:
    async with VectorReMe(tmp_path) as memory:
        agent = make_agent(
            ["Packed."],
            middlewares=[
                memory.middleware(user_name="ann", mode="static"),
                memory.middleware(task_name="packing", mode="static"),
            ],
        )
        await agent.reply(user("Pack my bag."))
        history = {"memory_type": "history"}
        for nodes in (
            await memory.list_memory(user_name="ann", filters=history),
            await memory.list_memory(task_name="packing", filters=history),
        ):
            assert [m.text for node in nodes for m in messages_of(node)] == [
                "Pack my bag.",
                "Packed.",
            ]
