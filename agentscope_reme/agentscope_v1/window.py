"""Compacting a 1.x context window: what leaves it, where it is kept, what stands for it.

The order is what makes it safe: whatever leaves the window or is shortened in it is archived first,
then a summary is made, and only then is anything in the agent's memory changed, all at once.
Whatever fails before that leaves the window as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from agentscope.memory import MemoryBase
from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.local_images import with_local_images
from agentscope_reme.agentscope_v1.marks import ARCHIVED, conversation
from agentscope_reme.agentscope_v1.shrinking import Limits, Shrunk, shrink
from agentscope_reme.agentscope_v1.window_view import Change, WindowView
from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.shortening import fit_tokens
from agentscope_reme.errors import ModelFailed, ModelRequired, ReMeError
from agentscope_reme.messages import Message
from agentscope_reme.ports import MemoryService, SummaryService
from agentscope_reme.runtime.starting import started

_POINTER: Final = {"en": "The full messages: {path}", "zh": "完整消息：{path}"}
_FAILURES_ENDURED: Final = 2
"""How often in a row a model may fail before its summary is made without it: the messages are
archived, and a window that only grows would end the conversation."""

Tell = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did; token numbers are estimates of the whole prompt.

    Attributes:
        compacted: messages that a summary stands for now.
        kept: messages that are still there.
        shortened: messages among those whose tool results were shortened.
        before: the tokens before.
        after: the tokens now.
        summary: what stands for everything that left; empty when nothing did.
        archive: where it is kept in full.
        fits: whether the window is within its threshold now.
    """

    compacted: int
    kept: int
    shortened: int
    before: int
    after: int
    summary: str
    archive: str
    fits: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """One call of `WindowKeeper.fit`, and the tokens it began with."""

    view: WindowView
    session_id: str
    meter: WindowMeter
    limits: Limits
    wish: str
    begin: Tell | None
    before: int


