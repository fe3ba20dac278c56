"""Compares our middleware with those AgentScope 2.x ships: ``make bench-middlewares``.

Every cell comes from the same scripted conversation with a real agent, over a provider on the
loopback interface. A middleware whose packages are not installed is left out, and named.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import chdir
from tempfile import TemporaryDirectory
from typing import Final

os.environ.update(
    AGENTSCOPE_DISABLE_CONSOLE_OUTPUT="true", NO_PROXY="127.0.0.1", MEM0_TELEMETRY="False"
)

from benchmarks.memory_middlewares.contenders import CONTENDERS, Contender
from benchmarks.memory_middlewares.conversations import CONVERSATIONS, Conversation
from benchmarks.memory_middlewares.overhead import overhead

_PATIENCE_SECONDS: Final = 120


async def _cell(conversation: Conversation, kind: type[Contender]) -> str:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await conversation(kind)
    except ImportError as missing:
        return f"not installed: {missing.name or missing}"
    except Exception as error:
        logging.getLogger(__name__).warning("%s", kind.name, exc_info=error)
        return f"failed: {type(error).__name__}"


async def table() -> str:
    """The Markdown table: a conversation in each row, a middleware in each column."""
    rows = [
        "| | " + " | ".join(kind.name for kind in CONTENDERS) + " |",
        "|---" * (len(CONTENDERS) + 1) + "|",
    ]
    for label, conversation in CONVERSATIONS.items():
        cells = [await _cell(conversation, kind) for kind in CONTENDERS]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


async def report() -> str:
    """The table, and what our middleware itself costs a reply with nothing to recall."""
    rows = [f"| {what} | {value} |" for what, value in await overhead()]  # before others are loaded
    own = ["| our own work in one reply that recalls nothing | |", "|---|---|", *rows]
    return "\n".join([await table(), "", *own])


if __name__ == "__main__":
    for noisy in ("agentscope", "as", "mem0"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    with TemporaryDirectory() as folder, chdir(folder):  # ReMe writes its logs where it stands
        print(asyncio.run(report()))
