"""A model with a small window gets small prompts: nothing is compressed, nothing is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.context import estimate_tokens
from agentscope_reme.ports import prompt_budget
from agentscope_reme.testing import FakeClock, Request
from agentscope_reme.testing.script import Plain

WINDOW = 3000
QUIET = Settings(watch=False, fsync=False)


def nothing(_request: Request) -> Plain:
    return "Nothing worth a card."


@pytest.fixture
def model() -> ScriptedChatModel:
    return ScriptedChatModel([nothing] * 60, context_size=WINDOW)


def refuse_large(model: ScriptedChatModel) -> None:
    assert max(estimate_tokens(request.text) for request in model.requests) < WINDOW
    assert not any("continuation summary" in request.text for request in model.requests)


async def test_a_long_conversation_is_distilled_in_parts(
    tmp_path: Path, model: ScriptedChatModel
) -> None:
    said = [
        {"role": "user", "id": f"m{n}", "content": f"fact-{n} " + "and so it went on " * 30}
        for n in range(40)
    ]
    async with ReMe(tmp_path, chat_model=model, settings=QUIET, clock=FakeClock()) as reme:
        result = await reme.auto_memory(said, session_id="s")
    assert not result.pending
    assert len(model.requests) > 2
    told = "\n".join(request.text for request in model.requests)
    assert [n for n in range(40) if f"fact-{n} " not in told] == []
    refuse_large(model)


async def test_a_long_resource_is_read_in_parts(tmp_path: Path, model: ScriptedChatModel) -> None:
    lines = "".join(f"line-{n} and so it went on and on and on\n" for n in range(400))
    async with ReMe(tmp_path, chat_model=model, settings=QUIET, clock=FakeClock()) as reme:
        await reme.write("resource/2026-06-20/a.txt", lines)
        await reme.auto_resource()
    assert len(model.requests) > 2
    told = "\n".join(request.text for request in model.requests)
    assert [n for n in range(400) if f"line-{n} " not in told] == []
    refuse_large(model)


async def test_a_dream_reads_as_much_as_fits(tmp_path: Path, model: ScriptedChatModel) -> None:
    async with ReMe(tmp_path, chat_model=model, settings=QUIET, clock=FakeClock()) as reme:
        await reme.daily_write("tea", "", "tea " * 4000)
        await reme.auto_dream()
    assert model.requests
    refuse_large(model)


@pytest.mark.parametrize(
    ("window", "budget"), [(3000, 1500), (None, 24_000), (0, 24_000), (1_000_000, 24_000)]
)
def test_the_budget_is_the_setting_or_half_of_a_known_window(
    window: int | None, budget: int
) -> None:
    class Port:
        context_tokens = window

    assert prompt_budget(Port(), 24_000) == budget
    assert prompt_budget(object(), 24_000) == 24_000
