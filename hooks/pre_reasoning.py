"""What happens before a 1.x agent reasons: its window is compacted and memory is recalled.

AgentScope hands hooks deep copies of their arguments, so everything here goes through the live
agent. What is put into its memory is marked as a hint: AgentScope shows hints in exactly one prompt
and then deletes them, so nothing recalled is ever kept, saved or recorded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.marks import COMPRESSED, HINT, is_conversation, recall_message
from agentscope_reme.agentscope_v1.memory import ReMeMemory
from agentscope_reme.agentscope_v1.models import sees_images
from agentscope_reme.agentscope_v1.tools import show_pending_images
from agentscope_reme.agentscope_v1.window import (
    Compaction,
    prepare_compaction,
    window_tokens,
)
from agentscope_reme.errors import BadInput
from agentscope_reme.hooks.hook import Hook
from agentscope_reme.messages import TextBlock
from agentscope_reme.ports import MemoryService
from agentscope_reme.runtime.starting import started
from agentscope_reme.steps.recall import LONGEST_QUERY

if TYPE_CHECKING:
    from agentscope.agent import ReActAgent
    from agentscope.memory import MemoryBase
    from agentscope.message import Msg

RECALL_MARK: Final = "reme_recall"
"""The second mark of recalled messages, to find one a failed prompt left behind."""


class RecallHook(Hook):
    """Shows an agent what is known about the turn it answers.

    Memory is asked once for each turn, with the deadline ``recall_deadline_ms``; every reasoning
    step of the turn sees the same answer. When it is late or fails, the agent goes on without; a
    start that takes longer goes on by itself.

    Args:
        reme: the memory service; started on first use.
        budget_tokens: how much recalled text a prompt gets; by default that of the settings.
    """

    def __init__(self, reme: MemoryService, *, budget_tokens: int | None = None) -> None:
        super().__init__()
        self._reme = reme
        self._budget = budget_tokens or reme.settings.recall_budget_tokens
        self._known: WeakKeyDictionary[ReActAgent, tuple[str, str]] = WeakKeyDictionary()

    async def __call__(self, agent: ReActAgent, kwargs: dict[str, Any]) -> None:
        """Run as a ``pre_reasoning`` hook."""
        with reporting(self._reme, "hook.recall"):
            memory: MemoryBase = agent.memory
            await memory.delete_by_mark(RECALL_MARK)
            turn = await _turn_to_answer(agent)
            text = await self._recall_once(agent, turn) if turn is not None else ""
            if text:
                recalled = recall_message(TextBlock(text=text))
                await memory.add(recalled, marks=[HINT, RECALL_MARK])

    async def _recall_once(self, agent: ReActAgent, turn: Msg) -> str:
        known = self._known.get(agent)
        if known is not None and known[0] == turn.id:
            return known[1]
        self._known[agent] = (turn.id, "")  # also when it fails: a turn asks only once
        query = (turn.get_text_content() or "").strip()[:LONGEST_QUERY]
        if not query:
            return ""
        async with asyncio.timeout(self._reme.settings.recall_deadline_ms / 1000):
            await started(self._reme)
            found = await self._reme.recall(query, budget_tokens=self._budget)
        text = found.answer if found.evidence else ""
        self._known[agent] = (turn.id, text)
        return text


class ToolImageHook(Hook):
    """Shows an agent the images its memory tools returned, in the next prompt only.

    Args:
        reme: the memory service the tools belong to.
    """

    def __init__(self, reme: MemoryService) -> None:
        super().__init__()
        self._reme = reme

    async def __call__(self, agent: ReActAgent, kwargs: dict[str, Any]) -> None:
        """Run as a ``pre_reasoning`` hook."""
        with reporting(self._reme, "hook.tool_images"):
            vision = sees_images(agent.formatter)
            await show_pending_images(agent.toolkit, agent.memory, vision=vision)


class MemoryCompactionHook(Hook):
    """Keeps an agent's window below a threshold.

    Above it, all but the newest messages are archived and replaced by a summary. With a
    `ReMeMemory`, or with AgentScope's own compression switched on, the old messages stay in memory,
    marked and hidden; any other memory shows marked messages, so there they are deleted after
    they were archived. A failure leaves the window as it was.

    Args:
        memory_manager: what archives and summarises.
        memory_compact_threshold: in estimated tokens; by default ``max_input_length`` of a
            `ReMeMemory`, or that of the settings.
        keep_recent: how many messages stay at most; whole tool calls and the last request aside.
        session_id: whose archive is written; by default that of a `ReMeMemory`, or the agent's id.
        record: also add what leaves the window to the session's log.

    Raises:
        BadInput: the threshold is not positive, or `keep_recent` is negative.
    """

    def __init__(
        self,
        memory_manager: MemoryService,
        memory_compact_threshold: int | None = None,
        keep_recent: int = 3,
        *,
        session_id: str | None = None,
        record: bool = False,
    ) -> None:
        super().__init__()
        if memory_compact_threshold is not None and memory_compact_threshold < 1:
            raise BadInput(
                memory_compact_threshold, "the threshold must be positive", "Give it in tokens."
            )
        if keep_recent < 0:
            raise BadInput(keep_recent, "`keep_recent` is negative", "Use 0 to keep the least.")
        self._reme = memory_manager
        self._threshold = memory_compact_threshold
        self._keep_recent = keep_recent
        self._session_id = session_id
        self._record = record

    async def __call__(self, agent: ReActAgent, kwargs: dict[str, Any]) -> None:
        """Run as a ``pre_reasoning`` hook."""
        with reporting(self._reme, "hook.compaction"):
            memory: MemoryBase = agent.memory
            limit = self._limit(memory)
            messages = await _visible(agent)
            summary = str(getattr(memory, "_compressed_summary", ""))
            if await _size(memory, messages, summary) <= limit:
                return
            if isinstance(memory, ReMeMemory):
                await memory.compact(keep_recent=self._keep_recent, budget=limit // 2)
                return
            done = await prepare_compaction(
                self._reme,
                self._session_id or agent.id,
                messages,
                previous_summary=summary,
                keep_recent=self._keep_recent,
                budget=limit // 2,
                record=self._record,
            )
            if done is not None:
                await _commit(agent, done, summary)

    def _limit(self, memory: MemoryBase) -> int:
        own = memory.max_input_length if isinstance(memory, ReMeMemory) else 0
        return self._threshold or own or self._reme.settings.memory_compact_threshold


async def _commit(agent: ReActAgent, done: Compaction, previous_summary: str) -> None:
    """Let the summary stand for the messages; both change, or neither does."""
    memory: MemoryBase = agent.memory
    await memory.update_compressed_summary(done.summary)
    try:
        if _hides_compressed(agent):
            await memory.update_messages_mark(COMPRESSED, msg_ids=done.ids)
        else:
            await memory.delete(done.ids)
    except BaseException:
        await memory.update_compressed_summary(previous_summary)
        raise


def _hides_compressed(agent: ReActAgent) -> bool:
    config = getattr(agent, "compression_config", None)
    return bool(config and config.enable)


async def _visible(agent: ReActAgent) -> list[Msg]:
    """The window without hints, and without what a summary stands for already."""
    memory: MemoryBase = agent.memory
    found = await memory.get_memory(exclude_mark=HINT, prepend_summary=False)
    hidden = {msg.id for msg in await memory.get_memory(mark=COMPRESSED, prepend_summary=False)}
    return [msg for msg in found if msg.id not in hidden]


async def _size(memory: MemoryBase, messages: list[Msg], summary: str) -> int:
    if isinstance(memory, ReMeMemory):
        return await memory.estimate_tokens()
    return window_tokens(messages, summary)


async def _turn_to_answer(agent: ReActAgent) -> Msg | None:
    """The newest turn somebody else said, a person or another agent."""
    memory: MemoryBase = agent.memory
    window = await memory.get_memory(exclude_mark=HINT, prepend_summary=False)
    said = (msg for msg in reversed(window) if is_conversation(msg))
    return next((msg for msg in said if _is_addressed_to(agent, msg)), None)


def _is_addressed_to(agent: ReActAgent, msg: Msg) -> bool:
    return msg.role == "user" or (msg.role == "assistant" and msg.name != agent.name)
