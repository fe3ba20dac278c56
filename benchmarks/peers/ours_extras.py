"""What only a whole memory can be asked: durable writes, foreign edits, idleness, a free loop.

Usage: ``python -m benchmarks.peers.ours_extras --material FOLDER --home FOLDER``, where `--home`
holds the index that ``ours build`` left. One measure a line, as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import shutil
import statistics
import time
from pathlib import Path
from typing import Final

import numpy as np

from agentscope_reme import Clock, ReMe, Settings
from agentscope_reme.files.changes import Write
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace
from benchmarks.peers.driving import File, read_files, seconds, tell, tell_times

_EDITS: Final = 20
_EDIT_DEADLINE_SECONDS: Final = 10.0
_WIDTH: Final = 1024
_VECTOR_QUERIES: Final = 50
_VECTORS_PER_CALL: Final = 2000
_TOP: Final = 10


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--idle-seconds", type=float, default=8.0)
    parser.add_argument("--idle-notes", type=int, default=2000)
    arguments = parser.parse_args()
    notes = arguments.home / "copied-notes"
    shutil.copytree(arguments.material / "notes", notes)
    durable_changes(arguments.home, list(read_files(arguments.material / "changes.jsonl")))
    asyncio.run(whole_memory(notes))
    enlarge(notes, arguments.idle_notes)
    asyncio.run(idle(notes, arguments.idle_seconds))
    vectors(arguments.home)


def durable_changes(home: Path, changes: list[File]) -> None:
    """Files of ten chunks through the vault: on the device, journalled, and searchable."""
    workspace, settings, clock, disk = Workspace(home), Settings(), Clock("UTC"), Disk()
    workspace.create()
    store = LocalFileStore(workspace, settings=settings)
    store.open()
    vault = Vault(
        workspace,
        store,
        FileIndexer(settings),
        disk=disk,
        locks=WorkspaceLocks(workspace),
        journal=Journal(workspace, disk=disk, clock=clock),
        clock=clock,
        settings=settings,
    )
    vault.open()
    spent: list[float] = []
    before = disk.fsyncs
    for file in changes:
        change = Write(file.path, "\n\n".join(file.chunks).encode())
        spent.append(
            seconds(lambda c=change: vault.commit([c], actor="benchmark", operation="write"))  # type: ignore[misc]
        )
    tell_times("durable_change", spent)
    tell("fsyncs_per_change", (disk.fsyncs - before) / len(changes))
    tell("fsync_ms", 1000 * fsync_seconds(home))
    vault.close()
    store.close()


def fsync_seconds(folder: Path) -> float:
    """The median time this device needs to make 4 KB durable."""
    place = folder / "fsync.probe"
    spent: list[float] = []
    with place.open("wb") as out:
        for _ in range(50):
            out.write(os.urandom(4096))
            out.flush()
            spent.append(seconds(lambda: os.fsync(out.fileno())))
    place.unlink()
    return statistics.median(spent)


def enlarge(folder: Path, count: int) -> None:
    """Add copies of the notes until there are so many."""
    places = sorted((folder / "digest" / "wiki").glob("note-*.md"))
    for number in range(len(places), count):
        shutil.copy(places[number % len(places)], folder / "digest" / f"copied-{number}.md")


async def idle(folder: Path, idle_seconds: float) -> None:
    """What a memory costs that nobody uses, its files being watched."""
    async with ReMe(folder):
        await asyncio.sleep(2)
        before = time.process_time()
        await asyncio.sleep(idle_seconds)
        tell("idle_cpu_percent", 100 * (time.process_time() - before) / idle_seconds)


async def whole_memory(folder: Path) -> None:
    """Foreign edits, and how long anything keeps the event loop."""
    edits = min(_EDITS, sum(1 for _ in (folder / "digest" / "wiki").iterdir()))
    async with ReMe(folder) as reme:
        await asyncio.sleep(0.5)
        tell_times("foreign_edit", [await foreign_edit(reme, folder, n) for n in range(edits)])
        tell("loop_stall_ms", 1000 * await longest_stall(reme))


async def foreign_edit(reme: ReMe, folder: Path, number: int) -> float:
    """Seconds from the write of another program until a search finds its words."""
    mark = f"foreign{number}edit"
    place = folder / "digest" / "wiki" / f"note-{number}.md"
    text = place.read_text("utf-8") + f"\n{mark}\n"
    started = time.perf_counter()
    place.write_text(text, "utf-8")
    while (passed := time.perf_counter() - started) < _EDIT_DEADLINE_SECONDS:
        answer = await reme.search(mark, limit=5)
        if any(mark in hit.text for hit in answer.hits):
            return time.perf_counter() - started
        await asyncio.sleep(0.005)
    raise TimeoutError(f"the edit of {place.name} was not found within {passed:.0f} s")


async def longest_stall(reme: ReMe) -> float:
    """The longest the event loop was kept while the memory worked, in seconds.

    What the imports of this process left to the garbage collector is collected before: that takes
    30 ms of every young process, whatever it does next.
    """
    gc.collect()
    gaps: list[float] = []

    async def heartbeat() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - before - 0.001)

    beating = asyncio.create_task(heartbeat())
    turn = {"role": "user", "content": "The harbour tour moved to nine o'clock. 改到九点。"}
    for number in range(20):
        await reme.search("harbour tour 什么 时候")
        await reme.write(f"digest/wiki/stall-{number}.md", "# Harbour\n\nA tour.\n")
        await reme.record("stall", [{**turn, "id": str(number)}], distil=False)
    await reme.reindex()
    await reme.optimize_index()
    beating.cancel()
    return max(gaps)


def vectors(home: Path) -> None:
    """Exact and stored search over as many random vectors of `_WIDTH` as there are chunks."""
    workspace = Workspace(home)
    workspace.create()
    store = LocalFileStore(workspace)
    store.open()
    random = np.random.default_rng(7)
    rows: dict[str, np.ndarray] = {}
    while batch := store.missing_vectors("benchmark", _VECTORS_PER_CALL):
        made = random.standard_normal((len(batch), _WIDTH), np.float32)
        put = dict(zip((key for key, _ in batch), made, strict=True))
        store.put_vectors("benchmark", put)
        rows.update({text: row for (_, text), row in zip(batch, made, strict=True)})
    texts = list(rows)
    matrix = np.stack(list(rows.values()))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    spent: list[float] = []
    right = 0
    for query in random.standard_normal((_VECTOR_QUERIES, _WIDTH), np.float32):
        wanted = {texts[i] for i in np.argsort(-(matrix @ query))[:_TOP]}
        started = time.perf_counter()
        hits = store.vector_search(query.tolist(), limit=_TOP)
        spent.append(time.perf_counter() - started)
        right += len(wanted & {hit.text for hit in hits})
    tell_times("vector_query", spent[1:])  # the first call loads the matrix
    tell("vector_first_query_ms", 1000 * spent[0])
    tell("vector_recall", right / (_TOP * _VECTOR_QUERIES))
    store.close()


if __name__ == "__main__":
    main()
