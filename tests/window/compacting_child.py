"""A process whose agent compacts its window and is killed on the way."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.session import JSONSession

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.hooks import MemoryCompactionHook
from agentscope_reme.messages import Message
from tests.window.parts import Writer

STEPS = ("open", "os.rename", "os.link", "os.mkdir", "summarise")
THRESHOLD = 400


class DyingWriter(Writer):
    """A writer whose every answer is a step as well."""

    async def complete(self, messages: Sequence[Message]) -> Any:
        sys.audit("summarise")
        return await super().complete(messages)


def opened(folder: Path) -> ReMe:
    quiet = Settings(watch=False, fsync=False, record_every_turns=10**6, close_drain_seconds=1.0)
    return ReMe(folder / "memory", chat_model=DyingWriter(), settings=quiet)


def an_agent(reme: ReMe) -> ReActAgent:
    return ReActAgent(
        "Friday",
        "You help.",
        ScriptedChatModel([]),
        OpenAIChatFormatter(),
        memory=reme.memory(session_id="s"),
    )


async def compact(folder: Path, die_at: int | None = None) -> ReActAgent:
    """Load the session, compact its window, save it; or die before a step of that."""
    reme = opened(folder)
    await reme.start()
    agent = an_agent(reme)
    session = JSONSession(str(folder / "sessions"))
    await session.load_session_state("s", agent=agent)
    if die_at is not None:
        _die_before(die_at)
    await MemoryCompactionHook(reme, THRESHOLD, record=True)(agent, {})
    if die_at is None:
        await session.save_session_state("s", agent=agent)
        await reme.close()
    return agent


def _die_before(step: int) -> None:
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event != "open" or "w" in str(arguments[1]) or _writes(arguments)
        if event in STEPS and writes:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _writes(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR))


def main(folder: str, step: int) -> None:
    """Compact, and be killed before the given step; end with status 0 when there are fewer."""
    os.environ["AGENTSCOPE_DISABLE_CONSOLE_OUTPUT"] = "true"
    asyncio.run(compact(Path(folder), step))
    os._exit(0)