class WindowKeeper:
    """Keeps windows below a threshold.

    Args:
        reme: the memory that archives and summarises.
        record: also add what leaves to the session's log.
    """

    def __init__(self, reme: MemoryService, *, record: bool) -> None:
        self._reme = reme
        self._record = record
        self._failures: WeakKeyDictionary[MemoryBase, int] = WeakKeyDictionary()
        self._at_work: WeakKeyDictionary[MemoryBase, bool] = WeakKeyDictionary()
        self._language = "zh" if reme.language == "zh" else "en"

    async def fit(
        self,
        view: WindowView,
        session_id: str,
        meter: WindowMeter,
        limits: Limits,
        *,
        extra_instruction: str = "",
        summarises: bool = True,
        begin: Tell | None = None,
    ) -> Outcome | None:
        """Bring a window below its threshold, as far as that can be done.

        Oversized tool results are shortened first; when that is not enough, the older messages
        are archived and a summary takes their place.

        Args:
            view: the window; it is read here.
            session_id: whose archive and log are written.
            meter: counts tokens.
            limits: what the window may have.
            extra_instruction: a wish of the user about the summary.
            summarises: ``False`` only shortens tool results.
            begin: called before a model is asked.

        Returns:
            ``None`` when there was nothing to do, or another call is at work on this memory.

        Raises:
            ModelFailed: the model failed or said nothing; it is asked again the next time.
            Conflict: the window was changed by somebody else meanwhile.
            ReMeError: the archive, the log or a file could not be written.
            TimeoutError: the model took longer than `Settings.agent_deadline_seconds`.
        """
        if view.memory in self._at_work:
            return None
        self._at_work[view.memory] = True
        try:
            await view.look()
            before = await self._total(view, meter, limits)
            if limits.threshold is not None and before <= limits.threshold:
                return None
            shrunk = await shrink(
                self._reme, view, meter, limits, before=before, summarises=summarises
            )
            if not shrunk.leaving and not shrunk.rewrites:
                return None
            job = _Job(view, session_id, meter, limits, extra_instruction, begin, before)
            return await self._carry_out(job, shrunk)
        finally:
            del self._at_work[view.memory]

    async def _carry_out(self, job: _Job, shrunk: Shrunk) -> Outcome:
        view = job.view
        if shrunk.leaving and job.begin is not None:
            await job.begin()
        changed = [*shrunk.leaving, *(rewrite.msg for rewrite in shrunk.rewrites)]
        path = await keep(self._reme, job.session_id, changed, record=self._record)
        summary = None
        if shrunk.leaving:
            try:
                summary = await self._summary(view, shrunk, path, job.wish)
            finally:  # not before: the reply waits for the summary, and models are often shared
                self._reme.flush_soon(job.session_id)
        await view.commit(Change(shrunk.leaving, summary, shrunk.rewrites, path))
        self._failures.pop(view.memory, None)
        self._note_soon(shrunk.leaving)
        await view.look()
        after = await self._total(view, job.meter, job.limits)
        limit = job.limits.threshold
        return Outcome(
            compacted=len(shrunk.leaving),
            kept=len(view.messages),
            shortened=len(shrunk.rewrites),
            before=job.before,
            after=after,
            summary=summary or "",
            archive=path,
            fits=limit is None or after <= limit,
        )

    def _note_soon(self, leaving: Sequence[Msg]) -> None:
        """Where the memory keeps notes of what left a window, let it write them in the background.

        The window is changed already and everything is archived: a refusal is only reported.
        """
        if not leaving or not isinstance(self._reme, SummaryService):
            return
        try:
            self._reme.add_async_summary_task(conversation(leaving))
        except ReMeError as error:
            self._reme.report_failure("compaction.summary_task", error)

    async def _total(self, view: WindowView, meter: WindowMeter, limits: Limits) -> int:
        summary = await meter.text(view.shown_summary())
        return limits.overhead + summary + await meter.total(view.messages)

    async def _summary(self, view: WindowView, shrunk: Shrunk, path: str, wish: str) -> str:
        pointer = f"\n\n[{_POINTER[self._language].format(path=path)}]" if path else ""
        earlier = view.summary.removesuffix(pointer)
        said = conversation(shrunk.leaving)
        try:
            text = await self._asked(said, earlier, wish)
        except ModelRequired as error:
            text = self._quoted(said, earlier, error)
        except (ModelFailed, TimeoutError) as error:
            endured = self._failures.get(view.memory, 0)
            self._failures[view.memory] = endured + 1
            if endured < _FAILURES_ENDURED:
                raise
            text = self._quoted(said, earlier, error)
        return fit_tokens(text, shrunk.summary_room) + pointer

    async def _asked(self, said: Sequence[Message], earlier: str, wish: str) -> str:
        optional = {"extra_instruction": wish} if wish else {}  # not every service takes one
        async with asyncio.timeout(self._reme.settings.agent_deadline_seconds):
            return await self._reme.summarise(said, previous_summary=earlier, **optional)

    def _quoted(self, said: Sequence[Message], earlier: str, error: Exception) -> str:
        """A summary without a model: safe, because everything in it is archived."""
        self._reme.report_failure("compaction.summarise", error)
        return fallback_summary(said, earlier, language=self._language)


async def keep(
    reme: MemoryService, session_id: str, messages: Sequence[Msg], *, record: bool
) -> str:
    """Make messages durable that are about to leave a window or to be rewritten in it.

    What was archived before it was rewritten is not archived again.

    Returns:
        The path of the archive; of the earlier one when everything stands there already.

    Raises:
        ReMeError: the archive or the log could not be written.
    """
    known = [str(msg.metadata[ARCHIVED]) for msg in messages if (msg.metadata or {}).get(ARCHIVED)]
    fresh = [msg for msg in messages if not (msg.metadata or {}).get(ARCHIVED)]
    whole = conversation(fresh, whole=True)
    if not whole:
        return known[-1] if known else ""
    await started(reme)
    if record:  # first: words that the log has are searched there, and not in the archive again
        await reme.record(session_id, await with_local_images(conversation(fresh)))
    return await reme.archive(session_id, whole)
