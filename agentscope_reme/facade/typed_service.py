"""One target of a `VectorReMe` as what this library's adapters ask for: a `MemoryService`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentscope_reme.clock import Clock
from agentscope_reme.context.compactor import Compactor
from agentscope_reme.facade.checkpoints import CheckpointCalls
from agentscope_reme.facade.models import all_neutral
from agentscope_reme.facade.toolkits import chosen
from agentscope_reme.messages import Message
from agentscope_reme.ports import Tool
from agentscope_reme.results import (
    AutoMemoryResult,
    RecallResult,
    RecordResult,
    SearchResult,
    StatusResult,
)
from agentscope_reme.settings import Settings
from agentscope_reme.typed.agent_tools import target_tools
from agentscope_reme.typed.conversations import known_keys
from agentscope_reme.typed.core import TypedMemory
from agentscope_reme.typed.growing import GrowingMessages
from agentscope_reme.typed.recalling import Recalled
from agentscope_reme.typed.targets import Target

_HITS = 12


class TargetMemory(CheckpointCalls):
    """What an agent has to do with one target: recall, record, the two tools.

    Whose memory it is was decided when this was made. Recording keeps a turn durably; a model
    draws from it in the background, after every `Settings.record_every_turns` turns.

    Args:
        memory: the whole memory; `close` closes it.
        target: the user, task or tool.
    """

    def __init__(self, memory: TypedMemory, target: Target) -> None:
        self._memory = memory
        self._target = target
        self._tools = target_tools(memory, target)
        self._turns = 0
        self._growing = GrowingMessages()

    @property
    def settings(self) -> Settings:
        """The limits in force."""
        return self._memory.parts.settings

    @property
    def clock(self) -> Clock:
        """The clock in force."""
        return self._memory.parts.clock

    @property
    def language(self) -> str:
        """``en`` or ``zh``."""
        return self._memory.parts.language

    @property
    def is_open(self) -> bool:
        """Whether its calls need not wait for a start."""
        return self._memory.is_open

    async def start(self) -> None:
        """Open the memory; calling it again does nothing."""
        await self._memory.start()

    async def close(self) -> None:
        """Close the whole memory, of every target."""
        await self._memory.close()

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Find memories of the target; no model is asked."""
        found = await self._found(query, limit)
        return SearchResult(answer=self._memory.recaller.shown([found], query))

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        """What is remembered of the target, packed for a prompt; no model is asked."""
        if not query.strip():
            return RecallResult()
        found = await self._found(query, _HITS, seconds=self.settings.recall_deadline_ms / 2000)
        answer = self._memory.recaller.packed(found, budget_tokens)
        return RecallResult(answer=answer, evidence=bool(answer))

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Keep turns durably for the target; those that were kept before are left out."""
        given = await all_neutral(messages)
        kept = await self._memory.record(self._target, self._growing.unkept(session_id, given))
        self._growing.mark(session_id, given)
        appended = len(known_keys(kept.kept))
        if distil and kept.kept:
            self._turns += 1
            if self._turns % self.settings.record_every_turns == 0:
                self._memory.learn_soon(self._target)
        return RecordResult(
            appended=appended, duplicates=max(0, len(given) - appended), pending=bool(kept.kept)
        )

    def flush_soon(self, session_id: str) -> None:
        """Draw from what was recorded, in the background."""
        self._memory.learn_soon(self._target)

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep what leaves a context window, as `record` does; there is no file to name.

        What was recorded before is not kept again, and what this memory answered never.
        """
        given = await all_neutral(messages)
        said = [left for message in given if (left := self._without_answers(message)).blocks]
        await self.record(session_id, said, distil=False)
        return ""

    async def auto_memory(
        self, messages: Sequence[Any] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        """Draw memories now from turns, and from what waits."""
        given = await all_neutral(messages or ())
        done = await self._memory.memorize([self._target], given)
        return AutoMemoryResult(
            success=not done.failed, answer=done.answer, pending=done.pending > 0
        )

    def _without_answers(self, message: Message) -> Message:
        own = {tool.name for tool in self._tools}
        kept = tuple(b for b in message.blocks if not (b.type == "tool_result" and b.name in own))
        return message.model_copy(update={"blocks": kept})

    @property
    def _compactor(self) -> Compactor:
        return Compactor(self._memory.parts.chat, self.language)

    async def status(self) -> StatusResult:
        """Counts, queues and every failure so far, of the whole memory."""
        await self._memory.ready()
        return await self._memory.status()

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        """`retrieve_memory` and `summarize_memory`, bound to the target.

        Raises:
            BadInput: `include` names a tool that does not exist.
        """
        return chosen(self._tools, include, read_only)

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""
        self._memory.parts.failures.report(where, error)

    async def _found(self, query: str, limit: int, seconds: float | None = None) -> Recalled:
        await self._memory.ready()
        return await self._memory.recaller.recall(
            self._target, query, limit=limit, use_model=False, seconds=seconds
        )
