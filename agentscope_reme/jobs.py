"""The jobs: the calls of `ReMe` that answer with a result, and what each of them takes."""

from __future__ import annotations

import difflib
import inspect
import re
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme import results
from agentscope_reme.errors import ModelRequired, ReMeError
from agentscope_reme.results import Result

if TYPE_CHECKING:  # who only describes jobs does not wait for what runs them
    from agentscope_reme.reme import ReMe

MODEL_JOBS: Final = frozenset({"auto_memory", "auto_memory_cc", "auto_resource", "auto_dream"})
"""Jobs that ask a chat model; only they load AgentScope."""

READING_JOBS: Final = frozenset(
    [
        "daily_list",
        "diff",
        "frontmatter_read",
        "graph_snapshot",
        "history",
        "list",
        "list_tags",
        "node_search",
        "proactive",
        "read",
        "read_image",
        "recall",
        "search",
        "stat",
        "status",
        "traverse",
    ]
)
"""Jobs that change no file of a person."""

DESTRUCTIVE_JOBS: Final = frozenset(
    [
        "delete",
        "edit",
        "forget",
        "frontmatter_delete",
        "frontmatter_update",
        "move",
        "retention",
        "undo",
        "write",
    ]
)
"""Jobs that may replace or remove what stood there; the others only add."""

_SECTION: Final = re.compile(r"^(?:Args|Returns|Raises):$", flags=re.M)


@dataclass(frozen=True, slots=True)
class Job:
    """One call of `ReMe`.

    ``types`` are the types of its arguments, ``required`` those without a default, ``answer`` is
    the type of its result. ``described`` says what an argument is for, where the call says it.
    """

    name: str
    summary: str
    types: Mapping[str, Any]
    defaults: Mapping[str, Any]
    answer: type[Result] = Result
    explanation: str = ""
    described: Mapping[str, str] = field(default_factory=dict)

    @property
    def required(self) -> list[str]:
        """Arguments that have to be given."""
        return [name for name in self.types if name not in self.defaults]


def meant(key: str, job: Job, given: Collection[str], known: Sequence[str]) -> str | None:
    """Which key was meant by one that a job does not take; ``None`` when nobody can know.

    Args:
        key: the unknown key.
        job: the job.
        given: the keys that were given.
        known: the keys it could be, those of the job first.
    """
    near = difflib.get_close_matches(key, known, n=1)
    part_of = [name for name in known if name in job.types and key in name.split("_")]
    missing = [name for name in job.required if name in known and name not in given]
    for found in (near, part_of, missing):
        if len(found) == 1:
            return found[0]
    return None


def job_meant(name: str, known: Collection[str]) -> str | None:
    """A question for who asked for a job that is not there; ``None`` where no name is alike.

    Args:
        name: what was asked for.
        known: the names there are.
    """
    near = difflib.get_close_matches(name.replace("-", "_"), known, 3)
    return f"Did you mean {' or '.join(near)}?" if near else None


@cache
def jobs() -> Mapping[str, Job]:
    """All jobs by name, in the order of the alphabet."""
    from agentscope_reme.reme import ReMe

    found = (
        _job(name, getattr(ReMe, name)) for name in sorted(dir(ReMe)) if not name.startswith("_")
    )
    return MappingProxyType({job.name: job for job in found if job is not None})


async def carried_out(job: Job, reme: ReMe, arguments: Mapping[str, Any]) -> Result:
    """Run a job in a memory.

    Raises:
        ReMeError: as the call of `ReMe`; a model that is missing is told as the environment to set.
    """
    try:
        result: Result = await getattr(reme, job.name)(**arguments)
    except ModelRequired as error:
        raise ReMeError(
            job.name, "it needs a chat model", "Set REME_LLM_API_KEY and REME_LLM_MODEL_NAME."
        ) from error
    return result


def _job(name: str, call: Any) -> Job | None:
    if not inspect.iscoroutinefunction(call):
        return None
    given, answer = inspect.signature(call).parameters, _answer(call)
    if answer is None:
        return None
    types = typing.get_type_hints(call)
    del types["return"]
    defaults = {k: p.default for k, p in given.items() if p.default is not inspect.Parameter.empty}
    told = inspect.getdoc(call) or ""
    return Job(
        name,
        summary=told.split("\n\n")[0].replace("\n", " "),
        types=MappingProxyType(types),
        defaults=MappingProxyType(defaults),
        answer=answer,
        explanation=_SECTION.split(told)[0].strip(),
        described=MappingProxyType(_described(told)),
    )


def _answer(call: Any) -> type[Result] | None:
    """The result a call promises; its other types may be known to type checkers only."""
    promised = inspect.get_annotations(call).get("return")
    known = getattr(results, promised, None) if isinstance(promised, str) else promised
    return known if inspect.isclass(known) and issubclass(known, Result) else None


def _described(told: str) -> dict[str, str]:
    """What a docstring says of each argument."""
    section = re.search(r"^Args:\n((?:[ ]{4}.*\n?|\n)*)", told, flags=re.M)
    rows = re.findall(
        r"^ {4}(\w+): ((?:.*)(?:\n {8}.*)*)", section[1] if section else "", flags=re.M
    )
    return {name: " ".join(text.split()) for name, text in rows}
