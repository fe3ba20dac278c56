"""`ReMe`, the facade of one workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

from agentscope_reme.clock import Clock
from agentscope_reme.context.compactor import Compactor
from agentscope_reme.engine import Engine
from agentscope_reme.errors import BadInput
from agentscope_reme.facade.agents import AgentCalls
from agentscope_reme.facade.files import FileCalls
from agentscope_reme.facade.journal import JournalCalls
from agentscope_reme.facade.models import agent_port_of, chat_port_of, embedding_port_of, neutral
from agentscope_reme.prompts import LANGUAGES
from agentscope_reme.results import AutoMemoryResult, RecordResult
from agentscope_reme.settings import Settings
from agentscope_reme.steps import AutoMemoryStep, ClaudeCodeMemoryStep, RecordStep
from agentscope_reme.workspace import Workspace


class ReMe(AgentCalls, FileCalls, JournalCalls):
    """The long-term memory of one agent, or of one of its users, in a folder of files.

    Use it as an async context manager, or call `start` and `close`; the first call starts it by
    itself. An instance belongs to one event loop; any number of processes may share a workspace.

    Args:
        workspace_dir: the folder; created when missing.
        chat_model: an AgentScope chat model that writes cards and checkpoints. Without one
            everything that needs none works, and what is recorded waits.
        formatter: the model's formatter, AgentScope 1.x; found by the model's class when missing.
        embedding_model: an AgentScope embedding model; adds search by meaning.
        user: opens a workspace of its own below `workspace_dir`; users never see each other.
        language: ``en`` or ``zh``, for prompts and notices.
        timezone: an IANA name, in which days begin; the machine's zone without it.
        settings: limits and budgets.
        clock: the source of "now"; for tests.

    Raises:
        BadInput: an argument is not usable.
    """

    def __init__(
        self,
        workspace_dir: str | os.PathLike[str] = ".reme",
        *,
        chat_model: Any = None,
        formatter: Any = None,
        embedding_model: Any = None,
        user: str | None = None,
        language: Literal["en", "zh"] = "en",
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        if language not in LANGUAGES:
            raise BadInput(language, "not a language this library speaks", f"Use {LANGUAGES}.")
        if clock is not None and timezone is not None:
            raise BadInput(timezone, "`clock` already has a time zone", "Pass one of the two.")
        chat = chat_port_of(chat_model, formatter)
        super().__init__(
            Engine(
                Workspace(workspace_dir, user=user),
                settings=settings or Settings(),
                clock=clock or Clock(timezone),
                language=language,
                chat=chat,
                agent=agent_port_of(chat_model, formatter),
                embedding=embedding_port_of(embedding_model),
            )
        )
        self._compactor = Compactor(chat, language)
        self._record_step = RecordStep()
        self._auto_memory_step = AutoMemoryStep()
        self._claude_code_step = ClaudeCodeMemoryStep()

    @property
    def settings(self) -> Settings:
        """The limits in force."""
        return self._engine.components.settings

    @property
    def clock(self) -> Clock:
        """The clock in force."""
        return self._engine.components.clock

    @property
    def language(self) -> str:
        """``en`` or ``zh``."""
        return self._engine.components.language

    @property
    def workspace(self) -> Workspace:
        """Where the files are."""
        return self._engine.components.workspace

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def auto_memory(
        self,
        messages: Sequence[Any] | None = None,
        *,
        session_id: str | None = None,
        date: str | None = None,
        include_images: bool = False,
        hint: str = "",
        request_id: str | None = None,
    ) -> AutoMemoryResult:
        """Save turns and distil them into the daily card of their session.

        The turns are durable before a model is asked. Turns that were distilled before cost no
        model call. Without messages, everything pending is distilled: of one session, or of all.

        With `include_images` the originals of Base64 images are saved below ``session/images/``,
        and the model sees the images of the new turns, each beside its exact source, which it is
        asked to cite. A file that is there for a message id and position is used as it is.

        Args:
            messages: AgentScope messages, plain dictionaries, or `Message` values, oldest first.
            session_id: the conversation they belong to.
            date: ``YYYY-MM-DD``, the day of the card; else the day of the latest turn.
            include_images: let the model see images; it and its formatter must be able to.
            hint: what to pay attention to, for the model.
            request_id: 1 to 128 characters; the same id with the same arguments, once it
                succeeded, gets the earlier answer without a model call. Needs `session_id`.

        Returns:
            ``pending=True`` when the turns are saved but not distilled: there is no model, it
            failed (then ``success=False``), or another process is at it.

        Raises:
            BadInput: a message, an image, the session id or the date is not usable, the model
                takes no images, or `request_id` belongs to another request; nothing was saved.
            NotFound: without messages: nothing was ever recorded in this session.
            StorageFailed: an image or the log could not be written.
        """
        known = None if messages is None else neutral(messages, as_given=include_images)
        await self._ready()
        result = await self._auto_memory_step(
            self._engine.application,
            messages=known,
            session_id=session_id,
            date=date,
            include_images=include_images,
            hint=hint,
            request_id=request_id,
        )
        self._engine.embed_soon()
        return result

    async def auto_memory_cc(
        self,
        *,
        session_id: str,
        hint: str = "",
        projects_dir: str | os.PathLike[str] | None = None,
    ) -> AutoMemoryResult:
        """Take over what is new in a Claude Code session and distil it into a card for each day.

        The rows of the transcript are archived in ``session/claude_code/``, what was said in them
        is logged as the session ``claude_code/<session_id>``, both before a model is asked. What
        no model has read yet is pending there: the next call catches up, and so does
        `auto_memory()`. A call without news costs no model call.

        Args:
            session_id: as Claude Code names the session.
            hint: what to pay attention to, for the model.
            projects_dir: where Claude Code keeps its transcripts; by default
                ``$CLAUDE_CONFIG_DIR/projects``, or ``~/.claude/projects``.

        Returns:
            As `auto_memory`; ``session_path`` is the archived transcript.

        Raises:
            BadInput: the session id is not the name of a transcript.
            NotFound: there is no transcript, and none was archived before.
            StorageFailed: the archive or the log could not be written.
        """
        await self._ready()
        result = await self._claude_code_step(
            self._engine.application, session_id=session_id, hint=hint, projects_dir=projects_dir
        )
        self._engine.embed_soon()
        return result

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Save turns durably and return; the distillation follows in the background.

        Idempotent by message id. Recalled memory among the messages is left out.

        Args:
            session_id: the conversation.
            messages: as in `auto_memory`.
            distil: submit the background work; it also needs a model.

        Raises:
            BadInput: a message or the session id is not usable.
            StorageFailed: the log could not be written, or another process keeps its lock for
                longer than `Settings.record_patience_seconds`; nothing was saved.
        """
        known = neutral(messages)
        await self._ready()
        with self._engine.in_a_hurry():
            result = await self._record_step(
                self._engine.application, session_id=session_id, messages=known
            )
        if distil and result.pending:
            self._engine.distil_soon(session_id)
        return result

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep, in full, what leaves a context window; returns the archive's path."""
        known = neutral(messages)
        await self._ready()
        return await self._engine.archive(session_id, known)

    async def summarise(self, messages: Sequence[Any], *, previous_summary: str = "") -> str:
        """One checkpoint text that stands for the messages.

        Raises:
            ModelRequired: there is no model.
            ModelFailed: it failed; nothing was changed.
        """
        return await self._compactor.summarise(neutral(messages), previous_summary)

    async def drain(self, deadline_seconds: float | None = None) -> bool:
        """Wait for the background work; ``False`` when the deadline came first.

        Args:
            deadline_seconds: how long to wait; `Settings.close_drain_seconds` without it.

        Raises:
            BadInput: it is not a number.
        """
        limit = self.settings.close_drain_seconds if deadline_seconds is None else deadline_seconds
        if not isinstance(limit, int | float):
            raise BadInput(limit, "`deadline_seconds` must be a number", "Pass seconds.")
        await self._ready()
        return await self._engine.drain(limit)

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""
        self._engine.failures.report(where, error)
