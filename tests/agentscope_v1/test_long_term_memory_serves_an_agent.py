"""`ReMeLongTermMemory` in a real `ReActAgent`, in all three modes, and when things go wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.token import CharTokenCounter
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1 import ReMeLongTermMemory, ReMeToolkit
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import RECALL_TAG
from agentscope_reme.settings import Settings
from agentscope_reme.testing import Step, ToolCall
from tests.agentscope_v1.list_memory import ListMemory

Mode = Literal["agent_control", "static_control", "both"]
TEA = "Tea is served at four."


def agent_with(
    service: ListMemory, steps: list[Step], mode: Mode = "both", **kwargs: Any
) -> tuple[ReActAgent, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    agent = ReActAgent(
        "Friday",
        "You help.",
        model,
        OpenAIChatFormatter(),
        long_term_memory=ReMeLongTermMemory(service, session_id="s"),
        long_term_memory_mode=mode,
        **kwargs,
    )
    return agent, model


async def test_static_control_retrieves_and_records() -> None:
    service = ListMemory([TEA])
    agent, model = agent_with(service, ["At four."], "static_control")

    await agent(Msg("user", "When is tea?", "user"))

    assert TEA in model.requests[0].text
    assert f"<{RECALL_TAG}>" in model.requests[0].text
    assert model.requests[0].tool_names == []
    assert service.said("s") == ["When is tea?", "At four."]


async def test_agent_control_offers_two_tools_and_records_nothing_by_itself() -> None:
    service = ListMemory([TEA])
    agent, model = agent_with(
        service,
        [
            ToolCall("retrieve_from_memory", {"keywords": ["tea"], "limit": 3}),
            ToolCall("record_to_memory", {"thinking": "secret", "content": ["Bo likes tea."]}),
            "Noted.",
        ],
        "agent_control",
    )

    await agent(Msg("user", "When is tea?", "user"))

    assert model.requests[0].tool_names == ["record_to_memory", "retrieve_from_memory"]
    assert TEA in model.requests[1].text
    assert service.recalls == []
    assert service.said("s") == ["Bo likes tea."]


async def test_both_does_both() -> None:
    service = ListMemory([TEA])
    agent, model = agent_with(
        service, [ToolCall("record_to_memory", {"thinking": "", "content": ["Bo came."]}), "Ok."]
    )

    await agent(Msg("user", "When is tea?", "user"))

    assert TEA in model.requests[0].text
    assert service.said("s") == ["Bo came.", "When is tea?", "", "", "Ok."]


async def test_over_many_turns_every_message_is_recorded_once_and_recall_never() -> None:
    service = ListMemory([TEA])
    agent, _ = agent_with(service, ["one", "two", "three"], "static_control")

    for turn in range(3):
        await agent(Msg("user", f"tea {turn}", "user"))

    assert service.said("s") == ["tea 0", "one", "tea 1", "two", "tea 2", "three"]
    assert service.records == 3
    assert TEA not in json.dumps([m.model_dump(mode="json") for m in service.sessions["s"]])


@pytest.mark.parametrize("template", [None, "Up to now: {task_overview}"])
async def test_the_summary_of_agentscopes_compression_is_never_recorded(
    template: str | None,
) -> None:
    service = ListMemory()
    summary = dict.fromkeys(
        [
            "task_overview",
            "current_state",
            "important_discoveries",
            "next_steps",
            "context_to_preserve",
        ],
        "SUMMARY",
    )
    config = ReActAgent.CompressionConfig(
        enable=True,
        agent_token_counter=CharTokenCounter(),
        trigger_threshold=700,
        keep_recent=1,
        **({"summary_template": template} if template else {}),
    )
    agent, model = agent_with(
        service,
        ["one " * 250, summary, "two", "three"],
        "static_control",
        compression_config=config,
    )

    for turn in range(3):
        await agent(Msg("user", f"question {turn}", "user"))

    assert "SUMMARY" in model.requests[-1].text
    assert "SUMMARY" not in " ".join(service.said("s"))
    assert [text for text in service.said("s") if "question" in text] == [
        "question 0",
        "question 1",
        "question 2",
    ]


async def test_a_summary_is_known_by_its_words_after_a_restart_too() -> None:
    service = ListMemory()
    memory = ReMeLongTermMemory(service, session_id="s")
    summary = "<system-info>Here is a summary of your previous work\nMuch.</system-info>"

    await memory.record([Msg("user", summary, "user"), None, Msg("user", "hi", "user")])

    assert service.said("s") == ["hi"]


async def test_the_first_turns_are_recorded_in_whatever_order_they_were_made() -> None:
    service = ListMemory()
    memory = ReMeLongTermMemory(service, session_id="s")
    answer = Msg("Friday", "At four.", "assistant", timestamp="2026-01-01 00:00:00.000")

    await memory.record([Msg("user", "When is tea?", "user"), answer])

    assert service.said("s") == ["When is tea?", "At four."]


async def test_nothing_known_adds_nothing_to_the_conversation() -> None:
    agent, model = agent_with(ListMemory(), ["hm"], "static_control")

    await agent(Msg("user", "When is tea?", "user"))

    assert "long_term_memory" not in model.requests[0].text


@pytest.mark.parametrize("call", ["recall", "record"])
async def test_a_broken_memory_costs_no_reply(call: str) -> None:
    service = ListMemory([TEA])
    service.broken[call] = RuntimeError("broken")
    agent, _ = agent_with(service, ["At four."], "static_control")

    reply = await agent(Msg("user", "When is tea?", "user"))

    assert reply.get_text_content() == "At four."
    assert len(service.failures) == 1


async def test_what_failed_to_be_recorded_is_recorded_with_the_next_turn() -> None:
    service = ListMemory()
    service.broken["record"] = OSError("full")
    agent, _ = agent_with(service, ["one", "two"], "static_control")
    await agent(Msg("user", "first", "user"))

    service.broken.clear()
    await agent(Msg("user", "second", "user"))

    assert service.said("s") == ["first", "one", "second", "two"]


async def test_a_slow_memory_is_not_waited_for() -> None:
    service = ListMemory([TEA], settings=Settings(recall_deadline_ms=5))
    service.slow.add("recall")
    agent, _ = agent_with(service, ["At four?"], "static_control")

    reply = await agent(Msg("user", "When is tea?", "user"))

    assert reply.get_text_content() == "At four?"
    assert isinstance(service.failures[0][1], TimeoutError)


async def test_cancellation_goes_through() -> None:
    service = ListMemory([TEA], settings=Settings(recall_deadline_ms=60_000))
    service.slow.add("recall")
    memory = ReMeLongTermMemory(service, session_id="s")
    task = asyncio.create_task(memory.retrieve(Msg("user", "tea", "user")))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert service.failures == []


@pytest.mark.parametrize(
    "turn",
    [
        None,
        [],
        Msg("user", "  ", "user"),
        Msg(
            "user",
            [{"type": "image", "source": {"type": "base64", "media_type": "a/b", "data": "eA=="}}],
            "user",
        ),
    ],
    ids=["none", "no turn", "blank", "only an image"],
)
async def test_a_turn_without_words_asks_nothing(turn: Any) -> None:
    service = ListMemory([TEA])

    assert await ReMeLongTermMemory(service, session_id="s").retrieve(turn) == ""
    assert service.recalls == []


async def test_a_pasted_document_is_not_a_query() -> None:
    service = ListMemory([TEA])

    await ReMeLongTermMemory(service, session_id="s").retrieve(Msg("u", "tea " * 5000, "user"))

    assert len(service.recalls[0]) == 2000


async def test_a_fact_the_model_repeats_is_saved_once() -> None:
    service = ListMemory()
    memory = ReMeLongTermMemory(service, session_id="s")

    first = await memory.record_to_memory("", ["Bo likes tea."])
    second = await memory.record_to_memory("again", ["Bo likes tea."])

    assert first.content[0]["text"] == "Saved."
    assert second.content[0]["text"] == "Saved already."
    assert service.said("s") == ["Bo likes tea."]


@pytest.mark.parametrize(
    ("content", "said"),
    [("Bo likes tea.", ["Bo likes tea."]), ([], []), ([" "], []), (None, []), ([7], ["7"])],
)
async def test_tools_survive_arguments_of_the_wrong_type(content: Any, said: list[str]) -> None:
    service = ListMemory()
    memory = ReMeLongTermMemory(service, session_id="s")

    await memory.record_to_memory("", content)

    assert service.said("s") == said


@pytest.mark.parametrize("limit", ["2", 2, "many", None, -1, 10**9])
async def test_a_strange_limit_still_finds(limit: Any) -> None:
    memory = ReMeLongTermMemory(ListMemory([TEA]), session_id="s")

    found = await memory.retrieve_from_memory(["tea"], limit)

    assert found.content[0]["text"] == TEA


async def test_a_tool_answer_is_capped() -> None:
    service = ListMemory(["täa " * 2000], settings=Settings(tool_answer_bytes=1024))

    found = await ReMeLongTermMemory(service, session_id="s").retrieve_from_memory(["täa"])

    text = found.content[0]["text"]
    assert len(text.encode()) <= 1024
    assert "Cut at 1024 bytes" in text


@pytest.mark.parametrize("call", ["search", "record"])
async def test_a_broken_tool_answers_in_words(call: str) -> None:
    service = ListMemory()
    service.broken[call] = OSError("full")
    memory = ReMeLongTermMemory(service, session_id="s")

    answers = [
        await memory.retrieve_from_memory(["tea"]),
        await memory.record_to_memory("", ["tea"]),
    ]

    assert any("Go on without it" in answer.content[0]["text"] for answer in answers)
    assert len(service.failures) == 1


async def test_two_agents_share_one_toolkit_and_one_memory() -> None:
    service = ListMemory([TEA])
    toolkit, memory = ReMeToolkit(service), ReMeLongTermMemory(service, session_id="s")

    for name in ("one", "two"):
        ReActAgent(
            name,
            "",
            ScriptedChatModel(),
            OpenAIChatFormatter(),
            toolkit=toolkit,
            long_term_memory=memory,
        )

    assert set(toolkit.tools) >= {"memory_search", "record_to_memory", "retrieve_from_memory"}


def test_the_schema_of_the_tools_comes_from_their_documentation() -> None:
    toolkit = Toolkit()
    memory = ReMeLongTermMemory(ListMemory(), session_id="s")
    toolkit.register_tool_function(memory.record_to_memory)

    (schema,) = toolkit.get_json_schemas()

    function = schema["function"]
    assert function["description"].startswith("Remember facts beyond this conversation.")
    assert set(function["parameters"]["properties"]) == {"thinking", "content"}
    assert function["parameters"]["properties"]["content"]["type"] == "array"


def test_a_session_id_that_names_nothing_is_refused() -> None:
    with pytest.raises(BadInput):
        ReMeLongTermMemory(ListMemory(), session_id="..")


async def test_working_memory_of_any_kind_stays_the_agents_own() -> None:
    memory = InMemoryMemory()
    agent, _ = agent_with(ListMemory(), ["ok"], memory=memory)

    await agent(Msg("user", "hi", "user"))

    assert await memory.size() == 2
