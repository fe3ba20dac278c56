"""A process that imports, to be killed: says a line for every step of its progress."""

from __future__ import annotations

import asyncio
import sys

from agentscope_reme import ReMe, Settings
from agentscope_reme.progress import Progress, listening
from agentscope_reme.transfer.importing import import_memory


async def _import(workspace: str, source: str) -> None:
    async with ReMe(workspace, settings=Settings(watch=False), timezone="UTC") as reme:
        await import_memory(reme, source)


def _tell(progress: Progress) -> None:
    print(progress.what, progress.done, flush=True)


if __name__ == "__main__":
    with listening(_tell):
        asyncio.run(_import(*sys.argv[1:]))
    print("done", flush=True)
