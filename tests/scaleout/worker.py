"""One worker in a process of its own: ``python -m tests.scaleout.worker <what> <place> ...``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe
from agentscope_reme.settings import Settings
from agentscope_reme.store.scaleout import SharedIndex, milvus_index, seekdb_index
from agentscope_reme.workspace import Workspace
from tests.scaleout.notes import indexed_notes


def index_from(place: dict[str, Any]) -> SharedIndex:
    """The index a test described in JSON."""
    given = {name: value for name, value in place.items() if name != "kind"}
    return milvus_index(**given) if place["kind"] == "milvus" else seekdb_index(**given)


async def write(index: SharedIndex, folder: str, path: str, text: str) -> None:
    """A file is written and indexed as a user's program does."""
    async with ReMe(folder, settings=Settings(watch=False), file_store=index) as memory:
        await memory.write(path, text)


def apply_for_ever(index: SharedIndex, folder: str) -> None:
    """Index the same files again and again, each time with other words, until somebody kills us."""
    workspace = Workspace(folder)
    workspace.create()
    store = index(workspace, Settings())
    store.open()
    store.apply(indexed_notes(0))
    print("ready", flush=True)
    for version in range(1, 1_000_000):
        store.apply(indexed_notes(version))
        print(version, flush=True)


def main() -> None:
    what, place, folder, *rest = sys.argv[1:]
    index = index_from(json.loads(place))
    if what == "write":
        asyncio.run(write(index, folder, *rest))
    elif what == "apply":
        apply_for_ever(index, folder)
    elif what == "scan":
        asyncio.run(scan(index, folder))


async def scan(index: SharedIndex, folder: str) -> None:
    """Bring the index in step with the files, as the next start of a worker does."""
    async with ReMe(folder, settings=Settings(watch=False), file_store=index) as memory:
        await memory.status()


if __name__ == "__main__":
    os.environ.setdefault("AGENTSCOPE_DISABLE_CONSOLE_OUTPUT", "true")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main()
