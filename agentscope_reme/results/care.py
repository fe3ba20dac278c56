"""The state of a workspace, and what was done about it."""

from typing import Any

from pydantic import Field

from agentscope_reme.results.base import Failure, Result


class IndexResult(Result):
    """What an index operation did."""

    files: int = 0
    chunks: int = 0
    removed: int = 0
    failed: list[Failure] = Field(default_factory=list)


class ExchangeResult(Result):
    """What an export or import of typed memories did.

    ``created``, ``updated`` and ``removed`` name files after an export, memories after an import.
    ``failed`` are files that were left alone, and why: edited ones, copies, unreadable ones.
    """

    created: list[str] = Field(default_factory=list)
    updated: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    unchanged: int = 0
    failed: list[Failure] = Field(default_factory=list)


class StatusResult(Result):
    """Counts, queues and failures of one workspace."""

    root: str = ""
    files: int = 0
    chunks: int = 0
    pending_sessions: list[str] = Field(default_factory=list)
    queued_jobs: int = 0
    vectors_pending: int = 0
    dirty: list[str] = Field(default_factory=list)
    failures: dict[str, int] = Field(default_factory=dict)
    last_failures: dict[str, str] = Field(default_factory=dict)
    notices: list[str] = Field(default_factory=list)
    details: dict[str, Any] = Field(default_factory=dict)


class DoctorResult(Result):
    """Differences between the disk and the index, and files that could not be read."""

    differences: list[Failure] = Field(default_factory=list)
    repaired: int = 0
