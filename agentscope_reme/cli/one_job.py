"""Runs one job of `ReMe`: by the service of the memory where one runs, else in this process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agentscope_reme.cli.arguments import Arguments, parse
from agentscope_reme.cli.catalogue import Entry
from agentscope_reme.cli.interruptions import from_now_on_raised
from agentscope_reme.cli.known_jobs import known_job
from agentscope_reme.cli.places import require_memory
from agentscope_reme.cli.progress_line import ProgressLine
from agentscope_reme.cli.running import Told, asked, with_service
from agentscope_reme.cli.telling import tell
from agentscope_reme.configuration import Configuration, chat_model, embedding_model
from agentscope_reme.configuration.sections import COMMAND_LINE
from agentscope_reme.errors import BadInput, ModelRequired, ReMeError
from agentscope_reme.jobs import MODEL_JOBS, READING_JOBS, Job, carried_out
from agentscope_reme.progress import listening
from agentscope_reme.results import Result

_VECTOR_JOBS: Final = MODEL_JOBS | {"search", "recall", "node_search", "reindex"}
"""Jobs that look at meanings; the others leave new chunks to the next of these."""


def run(entry: Entry, words: Sequence[str], *, as_json: bool) -> int:
    """Run a job and print its answer; the exit code.

    What runs a job is loaded only when no service does it.

    Args:
        entry: the job, as the catalogue has it.
        words: what was written behind it.
        as_json: print the whole result.

    Raises:
        ReMeError: the job was refused.
    """
    job = known_job(entry)
    others, may_ask = with_service(words)
    arguments = parse(job, others)
    with ProgressLine() as line:
        told = asked(job, arguments, line.tell) if may_ask else None
        if told is None:
            if job.name in READING_JOBS:
                require_memory(arguments.configuration)
            from_now_on_raised()
            with listening(line.tell):
                told = Told.of(asyncio.run(_result(job, arguments)))
    tell(told.as_json if as_json else told.answer)
    return 0 if told.success else 1


async def _result(job: Job, arguments: Arguments) -> Result:
    _load_numpy()
    from agentscope_reme.reme import ReMe

    configuration = arguments.configuration
    model, formatter, lacks = _chat_model(job, configuration)
    reme = ReMe(
        **{**configuration.memory, "settings": _settings(configuration)},
        chat_model=model,
        formatter=formatter,
        embedding_model=embedding_model(configuration) if job.name in _VECTOR_JOBS else None,
    )
    try:
        async with reme:
            result = await carried_out(job, reme, arguments.call)
    except ReMeError as error:
        if lacks is not None and isinstance(error.__cause__, ModelRequired):
            raise lacks from error
        raise
    if lacks is not None:
        told = f"{result.answer} {lacks}"
        return result.model_copy(update={"success": False, "answer": told})
    return _with_place(result, reme.workspace.root)


def _with_place(result: Result, root: Path) -> Result:
    """A search that found nothing says where it looked: another folder may be meant."""
    from agentscope_reme.results import SearchResult

    if not isinstance(result, SearchResult) or result.hits:
        return result
    return result.model_copy(update={"answer": f"{result.answer} Searched {root}."})


def _load_numpy() -> None:
    """With one thread: one job computes little, and a pool for each core is what takes time."""
    name, before = "OPENBLAS_NUM_THREADS", os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ[name] = before or "1"
    try:
        import numpy  # noqa: F401
    finally:
        if before is None:
            del os.environ[name]  # programs this process starts decide for themselves


def _settings(configuration: Configuration) -> Any:
    """Without a watcher, unless it was asked for: nobody edits while one job runs."""
    settings = configuration.settings
    if configuration.origin("settings.watch") == COMMAND_LINE:
        return settings
    return settings.model_copy(update={"watch": False})


def _chat_model(job: Job, configuration: Configuration) -> tuple[Any, Any, BadInput | None]:
    """Model and formatter, and what is wrong with them: turns are saved before that is told."""
    if job.name not in MODEL_JOBS:
        return None, None, None
    try:
        return (*chat_model(configuration), None)
    except BadInput as error:
        return None, None, error
