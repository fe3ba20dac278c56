"""Pages to look at, made by real memories."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock
from agentscope_reme.view.page_file import write_page
from tests.view.conftest import HOSTILE, PNG


def small_page(folder: Path) -> Path:
    """A statement, the card it rests on, the words the card rests on, and markup in all of them."""

    async def make() -> Path:
        async with _memory(folder) as memory:
            picture = folder / "memory" / "resource" / "cup.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(PNG)
            turns = [
                {"id": "1", "role": "user", "content": "Good morning."},
                {"id": "2", "role": "user", "content": "斑马 sleeps in the vault at nine."},
                {"id": "3", "role": "assistant", "content": HOSTILE},
            ]
            await memory.record("talk", turns)
            await memory.write(
                "daily/2026-06-19/talk.md",
                "- The zebra 斑马 sleeps at nine, in the vault.\n- Tea was green.\n\n"
                "`[[example.md]]` ![[resource/cup.png]]\n\n```\n[[fenced.md]]\n```\n[[gone.md]]\n",
                name="Zebra talk",
                metadata={"source_conversation": "[[session/dialog/talk.jsonl]]"},
            )
            await memory.write(
                "digest/personal/zebra.md",
                "# Zebra\n\n- The zebra sleeps at nine. (observed 2026-06-19)\n- Said: quux.\n\n"
                f"{HOSTILE}\n\n## Sources\n\n- [[daily/2026-06-19/talk.md]]\n",
                name="Zebra",
            )
            return Path((await write_page(memory, folder / "page.html")).path)

    return _run(make())


def odd_page(folder: Path) -> Path:
    """Names scripts may stumble over, and more lines and marks than a call takes arguments."""
    wiki = folder / "memory" / "digest" / "wiki"
    _put(wiki / "__proto__.md", "![[__proto__]] ![[constructor]] [[toString]]\n")
    _put(wiki / "dollars.md", "![[resource/$&{}.png]]\n")
    _put(wiki / "lines.md", "x\n" * 100_000)
    _put(wiki / "marks.md", "y" * 200_000)

    async def make() -> Path:
        async with _memory(folder) as memory:
            return Path((await write_page(memory, folder / "page.html")).path)

    return _run(make())


def large_page(folder: Path, nodes: int) -> Path:
    """So many nodes, each of which rests on one of a hundred cards and leads to two others."""
    root = folder / "memory"
    for number in range(nodes):
        links = [f"[[digest/wiki/node-{(number * step + 1) % nodes}.md]]" for step in (3, 7)]
        card = f"daily/2026-01-{1 + number % 28:02}/card-{number % 100}.md"
        _put(
            root / f"digest/wiki/node-{number}.md",
            f"---\nname: Node {number}\n---\n- It is about word{number} and {' '.join(links)}.\n"
            f"{'More is said about many things here. ' * 20}\n\n## Sources\n\n- [[{card}]]\n",
        )
    for number in range(nodes):
        place = root / f"daily/2026-01-{1 + number % 28:02}/card-{number % 100}.md"
        old = place.read_text("utf-8") if place.exists() else ""
        _put(place, f"{old}- Somebody spoke of word{number}.\n")

    async def make() -> Path:
        async with _memory(folder) as memory:
            return Path((await write_page(memory, folder / "page.html")).path)

    return _run(make())


def _run(making: Coroutine[Any, Any, Path]) -> Path:
    """In a thread of its own: the browser's driver has an event loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, making).result()


def _memory(folder: Path) -> ReMe:
    clock = FakeClock("2026-06-20T09:30:00", timezone="UTC")
    return ReMe(folder / "memory", settings=Settings(watch=False, fsync=False), clock=clock)


def _put(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")
