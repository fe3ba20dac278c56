"""``agentscope-reme import`` and ``export``: memories from elsewhere, one memory to take along."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agentscope_reme.cli.arguments import Arguments, parse
from agentscope_reme.cli.places import require_memory
from agentscope_reme.cli.progress_line import ProgressLine
from agentscope_reme.cli.telling import tell
from agentscope_reme.configuration.opening import open_memory
from agentscope_reme.jobs import Job
from agentscope_reme.progress import listening
from agentscope_reme.results import Result
from agentscope_reme.transfer.archive import is_archive, is_free, restore_archive
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.transfer.formats import AUTO
from agentscope_reme.transfer.importing import import_memory
from agentscope_reme.workspace import Workspace

_JSON: Final = "--json"
Work = Callable[..., Awaitable[Result]]


def _job(name: str, work: Work) -> Job:
    """What stands behind the command: the arguments of the call, but for the memory."""
    types = typing.get_type_hints(work)
    defaults = {
        key: given.default
        for key, given in inspect.signature(work).parameters.items()
        if given.default is not inspect.Parameter.empty
    }
    named = {key: kind for key, kind in types.items() if key not in ("reme", "return")}
    return Job(name, "", types=MappingProxyType(named), defaults=MappingProxyType(defaults))


def take_in(words: Sequence[str]) -> int:
    """Import; an archive of this library makes a new memory where there is none yet.

    Args:
        words: what was written behind ``import``.

    Raises:
        ReMeError: the import was refused.
    """
    arguments = parse(_job("import", import_memory), _without_json(words))
    place = Path(arguments.call["source"]).expanduser()
    workspace = _workspace(arguments)
    whole = arguments.call.get("format", AUTO) == AUTO and place.is_file() and is_archive(place)
    if whole and is_free(workspace):
        with ProgressLine() as line, listening(line.tell):
            manifest = restore_archive(place, workspace)
        told = f"{len(manifest.files)} file(s) as of {manifest.created} are in {workspace.root}."
        return _told(Result(answer=told), words)
    return _run(arguments, import_memory, words)


def take_along(words: Sequence[str]) -> int:
    """Export.

    Args:
        words: what was written behind ``export``.

    Raises:
        ReMeError: the export was refused.
    """
    arguments = parse(_job("export", export_memory), _without_json(words))
    require_memory(arguments.configuration)
    return _run(arguments, export_memory, words)


def _run(arguments: Arguments, work: Work, words: Sequence[str]) -> int:
    async def worked() -> Result:
        async with open_memory(arguments.configuration, chat=False, embedding=False) as reme:
            return await work(reme, **arguments.call)

    with ProgressLine() as line, listening(line.tell):
        result = asyncio.run(worked())
    return _told(result, words)


def _workspace(arguments: Arguments) -> Workspace:
    memory = arguments.configuration.memory
    return Workspace(memory["workspace_dir"], user=memory.get("user"))


def _told(result: Result, words: Sequence[str]) -> int:
    tell(result.model_dump_json(indent=2) if _JSON in words else result.answer)
    return 0 if result.success else 1


def _without_json(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != _JSON]
