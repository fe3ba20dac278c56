"""The stand-in drives real AgentScope 2.x agents through the model interface alone."""

from __future__ import annotations

from agentscope.agent import Agent
from agentscope.message import UserMsg
from agentscope.tool import Toolkit
from stand_in_model import make_stand_in

from agentscope_reme.agentscope_v2.ports import agent_port, chat_port
from agentscope_reme.agentscope_v2.tools import register_tools
from agentscope_reme.ports import AgentRun
from tests.examples.stand_in_cases import (
    ANSWER,
    CONVERSATION,
    INSTRUCTIONS,
    QUESTION,
    Recorder,
    Verdict,
)


async def test_it_searches_and_quotes() -> None:
    model, _ = make_stand_in()
    recorder, toolkit = Recorder(), Toolkit()
    await register_tools(toolkit, recorder.tools())
    agent = Agent("Friday", "Be kind.", model, toolkit=toolkit)
    texts = ("Hello, I am Mira.", QUESTION, QUESTION)
    replies = [await agent.reply(UserMsg("Mira", text)) for text in texts]
    assert [reply.get_text_content() for reply in replies] == ["Noted.", ANSWER, ANSWER]
    assert [(q.query, q.limit) for q in recorder.queries] == [("degrees green tea", 8)] * 2


async def test_it_writes_one_card_in_a_background_run() -> None:
    model, _ = make_stand_in()
    recorder = Recorder()
    run: AgentRun[Verdict] = await agent_port(model).run(
        INSTRUCTIONS, [CONVERSATION], recorder.tools()
    )
    assert run.text == "Wrote the card."
    (card,) = recorder.cards
    assert card.content == (
        "## Notes\n\n- 2026-06-18 09:00 Mira: Green tea needs water of 75 degrees.\n"
    )


async def test_it_answers_in_a_structure() -> None:
    model, _ = make_stand_in()
    reply = await chat_port(model).structured([CONVERSATION], Verdict)
    assert "tea" in reply.value.tags
