"""Memory can be put on a living agent, and taken off again."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme.agentscope_v2 import attach_v2
from agentscope_reme.errors import BadInput
from tests.agentscope_v2.agents import make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService


async def test_attach_and_detach(memory: InMemoryService) -> None:
    memory.known["tea"] = "tea: green"
    agent = make_agent(["Green.", "Who knows."], session_id="own")
    handle = attach_v2(memory, agent, session_id="chosen")
    await agent.reply(user("tea?"))
    assert [m.text for m in memory.log("chosen")] == ["tea?", "Green."]
    assert "tea: green" in script_of(agent).requests[0].text
    assert script_of(agent).requests[0].tool_names == []
    handle.detach()
    handle.detach()
    await agent.reply(user("tea again?"))
    assert len(memory.log("chosen")) == 2
    assert "tea: green" not in script_of(agent).requests[1].text


async def test_attaching_twice_records_and_recalls_once(memory: InMemoryService) -> None:
    memory.known["tea"] = "tea: green"
    agent = make_agent(["Green."])
    attach_v2(memory, agent)
    attach_v2(memory, agent)
    await agent.reply(user("tea?"))
    assert memory.calls["record"] == 1
    assert script_of(agent).requests[0].text.count("tea: green") == 1


@pytest.mark.parametrize("first_off", [0, 1], ids=["oldest first", "newest first"])
async def test_detaching_leaves_what_another_call_attached(
    memory: InMemoryService, first_off: int
) -> None:
    agent = make_agent(["One.", "Two.", "Three."])
    handles = [attach_v2(memory, agent, recall="both") for _ in range(2)]
    await agent.reply(user("first"))
    handles[first_off].detach()
    await agent.reply(user("second"))
    assert memory.calls["record"] == 2
    assert script_of(agent).requests[1].tool_names == ["memory_search", "remember"]
    handles[1 - first_off].detach()
    await agent.reply(user("third"))
    assert memory.calls["record"] == 2


@pytest.mark.parametrize(
    ("recall", "seen", "tools"),
    [(True, True, 0), (False, False, 0), ("off", False, 0), ("agent", False, 2), ("both", True, 2)],
)
async def test_kinds_of_recall(
    memory: InMemoryService, recall: Any, seen: bool, tools: int
) -> None:
    memory.known["tea"] = "tea: green"
    agent = make_agent(["Green."])
    attach_v2(memory, agent, recall=recall)
    await agent.reply(user("tea?"))
    (request,) = script_of(agent).requests
    assert ("tea: green" in request.text) is seen
    assert len(request.tool_names) == tools


async def test_history_from_before_is_picked_up(memory: InMemoryService) -> None:
    agent = make_agent(["One.", "Two."])
    await agent.reply(user("first"))
    attach_v2(memory, agent)
    await agent.reply(user("second"))
    assert [m.text for m in memory.log("s1")] == ["first", "One.", "second", "Two."]


def test_what_cannot_be_attached_is_refused(memory: InMemoryService) -> None:
    agent: Any = object()
    with pytest.raises(BadInput, match="middleware"):
        attach_v2(memory, agent)
    with pytest.raises(BadInput, match="auto"):
        attach_v2(memory, make_agent([]), recall="sometimes")
