"""What a conversation leaves behind: a checkpoint in the window, notes in memory files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from agentscope_reme.copaw.as_service import ServiceCalls
from agentscope_reme.copaw.pending import PendingSummaries, PendingSummary
from agentscope_reme.copaw.service import CopawCalls, CurrentModel
from agentscope_reme.copaw.summarizer import Summarizer, Summary, SummaryRequest
from agentscope_reme.copaw.summary_queue import (
    OPERATION,
    SummaryQueue,
    not_settled,
    operation_of,
)
from agentscope_reme.errors import ReMeError
from agentscope_reme.facade.models import neutral
from agentscope_reme.messages import Message
from agentscope_reme.ports import Tool

LEAST_PROMPT_TOKENS: Final = 1_000
"""What a summary run is given of a conversation at the least, however small the window is."""


class SummaryCalls(ServiceCalls):
    """Checkpoints, and summaries in a queue of their own.

    Attributes:
        toolkit: the host's tools, offered to summary runs; ``None`` for none.
    """

    toolkit: Any

    def __init__(self, memory: CopawCalls, model: CurrentModel) -> None:
        super().__init__(memory, model)
        parts = memory.parts
        pending = PendingSummaries(parts.workspace, disk=parts.disk, clock=parts.clock)
        self._queue = SummaryQueue(parts, pending, self._summarise_task, memory.opened)

    async def compact_memory(
        self,
        messages: Sequence[Any],
        previous_summary: str = "",
        extra_instruction: str = "",
    ) -> str:
        """One checkpoint that stands for the messages, with the previous one merged in.

        What comes back is always a checkpoint, never an error and never small talk: hosts let it
        stand for the messages and hide them. So a failure is raised, which leaves a host's window
        and summary as they were; it is reported in `status()` as well. An answer that is no
        checkpoint is replaced by the previous summary with quotes of what the user said.

        Args:
            messages: what leaves the window, oldest first; without any, `previous_summary` returns.
            previous_summary: what stands for everything before them.
            extra_instruction: a wish of the user for this checkpoint.

        Raises:
            BadMessage: a message cannot be understood.
            ModelRequired: no chat model is set.
            ModelFailed: the model failed or said nothing; keep the messages and try again later.
        """
        if not messages:
            return previous_summary
        try:
            return await self.summarise(
                messages, previous_summary=previous_summary, extra_instruction=extra_instruction
            )
        except ReMeError as failure:
            self.report_failure("compact_memory", failure)
            raise

    async def summary_memory(self, messages: Sequence[Any]) -> str:
        """Note in memory files, now, what the messages are worth; takes its turn in the queue.

        Returns:
            What the model said last, ``[SILENT]`` when nothing was worth keeping; an empty text
            without messages.

        Raises:
            BadMessage: a message cannot be understood.
            ModelRequired: no chat model is set.
            ModelFailed: the model failed, or what it wrote was refused; nothing was changed.
        """
        known = neutral(messages)
        if not known:
            return ""
        parts = await self._memory.opened()
        async with self._queue.turn():
            summary = await self._summarise(known, parts.clock.today().isoformat(), OPERATION)
        if not summary.is_settled:
            self.report_failure(OPERATION, not_settled(summary))
        return summary.text

    def add_async_summary_task(self, messages: Sequence[Any]) -> None:
        """Submit messages for a summary in the background; they are safe when this returns.

        The messages are copied. Tasks run one after another; what a crash or a failing model
        interrupts is tried again. Without a running event loop the next start does it.

        Raises:
            BadMessage: a message cannot be understood; nothing was submitted.
            StorageFailed: the task could not be made durable.
        """
        if known := neutral(messages):
            self._queue.submit(known)

    async def await_summary_tasks(self) -> str:
        """Wait for the background summaries and say how each ended, a line each.

        The tasks are forgotten afterwards; without any the answer is empty.
        """
        return await self._queue.told()

    @property
    def summary_tasks(self) -> list[asyncio.Task[str]]:
        """Background summaries nobody has asked about yet."""
        return self._queue.reported

    @summary_tasks.setter
    def summary_tasks(self, tasks: list[asyncio.Task[str]]) -> None:
        self._queue.reported = tasks

    async def _summarise_task(self, task: PendingSummary) -> Summary:
        return await self._summarise(task.messages, task.day, operation_of(task.id))

    async def _summarise(self, messages: Sequence[Message], day: str, operation: str) -> Summary:
        parts = self._memory.parts
        summarizer = Summarizer(parts, self._model.agent(), self._widened)
        budget = min(parts.settings.auto_memory_prompt_tokens, self.memory_compact_threshold // 2)
        return await summarizer.write(
            SummaryRequest(
                messages=messages,
                day=day,
                language=self.prompt_language,
                operation=operation,
                prompt_tokens=max(LEAST_PROMPT_TOKENS, budget),
            )
        )

    def _widened(self, own: Sequence[Tool]) -> list[Tool]:
        if self.toolkit is None:
            return list(own)
        from agentscope_reme.copaw.host_tools import with_host_tools  # AgentScope 1.x

        return with_host_tools(own, self.toolkit)
