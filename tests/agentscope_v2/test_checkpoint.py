"""A compression whose summary is the memory's checkpoint, or else AgentScope's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import Agent
from agentscope.message import HintBlock

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.testing import Request
from tests.agentscope_v2.agents import make_agent, saved_and_loaded, script_of, user
from tests.agentscope_v2.test_compression import LONG, WINDOW, play

CHECKPOINT = """## Goal
Feed the axolotl.

## Progress
{progress}

## Decisions
None.

## Next steps
Buy worms.

## Critical context
Tank 7."""


def writing(seen: list[str]) -> Callable[[Request], str]:
    progress = iter(["Two worms eaten.", "Four eaten.", "All eaten."])

    def step(request: Request) -> str:
        if "checkpoints of working conversations" not in request.text:
            return "Nothing worth a card."
        seen.append(request.text)
        return CHECKPOINT.format(progress=next(progress))

    return step


@pytest.fixture
def seen() -> list[str]:
    """What the memory's model was asked."""
    return []


@pytest.fixture
async def reme(tmp_path: Path, seen: list[str]) -> AsyncIterator[ReMe]:
    model = ScriptedChatModel([writing(seen)] * 30)
    quiet = Settings(watch=False, fsync=False)
    async with ReMe(tmp_path, chat_model=model, settings=quiet) as opened:
        yield opened


def small(reme: ReMe, *answers: Any, **options: Any) -> Agent:
    model = ScriptedChatModel(play(*answers), context_size=WINDOW)
    return make_agent(model, middlewares=[checking(reme)], **options)


def checking(reme: ReMe) -> Any:
    return reme.middleware(mode="static", checkpoint=True)


def asked_for_summaries(agent: Agent) -> int:
    return sum(request.output is not None for request in script_of(agent).requests)


async def test_the_checkpoint_is_the_summary_and_costs_one_call(
    reme: ReMe, seen: list[str]
) -> None:
    agent = small(reme, f"one {LONG}", "two")
    model = agent.model
    await agent.reply(user(f"The axolotl is hungry. {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert "Two worms eaten." in str(agent.state.summary)
    assert str(agent.state.summary).startswith("<system-info>")
    assert asked_for_summaries(agent) == 0
    assert agent.model is model
    (asked,) = seen
    assert "The axolotl is hungry." in asked


async def test_it_is_merged_into_the_next_one(reme: ReMe, seen: list[str]) -> None:
    agent = small(reme, *(f"{n} {LONG}" for n in range(4)))
    for number in range(3):
        await agent.reply(user(f"question {number} {LONG}"))
    assert "Four eaten." in str(agent.state.summary)
    assert str(agent.state.summary).count("<system-info>") == 1
    assert "Two worms eaten." in seen[1]
    assert "system-info" not in seen[1]
    assert saved_and_loaded(agent.state).summary == agent.state.summary


async def test_a_wish_of_the_user_is_passed_on(reme: ReMe, seen: list[str]) -> None:
    agent = small(reme, "unused")
    await agent.observe([user(f"{n} {LONG}") for n in ("first", "second", "third")])
    await agent.compress_context(instructions=HintBlock(hint="Keep the tank number."))
    assert "Keep the tank number." in seen[0]


async def test_without_a_model_of_the_memory_agentscope_summarises(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=Settings(watch=False, fsync=False)) as reme:
        agent = small(reme, f"one {LONG}", "two")
        await agent.reply(user(f"first {LONG}"))
        await agent.reply(user(f"second {LONG}"))
        assert "so far" in str(agent.state.summary)
        assert "# Next Steps" in str(agent.state.summary)
        assert asked_for_summaries(agent) == 1
        failures = (await reme.status()).failures
        assert set(failures) == {"middleware.checkpoint"}


class Uncopied(ScriptedChatModel):
    def __copy__(self) -> ScriptedChatModel:
        raise TypeError("one of its kind")


async def test_a_model_that_cannot_be_copied_summarises_by_itself(reme: ReMe) -> None:
    model = Uncopied(play(f"one {LONG}", "two"), context_size=WINDOW)
    agent = make_agent(model, middlewares=[checking(reme)])
    await agent.reply(user(f"first {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert "so far" in str(agent.state.summary)
    assert set((await reme.status()).failures) == {"middleware.checkpoint"}


async def test_what_is_dropped_is_archived_and_recorded_all_the_same(reme: ReMe) -> None:
    agent = small(reme, f"one {LONG}", "two")
    await agent.reply(user(f"The axolotl is hungry. {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert (await reme.search("axolotl")).hits[0].path == "session/dialog/s1.jsonl"
    assert (reme.workspace.root / "session/agentscope/s1.jsonl").exists()
