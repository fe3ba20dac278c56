"""Two tasks, or two processes, that see the same new file make one card of it."""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.connection
from collections.abc import Callable
from pathlib import Path

from agentscope_reme import ReMe
from agentscope_reme.testing import Request, ScriptedChatModel
from agentscope_reme.testing.script import Plain
from tests.resources.conftest import Put
from tests.resources.parts import DAY, KEEPS, WRITE
from tests.resources.reading_child import wait_and_read


async def test_two_tasks(open_memory: Callable[..., ReMe], put: Put, root: Path) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        path = put(f"{DAY}/report.md", "text")
        results = await asyncio.gather(reme.auto_resource(), reme.auto_resource([path]))
    assert sorted(len(result.cards) for result in results) == [0, 1]
    assert len(list((root / f"daily/{DAY}").iterdir())) == 1
    model.assert_exhausted()


async def test_two_memories_on_one_folder(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    def keep(request: Request) -> Plain:
        return "Recorded." if "Created daily/" in request.text else WRITE

    model = ScriptedChatModel([keep] * 6)
    async with open_memory(model) as one, open_memory(model) as other:
        paths = [put(f"{DAY}/{name}.md", name) for name in "abc"]
        await asyncio.gather(one.auto_resource(), other.auto_resource())
        last = await other.auto_resource()
    assert (last.unchanged, last.pending) == (3, [])
    assert len(list((root / f"daily/{DAY}").iterdir())) == len(paths)
    model.assert_exhausted()


def test_two_processes(tmp_path: Path, put: Put, root: Path) -> None:
    put(f"{DAY}/report.md", "text")
    context = multiprocessing.get_context("spawn")
    calls, go = tmp_path / "calls", tmp_path / "go"
    children, pipes = [], []
    for _ in range(2):
        listening, out = context.Pipe(duplex=False)
        arguments = (str(root), str(calls), str(go), out)
        children.append(context.Process(target=wait_and_read, args=arguments, daemon=True))
        pipes.append(listening)
    for child in children:
        child.start()
    ready = multiprocessing.connection.wait(pipes, timeout=120)  # the one that was too late
    told = [pipe.recv() for pipe in ready]
    go.touch()
    told += [pipe.recv() for pipe in pipes if pipe not in ready]
    for child in children:
        child.join()
    assert sorted(told) == [["created"], ["pending"]]
    assert len(list((root / f"daily/{DAY}").iterdir())) == 1
    assert len(calls.read_text().split()) == 1
