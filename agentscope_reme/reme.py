"""`ReMe`, the facade of one workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from agentscope_reme.clock import Clock
from agentscope_reme.engine import Engine
from agentscope_reme.facade.checkpoints import CheckpointCalls
from agentscope_reme.facade.dreams import DreamCalls
from agentscope_reme.facade.files import FileCalls
from agentscope_reme.facade.forgetting import ForgetCalls
from agentscope_reme.facade.journal import JournalCalls
from agentscope_reme.facade.lifetime import surroundings
from agentscope_reme.facade.models import (
    agent_port_of,
    chat_port_of,
    embedding_port_of,
    refuse_formatter,
)
from agentscope_reme.facade.recording import RecordingCalls
from agentscope_reme.facade.resources import ResourceCalls
from agentscope_reme.results import AutoMemoryResult
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.workspace import Workspace

if TYPE_CHECKING:
    from agentscope_reme.context.compactor import Compactor
    from agentscope_reme.steps import ClaudeCodeMemoryStep


class ReMe(
    RecordingCalls, CheckpointCalls, DreamCalls, FileCalls, ForgetCalls, JournalCalls, ResourceCalls
):
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
        file_store: makes the store that keeps the index: a `SharedIndex` of
            `agentscope_reme.store.scaleout`, so that many workers share one, or any other callable.
            A `LocalFileStore` without it.

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
        file_store: Callable[[Workspace, Settings], BaseFileStore] | None = None,
    ) -> None:
        settings, clock = surroundings(language, timezone, settings, clock)
        refuse_formatter(formatter)
        chat = chat_port_of(chat_model, formatter)
        agent = agent_port_of(chat_model, formatter)
        workspace = Workspace(workspace_dir, user=user)
        super().__init__(
            Engine(
                workspace,
                settings=settings,
                clock=clock,
                language=language,
                chat=chat,
                agent=agent,
                embedding=embedding_port_of(embedding_model),
                store=None if file_store is None else file_store(workspace, settings),
            )
        )
        self._lacks = "" if agent is None else "this model only runs tools (no method `complete`)"

    @cached_property
    def _compactor(self) -> Compactor:
        from agentscope_reme.context.compactor import Compactor

        return Compactor(self._engine.components.chat, self.language, lacks=self._lacks)

    @cached_property
    def _claude_code_step(self) -> ClaudeCodeMemoryStep:
        from agentscope_reme.steps import ClaudeCodeMemoryStep

        return ClaudeCodeMemoryStep()

    @property
    def language(self) -> str:
        """``en`` or ``zh``."""
        return self._engine.components.language

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
