"""The stand-in drives real AgentScope 1.x agents through the model interface alone."""

from __future__ import annotations

from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter, FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.tool import Toolkit
from stand_in_model import make_stand_in

from agentscope_reme.agentscope_v1.ports import agent_port, chat_port
from agentscope_reme.agentscope_v1.tools import register_tools
from agentscope_reme.ports import AgentRun
from tests.examples.stand_in_cases import (
    ANSWER,
    CONVERSATION,
    INSTRUCTIONS,
    QUESTION,
    Recorder,
    Verdict,
)


async def ask(formatter: FormatterBase, *texts: str) -> tuple[list[str], Recorder]:
    model, _ = make_stand_in()
    recorder, toolkit = Recorder(), Toolkit()
    register_tools(toolkit, recorder.tools())
    agent = ReActAgent("Friday", "Be kind.", model, formatter, toolkit=toolkit)
    replies = [await agent(Msg("Mira", text, "user")) for text in texts]
    return [reply.get_text_content() or "" for reply in replies], recorder


async def test_it_searches_and_quotes() -> None:
    replies, recorder = await ask(OpenAIChatFormatter(), "Hello, I am Mira.", QUESTION, QUESTION)
    assert replies == ["Noted.", ANSWER, ANSWER]
    assert [(q.query, q.limit) for q in recorder.queries] == [("degrees green tea", 8)] * 2


async def test_it_reads_the_prompts_of_dashscope_too() -> None:
    replies, _ = await ask(DashScopeChatFormatter(), QUESTION)
    assert replies == [ANSWER]


async def test_it_writes_one_card_in_a_background_run() -> None:
    model, formatter = make_stand_in()
    recorder = Recorder()
    run: AgentRun[Verdict] = await agent_port(model, formatter).run(
        INSTRUCTIONS, [CONVERSATION], recorder.tools()
    )
    assert run.text == "Wrote the card."
    (card,) = recorder.cards
    assert card.content == (
        "## Notes\n\n- 2026-06-18 09:00 Mira: Green tea needs water of 75 degrees.\n"
    )


async def test_it_answers_in_a_structure() -> None:
    model, formatter = make_stand_in()
    reply = await chat_port(model, formatter).structured([CONVERSATION], Verdict)
    assert "tea" in reply.value.tags
