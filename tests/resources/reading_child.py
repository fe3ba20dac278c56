"""A process that reads resources with a model of its own, and may be killed on the way.

The model needs no AgentScope, so a child starts fast. A child that is to die counts what it does
to the file system and kills itself in front of the wanted step.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe, Settings
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentRun, Tool
from agentscope_reme.testing import FakeClock

_STEPS = frozenset({"os.rename", "os.link", "os.remove", "os.mkdir"})


class Reader:
    """Writes or edits the card it is asked for; every run leaves a line in a file.

    Args:
        calls: the file.
        wait_for: a file that must be there before the first answer.
    """

    supports_images = True

    def __init__(self, calls: Path, wait_for: Path | None = None) -> None:
        self._calls = calls
        self._wait_for = wait_for

    async def run(
        self, instructions: str, messages: Sequence[Message], tools: Sequence[Tool], **_: Any
    ) -> AgentRun[Any]:
        with self._calls.open("a") as calls:
            calls.write(f"{os.getpid()}\n")
        while self._wait_for is not None and not self._wait_for.exists():
            time.sleep(0.005)  # noqa: ASYNC251 - this process has nothing else to do
        by_name = {tool.name: tool for tool in tools}
        if "daily_write" in by_name:
            card = {"name": "card", "description": "One.", "content": "# Card\n\nFirst.\n"}
            await by_name["daily_write"].call(card)
        else:
            path = messages[0].text.split("\nCard: ")[1].split("\n")[0]
            await by_name["edit"].call({"path": path, "old": "First.", "new": "First.\n\nSecond."})
        return AgentRun(text="Recorded.", calls=2)


def memory(root: str, calls: str, wait_for: Path | None = None) -> ReMe:
    return ReMe(
        root,
        chat_model=Reader(Path(calls), wait_for),
        clock=FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin"),
        settings=Settings(watch=False, fsync=False),
    )


async def read_resources(root: str, calls: str, wait_for: Path | None = None) -> Any:
    async with memory(root, calls, wait_for) as reme:
        return await reme.auto_resource()


def main(root: str, calls: str, die_before: int, out: Connection) -> None:
    """Read the resources once; die in front of the wanted step, or tell that there was none."""
    count = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if not (writes or event in _STEPS):
            return
        if str(arguments[0]).startswith(root) and ".locks" not in str(arguments[0]):
            count += 1
            if count == die_before:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    asyncio.run(read_resources(root, calls))
    out.send(count)


def wait_and_read(root: str, calls: str, go: str, out: Connection) -> None:
    """Read the resources; the model answers when a file appears."""
    result = asyncio.run(read_resources(root, calls, Path(go)))
    out.send([card.action for card in result.cards] + ["pending" for _ in result.pending])


_WRITING = os.O_WRONLY | os.O_RDWR
