"""The page as a file: made beside its place, then put there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agentscope_reme.errors import BadInput
from agentscope_reme.reme import ReMe
from agentscope_reme.results import Result
from agentscope_reme.view.gathering import gather
from agentscope_reme.view.rendering import render
from agentscope_reme.workspace import absolute


class ViewResult(Result):
    """Where the page is.

    Attributes:
        path: the file; empty when it was only made.
        files: how many files it shows.
    """

    path: str = ""
    files: int = 0


async def page_of(reme: ReMe) -> tuple[bytes, int]:
    """The page of a memory as HTML, and how many files it shows; nothing is changed.

    Raises:
        StorageFailed: the workspace cannot be read.
    """
    await reme.start()
    parts = reme.application.components
    await parts.log_indexing.drain()
    made = parts.clock.now().isoformat(timespec="seconds")
    page = await asyncio.to_thread(gather, parts, made)
    return await asyncio.to_thread(render, page), len(page["files"])


async def write_page(
    reme: ReMe, to: str | os.PathLike[str] = "memory.html", *, overwrite: bool = True
) -> ViewResult:
    """Write the page of a memory into one HTML file that needs nothing else.

    Whoever has the file has everything the memory says; only its owner may read it.

    Args:
        reme: the memory.
        to: the file, outside the workspace.
        overwrite: replace an earlier one.

    Raises:
        BadInput: it would stand in the memory, or something stands there.
        StorageFailed: the disk refused.
    """
    target = absolute(to)
    if target.is_relative_to(reme.workspace.root):
        raise BadInput(str(target), "the page would stand in the memory itself", "Choose another.")
    if target.exists() and not overwrite:
        raise BadInput(str(target), "something stands there", "Choose another name.")
    html, files = await page_of(reme)
    disk = reme.application.components.disk
    await asyncio.to_thread(disk.replace, Path(target), html, mode=0o600)
    return ViewResult(
        answer=f"{files} file(s) on one page: {target}.", path=str(target), files=files
    )
