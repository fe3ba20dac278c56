"""What adapters and hooks ask of a memory: save turns, distil them, keep what leaves a window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput
from agentscope_reme.facade.agents import AgentCalls
from agentscope_reme.facade.models import all_neutral
from agentscope_reme.results import AutoMemoryResult, RecordResult
from agentscope_reme.settings import Settings
from agentscope_reme.workspace import Workspace

if TYPE_CHECKING:
    from agentscope_reme.steps import ArchiveStep, AutoMemoryStep, RecordStep


class RecordingCalls(AgentCalls):
    """Turns become durable here before anything else happens to them."""

    @cached_property
    def _record_step(self) -> RecordStep:
        from agentscope_reme.steps import RecordStep

        return RecordStep()

    @cached_property
    def _archive_step(self) -> ArchiveStep:
        from agentscope_reme.steps import ArchiveStep

        return ArchiveStep()

    @cached_property
    def _auto_memory_step(self) -> AutoMemoryStep:
        from agentscope_reme.steps import AutoMemoryStep

        return AutoMemoryStep()

    @property
    def settings(self) -> Settings:
        """The limits in force."""
        return self._engine.components.settings

    @property
    def clock(self) -> Clock:
        """The clock in force."""
        return self._engine.components.clock

    @property
    def workspace(self) -> Workspace:
        """Where the files are."""
        return self._engine.components.workspace

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
        known = None
        if messages is not None:
            known = await all_neutral(messages, as_given=include_images)
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

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Save turns durably and return; index and distillation follow in the background.

        Every call of this memory that reads the index waits until it shows them.
        Idempotent by message id. Recalled memory among the messages is left out. Base64 images are
        saved as `auto_memory` saves them, however many there are, unless
        `Settings.record_images` says otherwise; what cannot be kept is reported in `status()`.

        Args:
            session_id: the conversation.
            messages: as in `auto_memory`.
            distil: submit the background work; it also needs a model.

        Raises:
            BadInput: a message or the session id is not usable.
            StorageFailed: the log or an image could not be written, or another process keeps a
                lock for longer than `Settings.record_patience_seconds`; send the turns again.
        """
        known = await all_neutral(messages)
        await self._life.ready()
        with self._engine.in_a_hurry():
            result = await self._record_step(
                self._engine.application,
                session_id=session_id,
                messages=known,
                keep_images=self.settings.record_images,
            )
        if distil and result.pending and self.is_open:  # else it waits in the files
            self._engine.distil_soon(session_id)
        return result

    def flush_soon(self, session_id: str) -> None:
        """Distil in the background, now, what waits for `Settings.record_every_turns`.

        Returns at once; does nothing when nothing waits, or the memory is not open.
        """
        if self.is_open:
            self._engine.flush_soon(session_id)

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep, in full, what leaves a context window; returns the archive's path.

        `search` finds what the session's log does not say: tool results, and words that were not
        recorded before this call. The distilled layers answer first.

        Args:
            session_id: the conversation.
            messages: as in `auto_memory`.

        Raises:
            BadInput: a message or the session id is not usable.
            StorageFailed: the archive could not be written, and is as it was.
        """
        known = await all_neutral(messages)
        await self._life.ready()
        with self._engine.in_a_hurry():
            kept = await self._archive_step(
                self._engine.application,
                session_id=session_id,
                messages=known,
                memory_tools=frozenset(tool.name for tool in self._all_tools),
            )
        return kept.session_path

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
        await self._life.ready()
        return await self._engine.drain(limit)

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""
        self._engine.failures.report(where, error)
