"""Runs one job and says how it went: exit code 0 done, 1 the job failed, 2 bad usage."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any, Final, TextIO

from agentscope_reme.cli.arguments import Arguments, parse
from agentscope_reme.cli.jobs import MODEL_JOBS, Job, jobs
from agentscope_reme.cli.model import model_of_the_environment
from agentscope_reme.errors import BadInput, ModelRequired, ReMeError
from agentscope_reme.reme import ReMe
from agentscope_reme.results import Result

_HELP: Final = ("--help", "-h", "help")
_JSON: Final = "--json"

_INTRODUCTION: Final = """\
agentscope-reme <job> key=value ... [--json]

Runs one job in the memory at workspace_dir= (default .reme); user=, language=, timezone= and
settings.<name>= belong to every job. A value may be JSON, @file, or - for standard input.
The chat model of auto_memory, auto_memory_cc, auto_resource and auto_dream comes from
REME_LLM_API_KEY, REME_LLM_MODEL_NAME and REME_LLM_BASE_URL.
`agentscope-reme <job> --help` says more.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code.

    Args:
        words: what was written behind the command; that of this process by default.
    """
    given = list(sys.argv[1:] if words is None else words)
    as_json = _JSON in given
    try:
        result = _carried_out([word for word in given if word != _JSON])
    except BadInput as error:
        return _failed(error, as_json=as_json, code=2)
    except ReMeError as error:
        return _failed(error, as_json=as_json, code=1)
    except KeyboardInterrupt:
        return _failed("stopped; what was saved stays saved", as_json=as_json, code=1)
    if isinstance(result, str):
        _tell(result)
        return 0
    _tell(result.model_dump_json(indent=2) if as_json else result.answer)
    return 0 if result.success else 1


def _carried_out(words: list[str]) -> Result | str:
    """The result of a job, or the help that was asked for."""
    if not words or words[0] in _HELP:
        return _overview()
    job = _named(words[0])
    if any(word in _HELP for word in words[1:]):
        return job.usage
    return asyncio.run(_result(job, parse(job, words[1:])))


def _failed(reason: object, *, as_json: bool, code: int) -> int:
    if as_json:
        _tell(Result(success=False, answer=str(reason)).model_dump_json(indent=2))
    else:
        _tell(str(reason), sys.stderr)
    return code


def _tell(text: str, stream: TextIO | None = None) -> None:
    """Print; a reader that went away, or a full device, does not undo what the job has done."""
    out = stream or sys.stdout
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    try:
        print(text, file=out, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # nothing is left to be flushed


async def _result(job: Job, arguments: Arguments) -> Result:
    model, formatter, lacks = _model_for(job)
    memory: dict[str, Any] = dict(arguments.memory)
    reme = ReMe(**memory, settings=arguments.settings, chat_model=model, formatter=formatter)
    try:
        async with reme:
            result: Result = await getattr(reme, job.name)(**arguments.call)
    except ModelRequired as error:
        raise lacks or ReMeError(
            job.name, "it needs a chat model", "Set REME_LLM_API_KEY and REME_LLM_MODEL_NAME."
        ) from error
    if lacks is not None:
        told = f"{result.answer} {lacks}"
        return result.model_copy(update={"success": False, "answer": told})
    return result


def _model_for(job: Job) -> tuple[Any, Any, BadInput | None]:
    """Model and formatter, and what is wrong with them: turns are saved before that is told."""
    if job.name not in MODEL_JOBS:
        return None, None, None
    try:
        return (*model_of_the_environment(), None)
    except BadInput as error:
        return None, None, error


def _named(name: str) -> Job:
    try:
        return jobs()[name]
    except KeyError:
        raise BadInput(name, "no such job", f"Choose among {', '.join(jobs())}.") from None


def _overview() -> str:
    width = max(map(len, jobs()))
    rows = [f"  {job.name:{width}}  {job.summary}" for job in jobs().values()]
    return "\n".join([_INTRODUCTION, *rows])
