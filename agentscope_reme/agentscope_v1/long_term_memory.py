"""Long-term memory in the place AgentScope 1.x keeps for it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any, Final

from agentscope.memory import LongTermMemoryBase
from agentscope.message import Msg
from agentscope.tool import ToolResponse

from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.local_images import with_local_images
from agentscope_reme.agentscope_v1.marks import conversation
from agentscope_reme.agentscope_v1.tools import text_response
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.ports import MemoryService
from agentscope_reme.runtime.starting import started
from agentscope_reme.steps.recall import LONGEST_QUERY
from agentscope_reme.tools.answer_limit import capped
from agentscope_reme.workspace import encode_name

_NARROW: Final = "Ask for fewer passages, or read the file named above."


class ReMeLongTermMemory(LongTermMemoryBase):
    """`LongTermMemoryBase` over a memory workspace, for ``ReActAgent(long_term_memory=...)``.

    All three ``long_term_memory_mode`` values work. `record` and `retrieve` never raise: AgentScope
    calls both in the middle of a reply and guards neither. Images that are said are recorded; what
    is recalled is text, and recalled images need `agentscope_reme.hooks`. An agent that gets a
    long-term memory has one more key in its `state_dict`, so it cannot load session files from
    before; the hooks add none.

    Args:
        reme: the memory service; started on first use.
        session_id: the conversation that is recorded.

    Raises:
        BadInput: the session id cannot name a session.
    """

    def __init__(self, reme: MemoryService, session_id: str) -> None:
        super().__init__()
        encode_name(session_id)
        self._reme = reme
        self.session_id = session_id
        self._recorded: set[str] = set()

    async def record(self, msgs: list[Msg | None], **_: Any) -> None:
        """Save what is new in a conversation; distilling it follows in the background.

        AgentScope hands over the whole window at every reply. Known ids are skipped, recalled
        text and summaries are never recorded, and a failure is reported by `status()`.
        """
        with reporting(self._reme, "long_term_memory.record"):
            window = _without_summary(msgs, self._recorded)
            fresh = conversation(msg for msg in window if msg.id not in self._recorded)
            if fresh:
                await started(self._reme)
                await self._reme.record(self.session_id, await with_local_images(fresh))
                self._recorded.update(message.id for message in fresh if message.id)

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **_: Any) -> str:
        """What is known about a turn, wrapped as quoted data with dates and paths.

        Args:
            msg: the turn or turns about to be answered.
            limit: taken for compatibility; the size is bounded by ``recall_budget_tokens``.

        Returns:
            An empty text when nothing is known, nothing was asked in words, or the answer took
            longer than ``recall_deadline_ms``.
        """
        settings = self._reme.settings
        query = _query(msg)
        if not query:
            return ""
        with reporting(self._reme, "long_term_memory.retrieve"):
            async with asyncio.timeout(settings.recall_deadline_ms / 1000):
                await started(self._reme)
                found = await self._reme.recall(query, budget_tokens=settings.recall_budget_tokens)
            return found.answer if found.evidence else ""
        return ""

    async def record_to_memory(
        self, thinking: str, content: list[str], **kwargs: Any
    ) -> ToolResponse:
        """Remember facts beyond this conversation.

        Say each fact so that it can be understood alone: who, what, when, where.

        Args:
            thinking (`str`):
                Why this is worth remembering. It is not saved.
            content (`list[str]`):
                The facts to remember, one per entry.
        """
        facts = _texts(content)
        if not facts:
            return text_response("Nothing was saved: `content` needs at least one fact in words.")
        with reporting(self._reme, "long_term_memory.record_to_memory"):
            await started(self._reme)
            result = await self._reme.record(self.session_id, [self._note(facts)])
            if result.success:
                return text_response("Saved." if result.appended else "Saved already.")
        return text_response("Nothing was saved: memory is out of order. Go on without it.")

    async def retrieve_from_memory(
        self, keywords: list[str], limit: int = 5, **kwargs: Any
    ) -> ToolResponse:
        """Look up what is remembered from earlier conversations.

        Args:
            keywords (`list[str]`):
                What to look for: names, dates, places, topics.
            limit (`int`):
                How many passages to return at most.
        """
        words = " ".join(_texts(keywords))[:LONGEST_QUERY]
        if not words:
            return text_response("Nothing was searched: `keywords` needs at least one word.")
        with reporting(self._reme, "long_term_memory.retrieve_from_memory"):
            await started(self._reme)
            result = await self._reme.search(words, limit=_limit(limit))
            return text_response(
                capped(result.answer, self._reme.settings.tool_answer_bytes, _NARROW)
            )
        return text_response("Memory could not be searched. Go on without it.")

    def _note(self, facts: Sequence[str]) -> Message:
        text = "\n".join(facts)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return Message(
            id=f"note-{digest[:32]}",  # by content: a model that repeats itself adds nothing
            role="assistant",
            name="record_to_memory",
            created_at=self._reme.clock.now(),
            blocks=(TextBlock(text=text),),
        )


def _without_summary(msgs: Sequence[Msg | None], recorded: set[str]) -> list[Msg]:
    """A window without the summary AgentScope prepends, which has a fresh id at every call.

    AgentScope's own template is known by its words. One with another template is known by its
    time: it is made when the window is read, so it is the newest message and yet the first, in a
    window whose beginning has been recorded and is gone.
    """
    window = [msg for msg in msgs if msg is not None]
    if len(window) < 2 or window[0].role != "user" or window[0].id in recorded:
        return window
    ids = {msg.id for msg in window}
    made_now = str(window[0].timestamp) > max(str(msg.timestamp) for msg in window[1:])
    compacted = bool(recorded - ids)
    return window[1:] if made_now and compacted else window


def _query(msg: Msg | list[Msg] | None) -> str:
    turns = [msg] if isinstance(msg, Msg) else msg or []
    texts = [turn.get_text_content() or "" for turn in turns]
    return "\n".join(text for text in texts if text.strip())[:LONGEST_QUERY]


def _texts(given: object) -> list[str]:
    """What a model passed for a list of texts; a lone text is a list of one."""
    items = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [str(item).strip() for item in items if str(item).strip()]


def _limit(given: object) -> int:
    try:
        return min(max(int(str(given)), 1), 50)
    except ValueError:
        return 5
