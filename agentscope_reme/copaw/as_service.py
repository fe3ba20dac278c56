"""A CoPaw memory as what this library's hooks and adapters ask for: a `MemoryService`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentscope_reme.clock import Clock
from agentscope_reme.context.compactor import Compactor
from agentscope_reme.context.result_files import VaultResultFiles
from agentscope_reme.context.tool_results import ResultLimits, ToolResultCompactor
from agentscope_reme.copaw.service import CopawCalls, CurrentModel
from agentscope_reme.facade.checkpoints import CheckpointCalls
from agentscope_reme.facade.lifetime import Lifetime
from agentscope_reme.facade.models import neutral
from agentscope_reme.messages import Message
from agentscope_reme.ports import Tool
from agentscope_reme.results import AutoMemoryResult, RecallResult, RecordResult, SearchResult
from agentscope_reme.settings import Settings


class ServiceCalls(Lifetime, CheckpointCalls):
    """Forwards the calls of a `MemoryService` to the memory behind a `ReMeCopaw`.

    Attributes:
        language: ``zh`` for Chinese prompts and notices, ``""`` for English ones.
        memory_compact_threshold: in tokens; what hooks take for the limit of a window.
    """

    language: str
    memory_compact_threshold: int

    def __init__(self, memory: CopawCalls, model: CurrentModel) -> None:
        self._memory = memory
        self._model = model

    @property
    def settings(self) -> Settings:
        """The limits in force, with the threshold as it is now."""
        limit = max(1, int(self.memory_compact_threshold))
        return self._memory.settings.model_copy(update={"memory_compact_threshold": limit})

    @property
    def clock(self) -> Clock:
        """The clock in force."""
        return self._memory.clock

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Find passages; see `ReMe.search`."""
        return await self._memory.search(query, limit=limit)

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        """Find passages and pack them for a prompt; see `ReMe.recall`."""
        return await self._memory.recall(query, budget_tokens=budget_tokens, media=media)

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Save turns in a session log; see `ReMe.record`."""
        return await self._memory.record(session_id, messages, distil=distil)

    def flush_soon(self, session_id: str) -> None:
        """Distil what waits; see `ReMe.flush_soon`."""
        self._memory.flush_soon(session_id)

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep, in full, what leaves a context window; returns the archive's path."""
        return await self._memory.archive(session_id, messages)

    async def auto_memory(
        self, messages: Sequence[Any] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        """Distil turns into a daily card; see `ReMe.auto_memory`."""
        return await self._memory.auto_memory(messages, session_id=session_id)

    async def offload_tool_results(
        self, messages: Sequence[Any], limits: ResultLimits | None = None
    ) -> list[Message]:
        """Shorten oversized tool results; the whole of each is kept below ``tool_result/``.

        Raises:
            BadMessage: one of them is no message.
            StorageFailed: a file could not be written.
        """
        parts = await self._memory.opened()
        compactor = ToolResultCompactor(
            VaultResultFiles(parts.vault, parts.disk),
            self.prompt_language,
            shown=lambda path: str(parts.workspace.root / path),
        )
        return await compactor.compact(neutral(messages), limits)

    @property
    def _compactor(self) -> Compactor:
        return Compactor(self._model.chat(), self.prompt_language)

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        """The memory tools of an agent; they write ``MEMORY.md`` and ``memory/`` only."""
        return self._memory.tools(include=include, read_only=read_only)

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""
        self._memory.report_failure(where, error)

    @property
    def prompt_language(self) -> str:
        """The language of prompts: ``zh`` or ``en``."""
        return "zh" if self.language == "zh" else "en"
