"""The jobs: the calls of `ReMe` that answer with a result, and what each of them takes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from agentscope_reme.reme import ReMe
from agentscope_reme.results import Result

MODEL_JOBS: Final = frozenset({"auto_memory", "auto_memory_cc", "auto_resource", "auto_dream"})
"""Jobs that ask a chat model; only they load AgentScope."""


@dataclass(frozen=True, slots=True)
class Job:
    """One call of `ReMe`.

    ``types`` are the types of its arguments, ``required`` those without a default.
    """

    name: str
    summary: str
    types: Mapping[str, Any]
    defaults: Mapping[str, Any]

    @property
    def required(self) -> list[str]:
        """Arguments that have to be given."""
        return [name for name in self.types if name not in self.defaults]

    @property
    def usage(self) -> str:
        """How it is written, a line for each argument."""
        lines = [f"agentscope-reme {self.name} key=value ...", "", self.summary, ""]
        for name, kind in self.types.items():
            needed = repr(self.defaults[name]) if name in self.defaults else "required"
            lines.append(f"  {name}=  {inspect.formatannotation(kind)}  ({needed})")
        return "\n".join(lines)


@cache
def jobs() -> Mapping[str, Job]:
    """All jobs by name, in the order of the alphabet."""
    found = (_job(name) for name in sorted(dir(ReMe)) if not name.startswith("_"))
    return MappingProxyType({job.name: job for job in found if job is not None})


def _job(name: str) -> Job | None:
    call = getattr(ReMe, name)
    if not inspect.iscoroutinefunction(call):
        return None
    types = typing.get_type_hints(call)
    answer = types.pop("return", None)
    if not (inspect.isclass(answer) and issubclass(answer, Result)):
        return None
    given = inspect.signature(call).parameters
    defaults = {k: p.default for k, p in given.items() if p.default is not inspect.Parameter.empty}
    summary = (inspect.getdoc(call) or "").split("\n\n")[0].replace("\n", " ")
    return Job(name, summary, MappingProxyType(types), MappingProxyType(defaults))
