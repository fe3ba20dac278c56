"""The working memory of a 1.x agent, whose past is never simply dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import TokenCounter
from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.marks import COMPRESSED, HINT
from agentscope_reme.agentscope_v1.shrinking import Limits
from agentscope_reme.agentscope_v1.window import WindowKeeper, keep
from agentscope_reme.agentscope_v1.window_memory import WindowMemory
from agentscope_reme.agentscope_v1.window_view import WindowView
from agentscope_reme.ports import MemoryService
from agentscope_reme.workspace import encode_name


class ReMeMemory(WindowMemory):
    """A `WindowMemory` whose messages are archived before they leave it.

    Deleted, cleared and compressed messages go to the session's archive and log first; as long as
    nothing leaves, nothing is written. Its `state_dict` is that of `InMemoryMemory`, so session
    files of either load into the other.

    Args:
        reme: the memory service; started on first use.
        session_id: the conversation this window belongs to.
        token_counter: one of AgentScope's counters; without it sizes are estimated. Binaries
            always count a fixed number, because counters take Base64 for text.
        max_input_length: above this many tokens `needs_compaction` is true, and a
            `MemoryCompactionHook` compacts; 0 leaves it to the settings of `reme`. Give two thirds
            of what the model takes: the answer needs room, and an estimate may be a quarter low.

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
        super().__init__(
            token_counter=token_counter,
            max_input_length=max_input_length,
            language=reme.language,
        )
        encode_name(session_id)
        self._reme = reme
        self.session_id = session_id
        self._keeper = WindowKeeper(reme, record=True)
        self._cleared: list[Msg] = []
        self._settling = asyncio.Lock()

    @property
    def keeper(self) -> WindowKeeper:
        """What compacts this window, for `compact` and for hooks: only one of them at a time."""
        return self._keeper

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The visible messages, oldest first; as `WindowMemory.get_memory`.

        Raises:
            TypeError: a mark is not a string.
        """
        await self._settle()
        return await super().get_memory(mark, exclude_mark, prepend_summary, **kwargs)

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
        self.clear_compressed_summary()

    def clear_content(self) -> None:
        """Forget every message at once; the summary stays.

        Nothing can be awaited here, so the messages are archived before the next use of this
        memory; `clear` archives them first.
        """
        hints = {msg.id for msg, marks in self.content if HINT in marks}
        self._cleared += [msg for msg, _ in self.content if msg.id not in hints]
        super().clear_content()

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

    async def needs_compaction(self) -> bool:
        """Whether the window is larger than `max_input_length`, or than the settings allow."""
        return int((await self.estimate_tokens())["estimated_tokens"]) > self._limit

    @property
    def _limit(self) -> int:
        return self.max_input_length or self._reme.settings.memory_compact_threshold

    async def compact(
        self,
        *,
        keep_recent: int | None = 3,
        budget: int | None = None,
        extra_instruction: str = "",
    ) -> int:
        """Replace all but the newest messages by a summary.

        They are archived and recorded first. Then summary and marks change together, or, when
        anything failed, not at all. Without a model, or with one that answers something else, the
        summary quotes what the user said.

        Args:
            keep_recent: how many messages stay; tool calls stay with their results, and the last
                request always stays; ``None`` for no such limit.
            budget: how many tokens of messages stay at most; ``None`` for no such limit.
            extra_instruction: what the summary should look out for.

        Returns:
            How many messages were compressed; 0 also while another call is at work.

        Raises:
            BadInput: a limit is negative.
            ModelFailed: the model failed or said nothing.
            ReMeError: archive or log could not be written.
        """
        done = await self._keeper.fit(
            WindowView(self),
            self.session_id,
            self.meter,
            Limits(None, budget, keep_recent),
            extra_instruction=extra_instruction,
        )
        return 0 if done is None else done.compacted

    async def _let_go(self, leaving: Iterable[Msg]) -> None:
        hints = {msg.id for msg, marks in self.content if HINT in marks}
        said = [msg for msg in leaving if msg.id not in hints]
        await keep(self._reme, self.session_id, said, record=True)

    async def _settle(self) -> None:
        """Archive what `clear_content` took away; what fails is tried again the next time."""
        if not self._cleared:
            return
        async with self._settling:
            leaving = list(self._cleared)
            with reporting(self._reme, "memory.clear"):
                await keep(self._reme, self.session_id, leaving, record=True)
                del self._cleared[: len(leaving)]
