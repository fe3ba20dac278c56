"""Whatever a conversation looks like: after compaction a provider takes it, and nothing is lost.

``REME_WINDOW_EXAMPLES`` sets how many random conversations are tried.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe, ReMeMemory, Settings
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.agentscope_v1.window_memory import WindowMemory
from agentscope_reme.hooks import MemoryCompactionHook
from agentscope_reme.messages import Message
from agentscope_reme.ports import ChatReply, StructuredReply
from tests.window.histories import History, histories

EXAMPLES = int(os.environ.get("REME_WINDOW_EXAMPLES", "100"))
SYSTEM_PROMPT = "You help with everything. " * 4


class Writer:
    """A model that writes a checkpoint, whatever it is asked."""

    supports_images = False

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        return ChatReply("## Goal\nHelp.\n\n## Progress\nSome.\n\n## Next Steps\n1. More.")

    async def structured(self, messages: Sequence[Message], output: Any) -> StructuredReply[Any]:
        raise AssertionError("not asked")


class Place:
    """One workspace and one event loop for all examples; each has a session of its own."""

    def __init__(self, folder: Path) -> None:
        self.runner = asyncio.Runner()
        self.folder = folder
        self.sessions = count()
        quiet = Settings(watch=False, fsync=False, record_every_turns=10**6)
        self.reme = ReMe(folder, chat_model=Writer(), settings=quiet)

    def close(self) -> None:
        self.runner.run(self.reme.close())
        self.runner.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("memory"))
    yield made
    made.close()


async def compacted(
    place: Place, history: History, session: str, threshold: int, *, plain: bool
) -> tuple[ReActAgent, MemoryCompactionHook]:
    memory = InMemoryMemory() if plain else ReMeMemory(place.reme, session)
    await memory.add(history.messages)
    agent = ReActAgent(
        "F", SYSTEM_PROMPT, ScriptedChatModel([]), OpenAIChatFormatter(), memory=memory
    )
    hook = MemoryCompactionHook(
        place.reme, threshold, session_id=session, keep_recent=None, record=True
    )
    await hook(agent, {})
    return agent, hook


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    history=histories(),
    threshold=st.sampled_from([400, 1_200, 4_000, 20_000]),
    plain=st.booleans(),
)
def test_the_window_is_valid_within_budget_and_nothing_is_lost(
    place: Place, history: History, threshold: int, plain: bool
) -> None:
    session = f"session-{next(place.sessions)}"

    async def play() -> tuple[list[Any], list[dict[str, Any]], dict[str, Any], int, int]:
        agent, _ = await compacted(place, history, session, threshold, plain=plain)
        window = await agent.memory.get_memory(prepend_summary=False)
        prompt = await OpenAIChatFormatter().format(
            [msg for msg in await agent.memory.get_memory() if _formed(msg.content)]
        )
        meter = WindowMemory().meter
        summary = str(agent.memory.state_dict()["_compressed_summary"])
        extra = await meter.text(SYSTEM_PROMPT) + await meter.text(summary) + 50
        return (
            window,
            prompt,
            agent.memory.state_dict(),
            await meter.total(window) + extra,
            await meter.total(history.messages) + extra,
        )

    window, prompt, state, after, before = place.runner.run(play())
    touched = len(window) < len(history.messages) or after < before
    event(f"touched: {touched}")
    if touched:
        assert_a_provider_takes(prompt)
    live = history.messages[history.live_from]
    assert live.id in [msg.id for msg in window]
    if after > threshold + 50:
        assert _smallest(history) + threshold // 4 + 50 > threshold
    assert_nothing_is_lost(place.folder, session, state, history)


def assert_a_provider_takes(prompt: list[dict[str, Any]]) -> None:
    """Every call is answered right behind it, every answer has its call, nothing comes twice."""
    waiting: set[str] = set()
    for message in prompt:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        calls = [call["id"] for call in message.get("tool_calls") or ()]
        assert len(calls) == len(set(calls))
        waiting = set(calls)
    assert not waiting


def assert_nothing_is_lost(
    folder: Path, session: str, state: dict[str, Any], history: History
) -> None:
    logs = [folder / f"session/{kind}/{session}.jsonl" for kind in ("agentscope", "dialog")]
    kept = [place.read_text("utf-8") for place in logs if place.exists()]
    everything = "\n".join([json.dumps(state, ensure_ascii=False), *kept])
    for name in filter(lambda name: (folder / name).exists(), _named_files(everything)):
        data = (folder / name).read_bytes()
        everything += data.decode() if name.endswith(".txt") else base64.b64encode(data).decode()
    for payload in [*history.markers, *history.images]:
        assert payload in everything


def _named_files(text: str) -> set[str]:
    return set(re.findall(r"tool_result/[0-9a-f]{32}\.[a-z0-9]+", text))


def _smallest(history: History) -> int:
    """About what the turn that is being worked on needs when its results are moved to files."""
    live = history.messages[history.live_from :]
    meter = WindowMemory().meter
    request = asyncio.run(meter.total(live[:1]))
    return request + asyncio.run(meter.text(SYSTEM_PROMPT)) + 250 * len(live[1:])


def _formed(content: Any) -> bool:
    return isinstance(content, str) or all(isinstance(part, dict) for part in content)
