"""The working memory of a 1.x agent, whose past is never simply dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from agentscope.memory import InMemoryMemory
from agentscope.message import Msg

from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.marks import COMPRESSED, HINT, OURS, conversation, ours
from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.agentscope_v1.window import keep, prepare_compaction, window_tokens
from agentscope_reme.context.tokens import IMAGE_TOKENS
from agentscope_reme.messages import DataBlock, Message
from agentscope_reme.ports import MemoryService
from agentscope_reme.workspace import encode_name


class TokenCounter(Protocol):
    """The counting side of AgentScope's token counters."""

    async def count(self, messages: list[dict[str, Any]], **kwargs: Any) -> int:
        """How many tokens formatted messages have."""


class ReMeMemory(InMemoryMemory):
    """`InMemoryMemory` whose messages are archived before they leave the window.

    Deleted, cleared and compressed messages go to the session's archive and log first; as long as
    nothing leaves, nothing is written. Compressed messages are hidden from every view that does
    not ask for them by ``mark="compressed"``, and the summary stands in front once. Its
    `state_dict` is that of `InMemoryMemory`, so session files of either load into the other.

    Args:
        reme: the memory service; started on first use.
        session_id: the conversation this window belongs to.
        token_counter: one of AgentScope's counters; without it sizes are estimated. Binaries
            always count a fixed number, because counters take Base64 for text.
        max_input_length: above this many tokens `needs_compaction` is true, and a
            `MemoryCompactionHook` compacts; 0 leaves it to the settings of `reme`.

    Raises:
        BadInput: the session id cannot name a session.
    """

    def __init__(
        self,
        reme: MemoryService,
        session_id: str,
        token_counter: TokenCounter | None = None,
        max_input_length: int = 0,
    ) -> None:
        super().__init__()
        encode_name(session_id)
        self._reme = reme
        self.session_id = session_id
        self.max_input_length = max_input_length
        self._token_counter = token_counter
        self._compacting = False

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The visible messages, oldest first.

        Args:
            mark: only messages with this mark; ``"compressed"`` shows the hidden ones.
            exclude_mark: not messages with this mark.
            prepend_summary: begin with the summary, when there is one.
            kwargs: taken for compatibility and passed on.

        Raises:
            TypeError: a mark is not a string.
        """
        found = await super().get_memory(mark, exclude_mark, prepend_summary=False, **kwargs)
        if mark != COMPRESSED:
            hidden = {msg.id for msg, marks in self.content if COMPRESSED in marks}
            found = [msg for msg in found if msg.id not in hidden]
        return [*self._summary_message(), *found] if prepend_summary else found

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add messages; one that is there already, twice in the list, or our own summary is not.

        Raises:
            TypeError: the marks are neither text nor a list of texts.
        """
        given = [memories] if isinstance(memories, Msg) else memories or []
        fresh = [msg for msg in given if (msg.metadata or {}).get(OURS) != "summary"]
        if not allow_duplicates:
            fresh = list({msg.id: msg for msg in reversed(fresh)}.values())[::-1]
        await super().add(fresh, marks, allow_duplicates, **kwargs)

    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Archive messages, then remove them; returns how many.

        Raises:
            ReMeError: they could not be archived; nothing was removed.
        """
        wanted = set(msg_ids)
        await self._let_go(msg for msg, marks in self.content if msg.id in wanted)
        return int(await super().delete(msg_ids, **kwargs))

    async def delete_by_mark(self, mark: str | list[str], **kwargs: Any) -> int:
        """Archive messages with a mark, then remove them; hints are only removed.

        Raises:
            ReMeError: they could not be archived; nothing was removed.
            TypeError: a mark is not a string.
        """
        wanted = {mark} if isinstance(mark, str) else set(mark)
        await self._let_go(msg for msg, marks in self.content if wanted.intersection(marks))
        return int(await super().delete_by_mark(mark, **kwargs))

    async def clear(self) -> None:
        """Archive everything, then forget it together with its summary.

        Raises:
            ReMeError: it could not be archived; nothing was forgotten.
        """
        await self._let_go(msg for msg, _ in self.content)
        await super().clear()
        self._compressed_summary = ""

    async def update_messages_mark(
        self,
        new_mark: str | None,
        old_mark: str | None = None,
        msg_ids: list[str] | None = None,
    ) -> int:
        """Change marks as `InMemoryMemory` does; what becomes ``compressed`` is archived.

        AgentScope calls this in the middle of a reply, after it stored the summary. So a failing
        archive is reported and the marks are set all the same: the messages stay here, hidden,
        and are archived when they leave for good.
        """
        if new_mark == COMPRESSED:
            with reporting(self._reme, "memory.compress"):
                await self._let_go(
                    msg
                    for msg, marks in self.content
                    if (msg_ids is None or msg.id in msg_ids)
                    and (old_mark is None or old_mark in marks)
                    and COMPRESSED not in marks
                )
        return int(await super().update_messages_mark(new_mark, old_mark, msg_ids))

    async def estimate_tokens(self) -> int:
        """The size of the visible window with its summary, in tokens."""
        messages = await self.get_memory()
        if self._token_counter is None:
            return window_tokens(messages)
        neutral = [to_neutral(msg) for msg in messages]
        words = [{"role": m.role, "name": m.name, "content": _countable(m)} for m in neutral]
        return int(await self._token_counter.count(words)) + IMAGE_TOKENS * sum(
            map(_binaries, neutral)
        )

    async def needs_compaction(self) -> bool:
        """Whether the window is larger than `max_input_length`, or than the settings allow."""
        limit = self.max_input_length or self._reme.settings.memory_compact_threshold
        return await self.estimate_tokens() > limit

    async def compact(self, *, keep_recent: int = 3, budget: int | None = None) -> int:
        """Replace all but the newest messages by a summary.

        They are archived and recorded first. Then summary and marks change together, or, when
        anything failed, not at all. Without a model, or with one that answers something else, the
        summary quotes what the user said.

        Args:
            keep_recent: how many messages stay; tool calls stay with their results, and the last
                request always stays.
            budget: how many estimated tokens stay at most; ``None`` for no such limit.

        Returns:
            How many messages were compressed; 0 also while another call is at work.

        Raises:
            ModelFailed: the model failed or said nothing.
            ReMeError: archive or log could not be written.
        """
        if self._compacting:
            return 0
        self._compacting = True
        try:
            done = await prepare_compaction(
                self._reme,
                self.session_id,
                await self.get_memory(exclude_mark=HINT, prepend_summary=False),
                previous_summary=self._compressed_summary,
                keep_recent=keep_recent,
                budget=budget,
                record=True,
            )
            if done is None:
                return 0
            self._compressed_summary = done.summary
            return int(await super().update_messages_mark(COMPRESSED, msg_ids=done.ids))
        finally:
            self._compacting = False

    async def _let_go(self, leaving: Iterable[Msg]) -> None:
        hints = {msg.id for msg, marks in self.content if HINT in marks}
        said = conversation(msg for msg in leaving if msg.id not in hints)
        await keep(self._reme, self.session_id, said, record=True)

    def _summary_message(self) -> Sequence[Msg]:
        summary = self._compressed_summary
        if not summary:
            return ()
        msg = Msg("user", summary, "user", metadata=ours("summary"))
        digest = hashlib.sha256(summary.encode("utf-8", "surrogatepass")).hexdigest()
        msg.id = f"summary-{digest[:16]}"
        return (msg,)


def _countable(message: Message) -> str:
    """Everything of a message but its binaries, as one text."""
    bare = [block for block in _flat(message) if not isinstance(block, DataBlock)]
    return "\n".join(
        str(getattr(block, "text", None) or getattr(block, "input", "")) for block in bare
    )


def _binaries(message: Message) -> int:
    return sum(isinstance(block, DataBlock) for block in _flat(message))


def _flat(message: Message) -> list[Any]:
    return [inner for block in message.blocks for inner in (block, *getattr(block, "output", ()))]
