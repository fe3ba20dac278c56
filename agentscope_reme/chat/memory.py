"""The memory behind a conversation in the terminal: CoPaw's layout, on any AgentScope."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field

from agentscope_reme.clock import Clock
from agentscope_reme.configuration import Configuration
from agentscope_reme.copaw.pending import PendingSummary
from agentscope_reme.copaw.search import (
    NO_QUERY,
    SEARCHED,
    WeightedSearchStep,
    hits_as_json,
    result_limit,
    score_limit,
)
from agentscope_reme.copaw.service import CopawCalls, CurrentModel
from agentscope_reme.copaw.summarizer import Summary
from agentscope_reme.copaw.summary_calls import SummaryCalls
from agentscope_reme.copaw.summary_queue import KNOWN, operation_of
from agentscope_reme.engine import Engine
from agentscope_reme.errors import ReMeError
from agentscope_reme.facade.models import embedding_port_of
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.steps.context import Components
from agentscope_reme.steps.forget import ForgetStep
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.scope import AGENT, OWNER, Scope
from agentscope_reme.workspace import Workspace, is_markdown

DAYS: Final = "memory"

_SAVING_SECONDS: Final = 0.2
"""How often it is looked how many conversations are left to be saved."""
_LOOKED_BACK: Final = 1000
"""Changes of the journal among which what a saving of another process wrote is looked for."""


@dataclass(frozen=True, slots=True)
class Saving:
    """How the saving of a conversation ended.

    Attributes:
        paths: the notes that were written; none when nothing was worth one.
        fault: why it failed; empty when it did not.
    """

    paths: tuple[str, ...] = ()
    fault: str = ""


class SearchMemory(BaseModel):
    """What to look for."""

    query: str = Field(description="What to look for, in plain words or exact terms.")
    max_results: int = Field(default=5, description="The most results, 1 to 100.")
    min_score: float = Field(default=0.1, description="Results below it are left out, 0 to 1.")


class ChatMemory(SummaryCalls):
    """What is kept of conversations: their lines, notes in ``MEMORY.md`` and ``memory/``.

    Lines are durable when `record` returns. `add_async_summary_task` keeps a conversation durably
    and lets the model note, in the background, what it was worth.

    Args:
        configuration: where and how.
        model: an AgentScope chat model; ``None`` where none is configured.
        formatter: the model's formatter.
        embedding_model: for vectors; optional.
        clock: the source of "now"; for tests.

    Raises:
        BadInput: the workspace or a model is not usable.
        StorageFailed: the folders cannot be made.
    """

    toolkit: Any = None

    def __init__(
        self,
        configuration: Configuration,
        model: Any,
        formatter: Any,
        embedding_model: Any = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        chat = configuration.chat
        self.language = "zh" if configuration.language == "zh" else ""
        self.memory_compact_threshold = chat.context_window_tokens - chat.reserve_tokens
        self.vector_weight = chat.vector_weight
        self.candidate_multiplier = chat.candidate_multiplier
        ports = CurrentModel(lambda: (model, formatter))
        workspace = Workspace(configuration.workspace_dir, user=configuration.user)
        memory = CopawCalls(
            Engine(
                workspace,
                settings=configuration.settings,
                clock=clock or Clock(configuration.timezone),
                language=configuration.language,
                chat=ports,
                agent=ports,
                embedding=embedding_port_of(embedding_model),
            )
        )
        super().__init__(memory, ports)
        self._noted: dict[str, tuple[str, ...]] = {}  # what ended savings changed, by task

    @property
    def parts(self) -> Components:
        """The parts of the workspace."""
        return self._memory.parts

    async def start(self) -> None:
        """Open the memory and go on with what waits to be saved.

        Raises:
            StorageFailed: the folder cannot be opened or written.
        """
        await self._memory.start()
        folder = self.parts.workspace.root / DAYS
        await asyncio.to_thread(folder.mkdir, exist_ok=True)
        await self._queue.resume()

    async def close(self) -> None:
        """Stop saving, which goes on at the next start, and close."""
        await self._queue.close()
        await self._memory.close()

    @property
    def saving(self) -> int:
        """Conversations that are not saved yet."""
        return self._queue.queued

    async def saved(self) -> AsyncIterator[int]:
        """Wait until every conversation is saved, telling now and then how many are left."""
        while self._queue.queued:
            yield self._queue.queued
            await self._queue.drain(_SAVING_SECONDS)

    async def savings(self) -> list[Saving]:
        """How savings ended that ended since this was asked last, each fault once."""
        ended = [task for task in self.summary_tasks if task.done()]
        known = [task for task in ended if not task.cancelled() and _is_one(task)]
        found = [await asyncio.to_thread(self._saving, task) for task in known]
        self.summary_tasks = [task for task in self.summary_tasks if task not in ended]
        return list(dict.fromkeys(found))

    async def some_saving_ended(self) -> bool:
        """Wait until a saving has ended that was not asked about; false when none is under way."""
        if not self.summary_tasks:
            return False
        await asyncio.wait(self.summary_tasks, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def _summarise_task(self, task: PendingSummary) -> Summary:
        summary = await super()._summarise_task(task)
        self._noted[task.id] = summary.changed
        return summary

    def _saving(self, task: asyncio.Task[str]) -> Saving:
        noted, error = self._noted.pop(task.get_name(), None), task.exception()
        if error is not None:
            return Saving(fault=str(error))
        paths = self._noted_elsewhere(task.get_name()) if noted is None else noted
        return Saving(tuple(sorted(filter(is_markdown, set(paths)))))

    def _noted_elsewhere(self, task_id: str) -> list[str]:
        """What another process, or this one before a crash, changed for a task."""
        wanted = operation_of(task_id)
        changes = self.parts.vault.history(limit=_LOOKED_BACK)
        return [path for one in changes if one.operation == wanted for path in one.paths]

    def saver(self, scope: Scope = AGENT) -> FileOperations:
        """The file operations of the assistant; with its usual scope only notes are written."""
        return self._memory.operations(scope)

    async def forget_conversation(self, session_id: str, results: Sequence[str]) -> None:
        """Let nothing of a conversation stay in the workspace but what was noted of it.

        Lines, archive, images, tool results, what waits to be summarised, earlier versions in the
        journal and the trash. Notes and other files stay as they are.

        Args:
            session_id: which one.
            results: paths of further tool results that belong to it.

        Raises:
            Conflict: another process is at work on it.
            StorageFailed: the disk refused; what was decided is carried on by the next change.
        """
        parts = self.parts
        paths = (
            parts.logs.log(session_id).path,
            parts.logs.archive(session_id).path,
            *results,
        )
        async with self._nothing_saved_meanwhile():
            await ForgetStep()(
                self._memory.application,
                paths=paths,
                alone=True,
                whole_logs=True,
                dry_run=False,
                actor=OWNER.actor,
            )

    @asynccontextmanager
    async def _nothing_saved_meanwhile(self) -> AsyncIterator[None]:
        """Interrupt the background work: it holds copies of conversations."""
        await self._queue.close()
        try:
            yield
        finally:
            await self._queue.resume()

    def search_tool(self) -> Tool:
        """``memory_search`` over ``MEMORY.md``, ``memory/``, ``daily/`` and ``digest/``."""
        return Tool(
            "memory_search",
            "Search the long-term memory (MEMORY.md, memory/, daily/, digest/) by meaning and "
            "words. Each result names a file and its lines; read more there.",
            SearchMemory,
            self._search,
            read_only=True,
        )

    async def _search(self, arguments: SearchMemory) -> ToolOutput:
        if not arguments.query.strip():
            return ToolOutput(NO_QUERY, success=False)
        try:
            found = await WeightedSearchStep()(
                self._memory.application,
                query=arguments.query,
                limit=result_limit(arguments.max_results),
                min_score=score_limit(arguments.min_score),
                layers=SEARCHED,
                fusion="score",
                vector_weight=self.vector_weight,
                candidates_per_hit=self.candidate_multiplier,
                expand_links=False,
            )
        except ReMeError as error:
            self.report_failure("memory_search", error)
            return ToolOutput(f"The search failed: {error}", success=False)
        if not found.hits:
            return ToolOutput("Nothing was found. Other words may find more.")
        root, most = self.parts.workspace.root, self.parts.settings.tool_answer_bytes
        return ToolOutput(hits_as_json(found.hits, root, most_bytes=most))


def _is_one(task: asyncio.Task[str]) -> bool:
    """Whether it saved, or tried to; messages that wait already take no second run."""
    return task.exception() is not None or task.result() != KNOWN
