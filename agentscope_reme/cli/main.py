"""Runs one job and says how it went: exit code 0 done, 1 the job failed, 2 bad usage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, Final

from agentscope_reme.cli.arguments import Arguments, parse
from agentscope_reme.cli.jobs import MODEL_JOBS, Job, jobs
from agentscope_reme.cli.model import model_of_the_environment
from agentscope_reme.errors import BadInput, ReMeError
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
    if not given or given[0] in _HELP:
        print(_overview())
        return 0
    name, rest = given[0], given[1:]
    try:
        job = _named(name)
        if any(word in _HELP for word in rest):
            print(job.usage)
            return 0
        arguments = parse(job, [word for word in rest if word != _JSON])
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    return _run(job, arguments, as_json=_JSON in rest)


def _run(job: Job, arguments: Arguments, *, as_json: bool) -> int:
    try:
        result = asyncio.run(_result(job, arguments))
    except ReMeError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; what was saved stays saved", file=sys.stderr)
        return 1
    print(result.model_dump_json(indent=2) if as_json else result.answer)
    return 0 if result.success else 1


async def _result(job: Job, arguments: Arguments) -> Result:
    model, formatter = model_of_the_environment() if job.name in MODEL_JOBS else (None, None)
    memory: dict[str, Any] = dict(arguments.memory)
    reme = ReMe(**memory, settings=arguments.settings, chat_model=model, formatter=formatter)
    async with reme:
        result: Result = await getattr(reme, job.name)(**arguments.call)
    return result


def _named(name: str) -> Job:
    try:
        return jobs()[name]
    except KeyError:
        raise BadInput(name, "no such job", f"Choose among {', '.join(jobs())}.") from None


def _overview() -> str:
    width = max(map(len, jobs()))
    rows = [f"  {job.name:{width}}  {job.summary}" for job in jobs().values()]
    return "\n".join([_INTRODUCTION, *rows])
