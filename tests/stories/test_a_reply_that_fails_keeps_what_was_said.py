"""The model of an agent fails and the memory is closed: what the person said is in the log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentscope_reme import ReMe
from agentscope_reme.testing import ScriptedChatModel
from tests.stories.agents import make_agent, say

SAID = "The heron nests in May."


def failing() -> ScriptedChatModel:
    return ScriptedChatModel([ConnectionError("the model is down")])


async def fail(agent: object, text: str = SAID) -> None:
    with pytest.raises(Exception, match="the model is down"):
        await say(agent, text)


async def logged(reme: ReMe) -> list[str]:
    found = await reme.search("heron", limit=5)
    return [hit.text for hit in found.hits]


async def test_it_is_saved_at_the_close(open_memory: Callable[..., ReMe]) -> None:
    agent = make_agent(failing())
    async with open_memory() as reme:
        reme.attach(agent, session_id="s")
        await fail(agent)
    async with open_memory() as reme:
        assert SAID in (await logged(reme))[0]
        assert (await reme.status()).failures == {}


async def test_so_it_is_by_a_memory_that_nobody_started(open_memory: Callable[..., ReMe]) -> None:
    agent, reme = make_agent(failing()), open_memory()
    reme.attach(agent, session_id="s", recall="off")
    await fail(agent)
    await reme.close()
    async with open_memory() as reme:
        assert SAID in (await logged(reme))[0]


async def test_nothing_is_saved_of_an_agent_that_was_detached(
    open_memory: Callable[..., ReMe],
) -> None:
    agent = make_agent(failing())
    async with open_memory() as reme:
        handle = reme.attach(agent, session_id="s")
        handle.detach()
        await fail(agent)
    async with open_memory() as reme:
        assert await logged(reme) == []


async def test_nor_of_one_that_was_detached_between_two_replies(
    open_memory: Callable[..., ReMe],
) -> None:
    agent = make_agent(ScriptedChatModel(["Noted.", ConnectionError("the model is down")]))
    async with open_memory() as reme:
        handle = reme.attach(agent, session_id="s", recall="off")
        await say(agent, "The stork nests in April.")
        handle.detach()
        await fail(agent)
    async with open_memory() as reme:
        assert len((await reme.search("stork")).hits) == 1
        assert await logged(reme) == []
