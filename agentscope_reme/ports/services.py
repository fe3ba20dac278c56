"""The other direction: what adapters, hooks and services may ask of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agentscope_reme.messages import Message
from agentscope_reme.ports.tools import Tool

if TYPE_CHECKING:
    from agentscope_reme.clock import Clock
    from agentscope_reme.context.tool_results import ResultLimits
    from agentscope_reme.results import (
        AutoMemoryResult,
        RecallResult,
        RecordResult,
        SearchResult,
        StatusResult,
    )
    from agentscope_reme.settings import Settings


@runtime_checkable
class MemoryService(Protocol):
    """What adapters, hooks and services ask of a memory; `ReMe` is one."""

    @property
    def settings(self) -> Settings:
        """The limits in force."""

    @property
    def clock(self) -> Clock:
        """The clock in force."""

    @property
    def language(self) -> str:
        """``en`` or ``zh``: the language of prompts and notices."""

    async def start(self) -> object:
        """Open the workspace; calling it again does nothing. What it returns means nothing."""

    async def close(self) -> object:
        """Drain background work and close; calling it again does nothing."""

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Find passages."""

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        """Find passages and pack them for a prompt."""

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Save turns durably; idempotent by message id. Distillation follows in the background."""

    def flush_soon(self, session_id: str) -> None:
        """Submit, without waiting, the distillation of recorded turns that wait for more of them.

        For moments after which turns are gone from a window: call it before a compaction.
        """

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep, in full, what leaves a context window; returns the archive's path."""

    async def auto_memory(
        self, messages: Sequence[Any] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        """Distil turns into the daily card of their session."""

    async def summarise(self, messages: Sequence[Any], *, previous_summary: str = "") -> str:
        """One checkpoint text that stands for the messages; raises when it cannot be made.

        An implementation may also take ``extra_instruction``, a wish of the user, and
        ``archived``, the path under which the messages are kept in full.
        """

    async def status(self) -> StatusResult:
        """Counts, queues and every failure so far."""

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        """The memory tools an agent of this workspace may call."""

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""


@runtime_checkable
class OffloadService(Protocol):
    """What a memory can do beside `MemoryService`: keep oversized tool results in files."""

    async def offload_tool_results(
        self, messages: Sequence[Any], limits: ResultLimits | None = None
    ) -> list[Message]:
        """The same messages with oversized tool results shortened, the whole of them in files.

        Raises:
            ReMeError: a payload could not be saved; nothing was changed.
        """


@runtime_checkable
class SummaryService(Protocol):
    """What a memory can do beside `MemoryService`: note in files what left a window."""

    def add_async_summary_task(self, messages: Sequence[Any]) -> None:
        """Submit messages for a summary in the background; they are safe when this returns.

        Raises:
            ReMeError: nothing was submitted.
        """
