"""One conversation: what was said, durable at once, and the window a model sees of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from agentscope_reme.chat.bookmark import Bookmark, read_bookmark, write_bookmark
from agentscope_reme.chat.memory import ChatMemory
from agentscope_reme.chat.prompts import load_prompt
from agentscope_reme.chat.said import (
    CHECKPOINT,
    behind_the_checkpoint,
    open_calls,
    readable,
    up_to,
)
from agentscope_reme.context.compactor import LONGEST_SUMMARY
from agentscope_reme.context.cut import choose_cut
from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.repair import paired
from agentscope_reme.context.result_files import HeldResultFiles, result_paths
from agentscope_reme.context.tokens import (
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_tokens,
)
from agentscope_reme.context.tool_results import ResultLimits, ToolResultCompactor
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message, TextBlock, ToolResultBlock
from agentscope_reme.quoting import defuse

_MOST_FAILURES: Final = 2
"""After so many failed checkpoints in a row the next is made of quotations: a window that only
grows ends the conversation."""

_LIVE_RESULTS: Final = ResultLimits(old=2_000, recent=8_000, recent_messages=1)
"""What stays of tool results when the request being worked on is too long by itself."""

_RESULTS: Final = "results-"
"""A row of the archive whose id begins so names files of tool results; forgetting finds them."""

_STOPPED: Final = {"en": "[stopped by the user]", "zh": "[被用户停止]"}
_BROKEN_OFF: Final = {"en": "[broken off by an error]", "zh": "[因错误中断]"}


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did.

    Attributes:
        left: messages that left the window.
        kept: messages that stayed.
    """

    left: int
    kept: int


