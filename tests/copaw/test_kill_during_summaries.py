"""``kill -9`` at a random moment: every acknowledged summary task is noted once, sooner or later.

``REME_COPAW_CRASH_ROUNDS`` says how often.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import re
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme import ReMeCopaw, Settings
from agentscope_reme.testing import FakeClock, Request, ScriptedChatModel, ToolCall

ROUNDS = int(os.environ.get("REME_COPAW_CRASH_ROUNDS", "10"))
TODAY = "memory/2026-06-20.md"
_LONGEST_SECONDS = 0.06


def keep_notes(request: Request) -> ToolCall | str:
    """A model that notes the number of the conversation it is shown."""
    if re.search(r"(Created|Edited) memory", request.text):
        return "Noted."
    number = re.search(r"conversation-(\d+)", request.text)
    assert number is not None
    line = f"- note-{number[1]}\n"
    if "does not exist yet" in request.text:
        return ToolCall("write", {"path": TODAY, "content": f"# Notes\n\n{line}"})
    return ToolCall("edit", {"path": TODAY, "old": "# Notes\n\n", "new": f"# Notes\n\n{line}"})


def open_here(root: str) -> ReMeCopaw:
    return ReMeCopaw(
        root,
        chat_model=ScriptedChatModel([keep_notes] * 10_000),
        formatter=OpenAIChatFormatter(),
        token_counter=None,
        toolkit=None,
        max_input_length=128_000,
        memory_compact_ratio=0.7,
        language="",
        settings=Settings(watch=False),
        clock=FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin"),
    )


def _child(root: str, first: int, out: Connection) -> None:
    async def live() -> None:
        copaw = await open_here(root).start()
        for number in range(first, first + 1000):
            copaw.add_async_summary_task([Msg("user", f"conversation-{number}", "user")])
            out.send(number)
            if number % 3 == 0:
                await copaw.await_summary_tasks()
            await asyncio.sleep(0)

    asyncio.run(live())


@pytest.mark.crash
def test_no_acknowledged_task_is_lost_and_none_is_noted_twice(tmp_path: Path) -> None:
    root = str(tmp_path / "work")
    acknowledged: set[int] = set()
    for seed in range(ROUNDS):
        acknowledged |= set(_killed_run(root, seed))
        asyncio.run(_go_on(root))
        noted = re.findall(r"note-(\d+)", (tmp_path / "work" / TODAY).read_text())
        assert len(noted) == len(set(noted)), seed
        assert {str(number) for number in acknowledged} <= set(noted), seed


async def _go_on(root: str) -> None:
    async with open_here(root) as copaw:
        told = await copaw.await_summary_tasks()
        assert "failed" not in told
        assert not list((copaw.working_path / "journal" / "summaries").glob("*.json"))


def _killed_run(root: str, seed: int) -> list[int]:
    chance = random.Random(seed)
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.copaw.test_kill_during_summaries"])
    listening, out = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(root, 1000 * seed, out), daemon=True)
    child.start()
    out.close()
    said = [listening.recv() for _ in range(chance.randrange(1, 8))]
    end = time.monotonic() + chance.random() * _LONGEST_SECONDS
    while time.monotonic() < end:  # somewhere inside the next task or its commit
        pass
    child.kill()
    while True:
        try:
            said.append(listening.recv())
        except EOFError:
            break
    child.join()
    return said
