"""A process that exports, or makes a memory of an archive, to be killed on the way."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.progress import Progress, listening
from agentscope_reme.transfer.archive import restore_archive
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.workspace import Workspace


async def _export(workspace: str, to: str) -> None:
    async with ReMe(workspace, settings=Settings(watch=False), timezone="UTC") as reme:
        await export_memory(reme, to)


def _tell(progress: Progress) -> None:
    print(progress.what, progress.done, flush=True)


if __name__ == "__main__":
    what, source, target = sys.argv[1:]
    with listening(_tell):
        if what == "export":
            asyncio.run(_export(source, target))
        else:
            restore_archive(Path(source), Workspace(target))