class Conversation:
    """What is said between a person and a model, and what of it the model still sees.

    A message is in the session's log before `add` returns. What leaves the window is archived,
    stands in the summary, and is given to a background run that notes what it was worth.

    Args:
        memory: where it is kept; open.
        keeps_place: whether the next start goes on with it.

    Attributes:
        session_id: names the log.
        messages: the window, oldest first, without the summary.
        summary: what stands for everything before them.
    """

    def __init__(self, memory: ChatMemory, *, keeps_place: bool = True) -> None:
        self._memory = memory
        self._keeps_place = keeps_place
        self._claim = ExitStack()
        self._failures = 0
        self.session_id = self._new_id()
        self.messages: list[Message] = []
        self.summary = ""
        self._saved: set[str] = set()
        self._is_kept = False

    @property
    def tokens(self) -> int:
        """About how many tokens summary and messages have."""
        return estimate_tokens(self.summary) + estimate_messages_tokens(self.messages)

    def sizes(self) -> list[int]:
        """About how many tokens each of the messages has."""
        return [estimate_message_tokens(message) for message in self.messages]

    async def resume(self) -> bool:
        """Go on where the last conversation was left, by an exit or a crash.

        Returns:
            Whether there is one, and no other process is at it.
        """
        parts = self._memory.parts
        mark = await asyncio.to_thread(read_bookmark, parts)
        if mark is None or not self._claimed(mark.session_id):
            self._claimed(self.session_id)
            return False
        log = await asyncio.to_thread(parts.logs.log(mark.session_id).read)
        kept = await asyncio.to_thread(parts.logs.archive(mark.session_id).read)
        said = [logged.message for logged in log.messages]
        if not said:
            self._claimed(self.session_id)
            return False
        self.session_id = mark.session_id
        self.summary, self.messages = behind_the_checkpoint(said, kept)
        self._saved = up_to(self.messages, mark.saved_through)
        self._is_kept = True
        return True

    async def add(self, message: Message) -> None:
        """Take a message in; it is durable when this returns.

        Raises:
            StorageFailed: it could not be written; it stands in the window all the same.
        """
        if message.created_at is None or not message.id:
            now = self._memory.clock.now()
            given = {"created_at": now, "id": message.id or uuid4().hex}
            message = message.model_copy(update=given)
        self.messages.append(message)
        await self._memory.record(self.session_id, [message], distil=False)
        if not self._is_kept:
            await self._keep_place()

    def window(self) -> list[Message]:
        """What the model is shown: the summary, then the messages, calls and results in pairs.

        Calls whose arguments are no JSON are shown without: some providers refuse them, and would
        refuse every request from then on.
        """
        shown = [readable(message) for message in paired(self.messages)]
        if not self.summary:
            return shown
        words = load_prompt("summary", self._memory.prompt_language)
        text = words.substitute(summary=defuse(self.summary))
        return [Message(role="user", name="memory", blocks=(TextBlock(text=text),)), *shown]

    async def stopped(self, said: str, *, by_error: bool = False) -> None:
        """Keep what a reply had said when it was stopped, and answer the calls it had made.

        Args:
            said: its words since the last whole message.
            by_error: nobody wanted it to stop.

        Raises:
            StorageFailed: it could not be written.
        """
        words = _BROKEN_OFF if by_error else _STOPPED
        note = TextBlock(text=words[self._memory.prompt_language])
        for call in open_calls(self.messages):
            result = ToolResultBlock(id=call.id, name=call.name, output=(note,))
            await self.add(Message(role="system", name="tool", blocks=(result,)))
        blocks = (TextBlock(text=said), note) if said.strip() else (note,)
        await self.add(Message(role="assistant", name="assistant", blocks=blocks))

    async def fit(self, limit: int, keep: int) -> Compacted | None:
        """Make the window smaller when it has more than `limit` tokens.

        The request being worked on is never compacted; when it is too long by itself, the results
        of its tools are moved to files.

        Args:
            limit: the most tokens.
            keep: tokens of the newest messages that stay as they were said.

        Returns:
            What was done; ``None`` when nothing was.

        Raises:
            ModelFailed: no summary could be made; nothing was changed.
            StorageFailed: what leaves could not be kept; nothing was changed.
        """
        if self.tokens <= limit:
            return None
        done = await self.compact(keep)
        if self.tokens > limit:
            await self._name_results()
            short = await self._memory.offload_tool_results(self.messages, _LIVE_RESULTS)
            changed = any(a is not b for a, b in zip(short, self.messages, strict=True))
            self.messages = short
            done = done or (Compacted(0, len(short)) if changed else None)
        return done

    async def compact(self, keep: int, wish: str = "") -> Compacted | None:
        """Let older messages leave the window: into archive, summary and notes.

        Args:
            keep: tokens of the newest messages that stay.
            wish: what the person wants the summary to heed.

        Returns:
            ``None`` when nothing may leave.

        Raises:
            ModelRequired: there is no model.
            ModelFailed: no summary could be made; nothing was changed.
            StorageFailed: what leaves could not be kept; nothing was changed.
        """
        cut = choose_cut(self.messages, budget=keep)
        if cut == 0:
            return None
        leaving, staying = self.messages[:cut], self.messages[cut:]
        archived = await self._memory.archive(self.session_id, leaving)
        summary = await self._summary_of(leaving, wish, archived)
        mark = Message(
            id=f"{CHECKPOINT}{staying[0].id}",
            role="system",
            name="checkpoint",
            created_at=self._memory.clock.now(),
            blocks=(TextBlock(text=summary),),
        )
        await self._memory.archive(self.session_id, [mark])
        await self._save(leaving)
        self.messages, self.summary = staying, summary
        return Compacted(len(leaving), len(staying))

    async def save(self) -> int:
        """Give what was said and not saved yet to a background run; how many messages that are.

        Raises:
            StorageFailed: it could not be kept for it.
        """
        return await self._save(self.messages)

    async def leave(self) -> int:
        """Save everything and begin another conversation; how many messages are being saved.

        Raises:
            StorageFailed: it could not be kept; the conversation goes on.
        """
        saved = await self.save()
        await self._another()
        return saved

    async def forget(self) -> None:
        """Leave nothing of this conversation on the disk, and begin another.

        Raises:
            Conflict: another process is at work on it; the conversation goes on.
            StorageFailed: the disk refused.
        """
        results = sorted(result_paths(self.messages))
        await self._memory.forget_conversation(self.session_id, results)
        await self._another()

    async def _name_results(self) -> None:
        """Name the files that are about to be made: after a crash only the archive knows them."""
        root = self._memory.parts.workspace.root
        compactor = ToolResultCompactor(
            HeldResultFiles(), self._memory.prompt_language, shown=lambda path: str(root / path)
        )
        planned = result_paths(await compactor.compact(self.messages, _LIVE_RESULTS))
        if fresh := sorted(planned - result_paths(self.messages)):
            row = Message(
                id=f"{_RESULTS}{uuid4().hex}",
                role="system",
                name="results",
                created_at=self._memory.clock.now(),
                blocks=(TextBlock(text=" ".join(fresh)),),
            )
            await self._memory.archive(self.session_id, [row])

    def close(self) -> None:
        """Let another process go on with it."""
        self._claim.close()

    def _new_id(self) -> str:
        now = self._memory.clock.now()
        return f"chat-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"

    async def _another(self) -> None:
        self.session_id, self.messages, self.summary = self._new_id(), [], ""
        self._saved, self._is_kept = set(), False
        self._claimed(self.session_id)
        await self._keep_place()

    def _claimed(self, session_id: str) -> bool:
        """Be the only one who goes on with a conversation; whether nobody else does."""
        self._claim.close()
        claim = self._memory.parts.locks.claim(f"chat {session_id}")
        return self._claim.enter_context(claim)

    async def _save(self, messages: Sequence[Message]) -> int:
        fresh = [message for message in messages if message.id not in self._saved]
        if not any(message.text.strip() for message in fresh if message.role == "user"):
            return 0
        self._memory.add_async_summary_task(fresh)
        self._saved.update(message.id for message in fresh if message.id)
        await self._keep_place(fresh[-1].id or "")
        return len(fresh)

    async def _keep_place(self, saved_through: str = "") -> None:
        if self._keeps_place:
            mark = Bookmark(self.session_id, saved_through)
            await asyncio.to_thread(write_bookmark, self._memory.parts, mark)
        self._is_kept = True

    async def _summary_of(self, leaving: Sequence[Message], wish: str, archived: str) -> str:
        try:
            summary = await self._memory.summarise(
                leaving, previous_summary=self.summary, extra_instruction=wish, archived=archived
            )
        except ModelFailed:
            self._failures += 1
            if self._failures <= _MOST_FAILURES:
                raise
            summary = fallback_summary(
                leaving,
                self.summary,
                language=self._memory.prompt_language,
                longest=LONGEST_SUMMARY,
            )
        self._failures = 0
        return summary
