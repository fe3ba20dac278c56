"""A message id that an application uses again loses no turn."""

from __future__ import annotations

import pytest
from agentscope.message import DataBlock, Msg, TextBlock, URLSource, UserMsg

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from tests.agentscope_v2.agents import make_agent, saved_and_loaded, user
from tests.agentscope_v2.memory_service import InMemoryService


def said(memory: InMemoryService) -> list[str]:
    return [message.text for message in memory.log("s1")]


async def test_other_words_under_one_id_are_another_turn(memory: InMemoryService) -> None:
    agent = make_agent(["One.", "Two."], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(user("first", id="1"))
    await agent.reply(user("second", id="1"))
    assert said(memory) == ["first", "One.", "second", "Two."]
    ids = [message.id for message in memory.log("s1")]
    assert ids[0] == "1"
    assert len(set(ids)) == 4


async def test_also_after_a_restart(memory: InMemoryService) -> None:
    first = make_agent(["One."], middlewares=[ReMeMemoryMiddleware(memory)])
    await first.reply(user("first", id="1"))
    second = make_agent(
        ["Two."], middlewares=[ReMeMemoryMiddleware(memory)], state=saved_and_loaded(first.state)
    )
    await second.reply(user("second", id="1"))
    assert said(memory) == ["first", "One.", "second", "Two."]


async def test_two_messages_of_one_call_may_share_one(memory: InMemoryService) -> None:
    memory.known["second"] = "second: known"
    model = ScriptedChatModel(["One."])
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(memory)])
    given = [user("first", id="1"), user("second", id="1")]
    await agent.reply(given)
    assert said(memory) == ["first", "second", "One."]
    assert [msg.id for msg in given] == ["1", "1"]
    assert [msg.name for msg in model.requests[0].messages] == ["system", "memory", "Ann", "Ann"]


@pytest.mark.parametrize("same_blocks", [True, False])
async def test_a_message_that_is_sent_again_after_a_failure_is_one_turn(
    memory: InMemoryService, same_blocks: bool
) -> None:
    agent = make_agent(
        [ConnectionError("down"), ConnectionError("down"), "Here."],
        middlewares=[ReMeMemoryMiddleware(memory)],
    )
    await agent.observe(user("before", id="1"))
    question = user("Are you there?", id="1")
    for attempt in range(3):
        again = question if same_blocks else user("Are you there?", id="1")
        if attempt < 2:
            with pytest.raises(ConnectionError):
                await agent.reply(again)
        else:
            await agent.reply(again)
    assert said(memory) == ["before", "Are you there?", "Here."]


async def test_a_file_attached_twice_under_one_id_is_one_turn(memory: InMemoryService) -> None:
    """One message that is sent again is the same one, whatever became of its attachments."""
    source = URLSource(url="https://example.org/zebra.png", media_type="image/png")
    asked = UserMsg("Ann", [TextBlock(text="look"), DataBlock(source=source)], id="1")
    agent = make_agent(["One.", "Two."], middlewares=[ReMeMemoryMiddleware(memory)])
    await agent.reply(asked)
    (kept,) = [msg for msg in agent.state.context if msg.id == "1"]
    kept.content = [kept.content[0], TextBlock(text="[an image that was taken out]")]
    await agent.reply(Msg.model_validate(asked.model_dump()))
    assert said(memory) == ["look", "One.", "Two."]


async def test_a_fault_in_telling_them_apart_costs_no_reply(
    memory: InMemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("agentscope_reme.agentscope_v2.middleware.told_apart", broken)
    agent = make_agent(["One."], middlewares=[ReMeMemoryMiddleware(memory)])
    reply = await agent.reply(user("first", id="1"))
    assert reply.get_text_content() == "One."
    assert said(memory) == ["first", "One."]
    assert [where for where, _ in memory.failures] == ["middleware.inputs"]
