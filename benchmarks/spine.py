"""The daily path of a memory: import, write and find again, record a conversation, index a folder.

Run with ``python -m benchmarks.spine [--notes 5000]``; it prints a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentscope_reme import Clock, Message, ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.workspace import Workspace
from benchmarks.reply_overhead import measured as replying
from benchmarks.synthetic_corpus import Corpus
from benchmarks.timing import Row, spread, timed_flushes

NOTE_BYTES: Final = 2_700
MUST_STAY_OUT: Final = ("agentscope", "numpy", "jieba")
_IMPORT: Final = """
import sys, time
before = time.perf_counter()
import agentscope_reme
took = time.perf_counter() - before
loaded = [name for name in {names!r} if name in sys.modules]
print(took, *loaded)
"""


def import_time(runs: int = 5) -> Row:
    """How long ``import agentscope_reme`` takes in a fresh interpreter, and that it stays light."""
    took: list[float] = []
    for _ in range(runs):
        out = subprocess.run(
            [sys.executable, "-c", _IMPORT.format(names=MUST_STAY_OUT)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        assert out[1:] == [], f"import agentscope_reme loaded {out[1:]}"
        took.append(float(out[0]))
    detail = f"median of {runs}; {', '.join(MUST_STAY_OUT)} not loaded"
    return Row("import agentscope_reme", f"{statistics.median(took) * 1000:.1f} ms", detail)


async def write_to_searchable(folder: Path, notes: int = 100) -> Row:
    """From the call of `write` until a search has returned the new note."""
    corpus = Corpus()
    took: list[float] = []
    async with ReMe(folder, settings=Settings(watch=False)) as reme:
        for number in range(notes):
            text = f"{note(corpus)}\nThe mark of this note is zq{number}x.\n"
            before = time.perf_counter()
            await reme.write(f"digest/wiki/note-{number}.md", text)
            found = await reme.search(f"zq{number}x", limit=1)
            took.append(time.perf_counter() - before)
            assert [hit.path for hit in found.hits] == [f"digest/wiki/note-{number}.md"]
    return Row("write, then found by search", spread(took), f"{notes} notes, fsync on")


def logging(folder: Path, messages: int) -> Row:
    """Messages per second into a session log alone, one durable append each, nothing indexed."""
    workspace = Workspace(folder)
    workspace.create()
    log = SessionLog(
        workspace, "talk", disk=Disk(), locks=WorkspaceLocks(workspace), clock=Clock("UTC")
    )
    took: list[float] = []
    for turn in _turns(messages):
        before = time.perf_counter()
        log.append([turn])
        took.append(time.perf_counter() - before)
    rate = f"{messages / sum(took):,.0f} messages/s"
    return Row("append to a session log", rate, f"{messages} messages, fsync on; {spread(took)}")


async def recording(folder: Path, messages: int, batch: int) -> Row:
    """Messages per second through `record`: durable, and searchable."""
    turns = _turns(messages)
    took: list[float] = []
    async with ReMe(folder, settings=Settings(watch=False)) as reme:
        for start in range(0, messages, batch):
            before = time.perf_counter()
            await reme.record("talk", turns[start : start + batch], distil=False)
            await reme.drain()
            took.append(time.perf_counter() - before)
    rate = messages / sum(took)
    return Row(
        f"record {batch} message{'s' if batch > 1 else ''} at a time",
        f"{rate:,.0f} messages/s",
        f"{messages} messages, fsync on; one call {spread(took)}",
    )


async def turns_on_a_long_log(folder: Path, messages: int = 3000, turns: int = 200) -> list[Row]:
    """One turn at a time behind a long log, flushes counted and timed, and 1,000 in one call."""
    said = _turns(messages + turns + 1000)
    took: list[float] = []
    flushed: list[float] = []
    indexed: list[float] = []
    async with ReMe(folder, settings=Settings(watch=False)) as reme:
        await reme.record("talk", said[:messages], distil=False)
        await reme.drain()
        with timed_flushes() as flushes:
            for turn in said[messages : messages + turns]:
                flushes.clear()
                before = time.perf_counter()
                await reme.record("talk", [turn], distil=False)
                took.append(time.perf_counter() - before)
                flushed.append(sum(flushes))
                assert len(flushes) == 1, f"one turn took {len(flushes)} flushes"
                recorded = time.perf_counter()
                await reme.drain()
                indexed.append(time.perf_counter() - recorded)
        before = time.perf_counter()
        await reme.record("talk", said[messages + turns :], distil=False)
        await reme.drain()
        at_once = time.perf_counter() - before
        found = await reme.search(said[-1].text, limit=1)
        assert found.hits, "what was recorded was not found"
    own = [whole - flush for whole, flush in zip(took, flushed, strict=True)]
    detail = f"one turn, fsync on: {spread(took)}; its one flush: {spread(flushed)}"
    return [
        Row(f"record behind {messages:,} messages, without the flush", spread(own), detail),
        Row("until it is in the index as well", spread(indexed), "behind the call"),
        Row("record 1,000 messages in one call, and index them", f"{at_once * 1000:,.0f} ms", ""),
    ]


def _turns(count: int) -> list[Message]:
    corpus = Corpus()
    return [
        Message.from_dict(
            {"id": f"m{n}", "role": "user", "content": corpus.text(), "created_at": 1.75e9 + n}
        )
        for n in range(count)
    ]


async def indexing(folder: Path, notes: int) -> list[Row]:
    """From notes that lie on the disk until a fresh `ReMe` finds them, and a second start."""
    corpus = Corpus()
    for number in range(notes):
        place = folder / "digest" / "wiki" / f"{number % 50:02}" / f"note-{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# Note {number}\n\n{note(corpus)}\nMark zq{number}x.\n", "utf-8")
    first = await _start(folder, f"zq{notes - 1}x")
    second = await _start(folder, f"zq{notes // 2}x")
    size = f"{notes:,} notes of {NOTE_BYTES / 1000} KB"
    return [
        Row("index a folder of notes", f"{notes / first:,.0f} notes/s", f"{size}; {first:.1f} s"),
        Row("start again, nothing changed", f"{second * 1000:,.0f} ms", size),
    ]


def note(corpus: Corpus) -> str:
    """A Markdown body of about `NOTE_BYTES` bytes in sections."""
    parts: list[str] = []
    size = 0
    for text in _endless(corpus):
        parts.append(f"## Part {len(parts) + 1}\n\n{text}\n")
        size += len(parts[-1].encode())
        if size >= NOTE_BYTES:
            break
    return "\n".join(parts).encode()[:NOTE_BYTES].decode("utf-8", "ignore")


def _endless(corpus: Corpus) -> Iterator[str]:
    while True:
        yield corpus.text()


async def _start(folder: Path, mark: str) -> float:
    before = time.perf_counter()
    reme = ReMe(folder, settings=Settings(watch=False))
    await reme.start()
    try:
        found = await reme.search(mark, limit=1)
        took = time.perf_counter() - before
    finally:
        await reme.close()
    assert found.hits, f"{mark} was not found"
    return took


async def measure(notes: int) -> list[Row]:
    """Every row of the table."""
    with tempfile.TemporaryDirectory(prefix="reme-spine-") as name:
        folder = Path(name)
        return [
            import_time(),
            await write_to_searchable(folder / "write"),
            logging(folder / "log", messages=300),
            await recording(folder / "single", messages=300, batch=1),
            await recording(folder / "batch", messages=3000, batch=100),
            *await turns_on_a_long_log(folder / "long"),
            await replying(folder / "replies", replies=200),
            *await indexing(folder / "notes", notes),
        ]


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| what | value | how |", "|---|---|---|"]
    return "\n".join(lines + [f"| {row.what} | {row.value} | {row.detail} |" for row in rows])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=5000)
    print(table(asyncio.run(measure(parser.parse_args().notes))))
