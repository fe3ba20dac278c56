"""``agentscope-reme view``: the memory as a page, written into a file or served on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from agentscope_reme.cli.arguments import Arguments, parse
from agentscope_reme.cli.places import require_memory
from agentscope_reme.cli.progress_line import ProgressLine
from agentscope_reme.cli.telling import tell
from agentscope_reme.configuration.opening import open_memory
from agentscope_reme.jobs import Job
from agentscope_reme.progress import listening
from agentscope_reme.view.page_file import ViewResult, write_page
from agentscope_reme.view.serving import PageServer

_JSON: Final = "--json"
_VIEW: Final = Job(
    "view",
    summary="",
    types=MappingProxyType({"to": str, "overwrite": bool, "serve": bool, "port": int}),
    defaults=MappingProxyType({"to": "memory.html", "overwrite": True, "serve": False, "port": 0}),
)


def view(words: Sequence[str]) -> int:
    """Write the page, or serve it until Ctrl-C.

    Args:
        words: what was written behind ``view``.

    Raises:
        ReMeError: it was refused.
    """
    arguments = parse(_VIEW, [word for word in words if word != _JSON])
    require_memory(arguments.configuration)
    call = {**_VIEW.defaults, **arguments.call}
    if call["serve"]:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(arguments, call["port"]))
        return 0
    with ProgressLine() as line, listening(line.tell):
        result = asyncio.run(_write(arguments, call["to"], call["overwrite"]))
    tell(result.model_dump_json(indent=2) if _JSON in words else result.answer)
    return 0


async def _write(arguments: Arguments, to: str, overwrite: bool) -> ViewResult:
    async with open_memory(arguments.configuration, chat=False, embedding=False) as reme:
        return await write_page(reme, to, overwrite=overwrite)


async def _serve(arguments: Arguments, port: int) -> None:
    async with open_memory(arguments.configuration, chat=False, embedding=False) as reme:
        server = PageServer(reme, port)
        server.start()
        try:
            tell(f"The memory is at {server.address} until Ctrl-C.")
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.to_thread(server.close)
