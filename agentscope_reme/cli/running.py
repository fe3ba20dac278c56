"""Asks the service of a memory, where one runs that would do exactly what this process would."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from pydantic_core import to_json

from agentscope_reme.cli.arguments import Arguments
from agentscope_reme.configuration import Configuration
from agentscope_reme.errors import BadInput, ReMeError
from agentscope_reme.jobs import Job
from agentscope_reme.progress import Progress
from agentscope_reme.results import Result
from agentscope_reme.service.presence import found, token_of
from agentscope_reme.workspace import Workspace

if TYPE_CHECKING:
    from agentscope_reme.service.client import Answer

_KEY: Final = "service="
_OF_THIS_PROCESS: Final = frozenset({"auto_memory_cc"})
"""Jobs that read what the environment of the caller names."""


@dataclass(frozen=True, slots=True)
class Told:
    """A result as it is shown, whoever ran the job."""

    success: bool
    answer: str
    as_json: str

    @classmethod
    def of(cls, result: Result) -> Self:
        """What a job of this process answered."""
        return cls(result.success, result.answer, result.model_dump_json(indent=2))


class ToldError(ReMeError):
    """An error of a job, in the words of the service that ran it."""

    def __init__(self, told: str) -> None:
        Exception.__init__(self, told)


class ToldBadInput(ToldError, BadInput):
    """The same for arguments that were refused."""


def with_service(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words without ``service=``, and whether a service may be asked.

    Raises:
        BadInput: it is neither ``auto`` nor ``off``.
    """
    said = [word.removeprefix(_KEY) for word in words if word.startswith(_KEY)]
    wrong = [value for value in said if value not in ("auto", "off")]
    if wrong:
        remedy = "Use `auto`, which asks a running service, or `off`, which never does."
        raise BadInput(f"{_KEY}{wrong[0]}", "there is no such way", remedy)
    return [word for word in words if not word.startswith(_KEY)], "off" not in said


def setup_of(configuration: Configuration) -> str:
    """A name for everything but the memory that decides what a job does: equal means the same."""
    from importlib.metadata import version  # it reads mail headers: 10 ms

    settings = configuration.settings.model_dump(mode="json", exclude={"watch"})
    models = [
        {**config.model_dump(mode="json", exclude={"api_key"}), "api_key": config.key}
        for config in (configuration.llm, configuration.embedding)
    ]
    place = [configuration.language, configuration.timezone, os.environ.get("TZ", "")]
    known = [version("agentscope-reme"), settings, models, place]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def asked(job: Job, arguments: Arguments, on_progress: Callable[[Progress], None]) -> Told | None:
    """What the running service of the memory answered; ``None`` where there is none for this.

    Raises:
        ReMeError: the job failed there, as it would have failed here.
    """
    if job.name in _OF_THIS_PROCESS:
        return None
    configuration = arguments.configuration
    workspace = Workspace(configuration.workspace_dir, user=configuration.user)
    address = found(workspace)
    if address is None or address.setup != setup_of(configuration):
        return None
    from agentscope_reme.service.client import ask

    token = token_of(workspace) if address.with_token else ""
    answer = ask(address, token, job.name, arguments.call, on_progress)
    return None if answer is None else _told(answer)


def _told(answer: Answer) -> Told:
    text = str(answer.result.get("answer", ""))
    if answer.status != 200:
        raise (ToldBadInput if answer.status == 400 else ToldError)(text)
    as_json = to_json(answer.result, indent=2).decode()
    return Told(bool(answer.result.get("success")), text, as_json)
