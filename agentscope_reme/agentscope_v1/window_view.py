"""A 1.x memory as something to compact: what is visible in it, and how a change is committed.

A `WindowMemory` and AgentScope's own `InMemoryMemory` hand out the messages they hold, so a message
can be rewritten where it is. Other memories hand out copies: theirs can only be hidden or deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentscope.memory import InMemoryMemory, MemoryBase
from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.marks import ARCHIVED, COMPRESSED, HINT
from agentscope_reme.agentscope_v1.window_memory import WindowMemory
from agentscope_reme.errors import Conflict


@dataclass(frozen=True, slots=True)
class Rewrite:
    """New content for a message that stays."""

    msg: Msg
    content: list[Any]


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one compaction does to a memory.

    Attributes:
        leaving: messages a summary stands for from now on.
        summary: that summary; ``None`` leaves the present one.
        rewrites: messages that stay, in another form.
        archive: where the rewritten ones are kept as they were.
    """

    leaving: Sequence[Msg] = ()
    summary: str | None = None
    rewrites: Sequence[Rewrite] = ()
    archive: str = ""


@dataclass(slots=True)
class WindowView:
    """One memory, for the length of one compaction.

    Args:
        memory: of an agent.
        hides_compressed: whether its reader leaves marked messages out, as agents with
            AgentScope's own compression do; a `WindowMemory` always hides them.
        messages: what is visible, without hints and summary, oldest first; see `look`.
        summary: what stands for earlier messages.
    """

    memory: MemoryBase
    hides_compressed: bool = False
    messages: list[Msg] = field(default_factory=list)
    summary: str = ""

    async def look(self) -> None:
        """Read the memory."""
        found = await self.memory.get_memory(exclude_mark=HINT, prepend_summary=False)
        if not isinstance(self.memory, WindowMemory):
            marked = await self.memory.get_memory(mark=COMPRESSED, prepend_summary=False)
            hidden = {msg.id for msg in marked}
            found = [msg for msg in found if msg.id not in hidden]
        self.messages = found
        self.summary = str(getattr(self.memory, "_compressed_summary", "") or "")

    @property
    def can_rewrite(self) -> bool:
        """Whether messages that stay can be changed."""
        return isinstance(self.memory, InMemoryMemory)

    def shown_summary(self) -> str:
        """The summary with the words its memory puts around it."""
        return (
            self.memory.shown(self.summary)
            if isinstance(self.memory, WindowMemory)
            else self.summary
        )

    def meter(self) -> WindowMeter | None:
        """The meter of a memory that has one."""
        return self.memory.meter if isinstance(self.memory, WindowMemory) else None

    async def commit(self, change: Change) -> None:
        """Make a change, wholly or not at all.

        Raises:
            Conflict: the memory holds other messages or another summary than it did at `look`.
        """
        await self._refuse_changed(change)
        if isinstance(self.memory, WindowMemory):
            _rewrite(change)
            if change.summary is not None:
                self.memory.let_summary_stand(change.summary, {msg.id for msg in change.leaving})
            return
        before = [
            (rewrite.msg, rewrite.msg.content, rewrite.msg.metadata) for rewrite in change.rewrites
        ]
        try:
            if change.summary is not None:
                await self.memory.update_compressed_summary(change.summary)
                await self._remove([msg.id for msg in change.leaving])
            _rewrite(change)
        except BaseException:  # a cancelled reply, too, keeps the window it had
            await self.memory.update_compressed_summary(self.summary)
            for msg, content, metadata in before:
                msg.content, msg.metadata = content, metadata
            raise

    async def _remove(self, ids: list[str]) -> None:
        if self.hides_compressed:
            await self.memory.update_messages_mark(COMPRESSED, msg_ids=ids)
        else:  # its reader shows marked messages, and they are archived
            await self.memory.delete(ids)

    async def _refuse_changed(self, change: Change) -> None:
        now = WindowView(self.memory, self.hides_compressed)
        await now.look()
        present = {msg.id for msg in now.messages}
        missing = [msg.id for msg in change.leaving if msg.id not in present]
        if missing or now.summary != self.summary:
            raise Conflict(
                missing or now.summary[:80],
                "the window was changed by somebody else while it was summarised",
                "Nothing was changed; the next check sees the window as it is.",
            )


def _rewrite(change: Change) -> None:
    for rewrite in change.rewrites:
        rewrite.msg.content = rewrite.content
        rewrite.msg.metadata = {**(rewrite.msg.metadata or {}), ARCHIVED: change.archive}
