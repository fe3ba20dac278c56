"""Recalled memory is in the prompt in time, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest
from agentscope.agent import ModelConfig
from agentscope.formatter import DeepSeekChatFormatter
from agentscope.message import Base64Source, DataBlock, Msg, UserMsg

from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import DataBlock as Data
from agentscope_reme.settings import Settings
from agentscope_reme.testing import ToolCall
from tests.agentscope_v2.agents import PIXEL, Weather, make_agent, script_of, user
from tests.agentscope_v2.memory_service import InMemoryService

FACT = "tea: Ann drinks green tea"


@pytest.fixture
def knowing(memory: InMemoryService) -> InMemoryService:
    memory.known["tea"] = FACT
    return memory


def names(messages: tuple[Msg, ...]) -> list[str]:
    return [message.name for message in messages]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_one_step_reply_sees_it(knowing: InMemoryService, stream: bool) -> None:
    model = ScriptedChatModel(["Green tea."], stream=stream)
    agent = make_agent(model, middlewares=[ReMeMemoryMiddleware(knowing)])
    await agent.reply(user("Which tea?"))
    assert names(model.requests[0].messages) == ["system", "memory", "Ann"]
    assert FACT in model.requests[0].text


async def test_it_leaves_no_trace_in_the_agent(knowing: InMemoryService) -> None:
    agent = make_agent(["Green tea."], middlewares=[ReMeMemoryMiddleware(knowing)])
    await agent.reply(user("Which tea?"))
    assert FACT not in agent.state.model_dump_json()
    assert FACT not in str(knowing.sessions)


async def test_it_stands_before_the_question_in_every_step(knowing: InMemoryService) -> None:
    agent = make_agent(
        ["Hi.", ToolCall("weather"), "Iced tea."],
        middlewares=[ReMeMemoryMiddleware(knowing)],
        tools=[Weather()],
    )
    await agent.reply(user("Hello"))
    await agent.reply(user("Which tea?"))
    first, second, third = script_of(agent).requests
    assert FACT not in first.text
    assert names(second.messages) == ["system", "Ann", "Friday", "memory", "Ann"]
    assert names(third.messages) == ["system", "Ann", "Friday", "memory", "Ann", "Friday"]
    assert [b.type for b in third.messages[-1].content] == ["tool_call", "tool_result"]


async def test_a_slow_memory_is_not_waited_for(knowing: InMemoryService) -> None:
    knowing.hold = asyncio.Event()
    knowing.limits = Settings(recall_deadline_ms=1)
    agent = make_agent(["I do not know."], middlewares=[ReMeMemoryMiddleware(knowing)])
    await agent.reply(user("Which tea?"))
    assert FACT not in script_of(agent).requests[0].text
    ((where, error),) = knowing.failures
    assert (where, type(error)) == ("middleware.recall", TimeoutError)
    assert len(knowing.log("s1")) == 2


async def test_a_failing_memory_is_reported(knowing: InMemoryService) -> None:
    knowing.failing = {"recall": RuntimeError("index gone")}
    agent = make_agent(["I do not know."], middlewares=[ReMeMemoryMiddleware(knowing)])
    await agent.reply(user("Which tea?"))
    assert [where for where, _ in knowing.failures] == ["middleware.recall"]


async def test_cancelling_while_recalling_cancels(knowing: InMemoryService) -> None:
    knowing.hold = asyncio.Event()
    knowing.limits = Settings(recall_deadline_ms=60_000)
    agent = make_agent([], middlewares=[ReMeMemoryMiddleware(knowing)])
    reply = asyncio.create_task(agent.reply(user("Which tea?")))
    await knowing.asked.wait()
    reply.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reply
    assert knowing.failures == []


async def test_images_are_shown_to_a_model_that_takes_them(knowing: InMemoryService) -> None:
    knowing.media = [Data(media_type="image/png", data=PIXEL)]
    seeing = make_agent(["A cup."], middlewares=[ReMeMemoryMiddleware(knowing)])
    await seeing.reply(user("Which tea?"))
    assert [b.type for b in script_of(seeing).requests[0].messages[1].content] == ["text", "data"]
    blind_model = ScriptedChatModel(["No idea."], formatter=DeepSeekChatFormatter())
    blind = make_agent(blind_model, middlewares=[ReMeMemoryMiddleware(knowing)])
    await blind.reply(user("Which tea?"))
    assert PIXEL not in blind_model.requests[0].text
    assert FACT in blind_model.requests[0].text


async def test_a_fallback_model_is_shown_what_it_can_take(knowing: InMemoryService) -> None:
    knowing.media = [Data(media_type="image/png", data=PIXEL)]
    seeing = ScriptedChatModel([ConnectionError("down")])
    blind = ScriptedChatModel(["Tea."], formatter=DeepSeekChatFormatter())
    agent = make_agent(
        seeing,
        middlewares=[ReMeMemoryMiddleware(knowing)],
        model_config=ModelConfig(fallback_model=blind),
    )
    await agent.reply(user("Which tea?"))
    assert PIXEL in seeing.requests[0].text
    assert PIXEL not in blind.requests[0].text
    assert FACT in blind.requests[0].text


async def test_a_turn_without_words_recalls_nothing(knowing: InMemoryService) -> None:
    agent = make_agent(["A picture."], middlewares=[ReMeMemoryMiddleware(knowing)])
    image = DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"))
    await agent.reply(UserMsg("Ann", [image]))
    assert knowing.calls["recall"] == 0
    assert len(knowing.log("s1")) == 2


async def test_a_small_window_gets_a_small_part(knowing: InMemoryService) -> None:
    knowing.known["tea"] = "tea " * 4000
    agent = make_agent(
        ScriptedChatModel(["Yes."], context_size=2000), middlewares=[ReMeMemoryMiddleware(knowing)]
    )
    await agent.reply(user("Which tea?"))
    (recalled,) = [m for m in script_of(agent).requests[0].messages if m.name == "memory"]
    assert len(recalled.get_text_content()) == 2000 // 8 * 4


@pytest.mark.parametrize(
    ("mode", "recalls", "tools"),
    [("both", 1, 2), ("static", 1, 0), ("agent", 0, 2), ("off", 0, 0)],
)
async def test_modes(knowing: InMemoryService, mode: str, recalls: int, tools: int) -> None:
    middleware = ReMeMemoryMiddleware(knowing, mode=mode)  # type: ignore[arg-type]
    agent = make_agent(["One.", "Two."], middlewares=[middleware])
    await agent.reply(user("Which tea?"))
    assert knowing.calls["recall"] == recalls
    assert len(script_of(agent).requests[0].tool_names) == tools
    assert len(knowing.log("s1")) == 2
    await agent.reply(user("Again?"))
    assert len(script_of(agent).requests[1].tool_names) == tools


def test_an_unknown_mode_is_refused(memory: InMemoryService) -> None:
    with pytest.raises(BadInput, match="static"):
        ReMeMemoryMiddleware(memory, mode="always")  # type: ignore[arg-type]


async def test_the_memory_is_started_by_the_first_reply(memory: InMemoryService) -> None:
    middleware = ReMeMemoryMiddleware(memory)
    agent = make_agent(["Hi."], middlewares=[middleware])
    assert memory.calls["start"] == 0
    await agent.reply(user("Hello"))
    assert memory.calls["start"] > 0


async def test_tools_can_be_listed_and_chosen(memory: InMemoryService) -> None:
    listed = await ReMeMemoryMiddleware(memory).list_tools()
    assert [tool.name for tool in listed] == ["memory_search", "remember"]
    chosen = await ReMeMemoryMiddleware(memory, include=["remember"]).list_tools()
    assert [tool.name for tool in chosen] == ["remember"]
    readers = await ReMeMemoryMiddleware(memory, read_only=True).list_tools()
    assert [tool.name for tool in readers] == ["memory_search"]


async def test_two_memories_in_one_agent_recall_once(knowing: InMemoryService) -> None:
    chain = [ReMeMemoryMiddleware(knowing), ReMeMemoryMiddleware(knowing)]
    agent = make_agent(["Green."], middlewares=chain)
    await agent.reply(user("Which tea?"))
    assert script_of(agent).requests[0].text.count(FACT) == 1
    assert len(knowing.log("s1")) == 2
    assert knowing.calls["record"] == 1
