"""``kill -9`` before any step of a compaction: session file and archives together hold everything.

``REME_CRASH_EVERY_STEP=1`` tries every single step; otherwise some are passed over.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from agentscope.message import Msg
from agentscope.session import JSONSession

from tests.window.compacting_child import an_agent, compact, main, opened
from tests.window.parts import LONG, answer, call, talk

STRIDE = 1 if os.environ.get("REME_CRASH_EVERY_STEP") else 6


@pytest.mark.crash
def test_whatever_step_it_dies_before(tmp_path: Path) -> None:
    died = 0
    for step in range(0, 1_000, STRIDE):
        folder = tmp_path / str(step)
        markers = asyncio.run(_prepared(folder))
        survived = _survives(folder, step)
        _check(folder, markers)
        agent = asyncio.run(compact(folder))
        _check(folder, markers)
        assert agent.memory.get_compressed_summary().startswith("## Goal")
        archive = folder / "memory/session/agentscope/s.jsonl"
        ids = [json.loads(line).get("id") for line in archive.read_text().splitlines()[1:]]
        assert len(ids) == len(set(ids))
        if survived:
            break
        died += 1
    assert died > 2


async def _prepared(folder: Path) -> list[str]:
    async with opened(folder) as reme:
        agent = an_agent(reme)
        said = await talk(agent)
        long = "MARK-log " + LONG * 30 + " MARK-end"
        await agent.memory.add([call(1, path="MARK-path"), answer(1, long)])
        await agent.memory.add(Msg("user", "live MARK-live", "user"))
        await JSONSession(str(folder / "sessions")).save_session_state("s", agent=agent)
        return [*(m.content[:12] for m in said), "MARK-log", "MARK-end", "MARK-path", "MARK-live"]


def _survives(folder: Path, step: int) -> bool:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.window.compacting_child"])
    child = context.Process(target=main, args=(str(folder), step))
    child.start()
    child.join(120)
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode == 0


def _check(folder: Path, markers: list[str]) -> None:
    kept = [*(folder / "sessions").rglob("*.json"), *(folder / "memory/session").rglob("*.jsonl")]
    kept += (folder / "memory/tool_result").rglob("*.txt")
    everything = "\n".join(place.read_text("utf-8") for place in kept)
    for marker in markers:
        assert marker in everything
