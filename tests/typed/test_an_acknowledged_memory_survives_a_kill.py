"""What a call has acknowledged is there after SIGKILL, in the next process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.typed.conftest import Open

CHILD = """
import asyncio, sys
from agentscope_reme import VectorReMe

async def main(folder):
    reme = VectorReMe(folder)
    for number in range(10**6):
        node = await reme.add_memory(f"fact {number}", user_name="alice")
        if number % 2:
            node = await reme.update_memory(node.memory_id, "alice", memory_content=f"new {number}")
        if number % 5 == 0:
            talk = [{"role": "user", "content": f"talk {number}", "id": str(number)}]
            await reme.summarize_memory(talk, user_name="alice")
        print(node.memory_id, node.content, flush=True)

asyncio.run(main(sys.argv[1]))
"""


def killed_after(acknowledged: int, folder: Path) -> list[str]:
    """What a process acknowledged before it was killed."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [child.stdout.readline().rstrip("\n") for _ in range(acknowledged)]
        child.kill()
        return told + [line for line in child.stdout.read().split("\n")[:-1] if line]


@pytest.mark.crash
@pytest.mark.parametrize("acknowledged", [1, 7, 40])
async def test_a_killed_process_loses_nothing(
    open_memory: Open, tmp_path: Path, acknowledged: int
) -> None:
    told = killed_after(acknowledged, tmp_path / "memory")
    async with open_memory() as reme:
        for line in told:
            memory_id, _, content = line.partition(" ")
            assert (await reme.get_memory(memory_id)).content == content
        histories = await reme.list_memory("alice", filters={"memory_type": "history"})
        assert len(histories) >= (len(told) + 4) // 5
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
