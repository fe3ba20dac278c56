"""What happens before a 1.x agent reasons: its window is compacted and memory is recalled.

AgentScope hands hooks deep copies of their arguments, so everything here goes through the live
agent. What is put into its memory is marked as a hint: AgentScope shows hints in exactly one prompt
and then deletes them, so nothing recalled is ever kept, saved or recorded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, WeakSet

from agentscope_reme.agentscope_v1.compaction_status import CompactionStatus, too_large
from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.marks import HINT, is_conversation, recall_message
from agentscope_reme.agentscope_v1.memory import ReMeMemory
from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.agentscope_v1.models import sees_images
from agentscope_reme.agentscope_v1.shrinking import Limits
from agentscope_reme.agentscope_v1.tools import show_pending_images
from agentscope_reme.agentscope_v1.usage import calibration_of, expect, tools_of
from agentscope_reme.agentscope_v1.window import Outcome, WindowKeeper
from agentscope_reme.agentscope_v1.window_view import WindowView
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
"""The second mark of recalled messages, to find one a failed prompt left behind; of a second memory
on the same agent with ``.1`` behind it, and so on."""
_MOST_MEMORIES: Final = 8
"""More of them on one agent take back what each other recalled."""


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
            mark, *left_behind = self._marks(agent)
            await memory.delete_by_mark([mark, *left_behind])
            turn = await _turn_to_answer(agent)
            text = await self._recall_once(agent, turn) if turn is not None else ""
            if text:
                recalled = recall_message(TextBlock(text=text))
                await memory.add(recalled, marks=[HINT, mark])

    def _marks(self, agent: ReActAgent) -> list[str]:
        """The mark of this memory on an agent, and those that no memory of it has any more."""
        hooks = agent._instance_pre_reasoning_hooks.values()
        recalling = [hook for hook in hooks if isinstance(hook, RecallHook)]
        own = recalling.index(self) % _MOST_MEMORIES if self in recalling else 0
        marks = [RECALL_MARK, *(f"{RECALL_MARK}.{n}" for n in range(1, _MOST_MEMORIES))]
        return [marks[own], *marks[max(len(recalling), own + 1) :]]

    async def _recall_once(self, agent: ReActAgent, turn: Msg) -> str:
        known = self._known.get(agent)
        if known is not None and known[0] == turn.id:
            return known[1]
        self._known[agent] = (turn.id, "")  # also when it fails: a turn asks only once
        query = to_neutral(turn).text.strip()[:LONGEST_QUERY]
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

    Above it, oversized tool results are moved to files; when that is not enough, all but the newest
    messages are archived and replaced by a summary. What the user is waiting for is never
    compacted. With a memory of this library, or with AgentScope's own compression switched on, the
    old messages stay in memory, marked and hidden; any other memory shows marked messages, so there
    they are deleted after they were archived. A failure leaves the window as it was, and the user
    is told; a model that fails three times in a row is replaced by quotations.

    Prompts are estimated with system prompt, tools and summary, and the estimate follows what the
    model's provider reports.

    Args:
        memory_manager: what archives and summarises: a `ReMe`, or a `ReMeCopaw`.
        memory_compact_threshold: in tokens; by default ``max_input_length`` of a `ReMeMemory`, or
            the threshold of the settings.
        keep_recent: how many messages stay at most; whole tool calls and the turn that is being
            worked on aside; ``None`` for no such limit.
        session_id: whose archive is written; by default that of the memory, or the agent's id.
        record: also add what leaves the window to the session's log; a `ReMeMemory` always does.
        reserve: how many tokens of messages stay at most; half the threshold without it, or when
            it is not below the threshold.
        enabled: ``False`` never summarises; tool results are still moved.
        announce: tell the user, by ``agent.print``, when a compaction begins and how it ended.

    Raises:
        BadInput: the threshold is not positive, or another number is negative.
    """

    def __init__(
        self,
        memory_manager: MemoryService,
        memory_compact_threshold: int | None = None,
        keep_recent: int | None = 3,
        *,
        session_id: str | None = None,
        record: bool = False,
        reserve: int | None = None,
        enabled: bool = True,
        announce: bool = True,
    ) -> None:
        super().__init__()
        if memory_compact_threshold is not None and memory_compact_threshold < 1:
            raise BadInput(
                memory_compact_threshold, "the threshold must be positive", "Give it in tokens."
            )
        for name, number in (("keep_recent", keep_recent), ("reserve", reserve)):
            if number is not None and number < 0:
                raise BadInput(number, f"`{name}` is negative", "Use 0 to keep the least.")
        self._reme = memory_manager
        self._threshold = memory_compact_threshold
        self._keep_recent = keep_recent
        self._reserve = reserve
        self._session_id = session_id
        self._enabled = enabled
        self._announce = announce
        self._keeper = WindowKeeper(memory_manager, record=record)
        self._meters: WeakKeyDictionary[MemoryBase, WindowMeter] = WeakKeyDictionary()
        self._told_too_large: WeakSet[MemoryBase] = WeakSet()

    async def __call__(self, agent: ReActAgent, kwargs: dict[str, Any]) -> None:
        """Run as a ``pre_reasoning`` hook."""
        with reporting(self._reme, "hook.compaction"):
            await self._check(agent)

    async def _check(self, agent: ReActAgent) -> None:
        view = WindowView(agent.memory, hides_compressed=_hides_compressed(agent))
        meter = self._meter(view)
        await view.look()
        estimated = await self._estimate(agent, view, meter)
        model = getattr(agent, "model", None)
        calibration = calibration_of(model)
        expect(model, 0)  # a prompt that was announced and never sent must not be taken for ours
        limit = self._limit(view.memory)
        if calibration.corrected(estimated) > limit:
            overhead = estimated - await self._messages(view, meter)
            limits = Limits(
                max(1, int(limit / calibration.factor)),
                self._reserve,
                self._keep_recent,
                overhead,
            )
            await self._compact(agent, view, meter, limits)
            await view.look()
            estimated = await self._estimate(agent, view, meter)
        expect(model, estimated)

    async def _compact(
        self, agent: ReActAgent, view: WindowView, meter: WindowMeter, limits: Limits
    ) -> None:
        status = CompactionStatus(
            agent, self._reme, language=self._reme.language, silent=not self._announce
        )
        session_id = self._session_id or getattr(view.memory, "session_id", None) or agent.id
        own = view.memory.keeper if isinstance(view.memory, ReMeMemory) else self._keeper
        try:
            done = await own.fit(
                view,
                session_id,
                meter,
                limits,
                summarises=self._enabled,
                begin=status.started,
            )
        except Exception:  # told to the user; whoever called reports it
            await status.failed()
            raise
        if done is not None and done.compacted:
            await status.completed(done)
        elif not self._enabled and (done is None or not done.fits):
            await status.skipped()
        self._tell_size(view, done, limits)

    def _tell_size(self, view: WindowView, done: Outcome | None, limits: Limits) -> None:
        """Say in `status()`, once until it is over, that a window cannot be made to fit."""
        fits = done is not None and done.fits
        told = view.memory in self._told_too_large
        if fits:
            self._told_too_large.discard(view.memory)
        elif not told:
            self._told_too_large.add(view.memory)
            self._reme.report_failure("compaction.too_large", too_large(done, limits))

    async def _estimate(self, agent: ReActAgent, view: WindowView, meter: WindowMeter) -> int:
        fixed = await meter.text(str(getattr(agent, "sys_prompt", "")))
        return fixed + await meter.value(tools_of(agent)) + await self._messages(view, meter)

    async def _messages(self, view: WindowView, meter: WindowMeter) -> int:
        return await meter.text(view.shown_summary()) + await meter.total(view.messages)

    def _meter(self, view: WindowView) -> WindowMeter:
        known = view.meter() or self._meters.get(view.memory)
        if known is None:
            known = self._meters[view.memory] = WindowMeter()
        return known

    def _limit(self, memory: MemoryBase) -> int:
        own = memory.max_input_length if isinstance(memory, ReMeMemory) else 0
        return self._threshold or own or self._reme.settings.memory_compact_threshold


def _hides_compressed(agent: ReActAgent) -> bool:
    config = getattr(agent, "compression_config", None)
    return bool(config and config.enable)


async def _turn_to_answer(agent: ReActAgent) -> Msg | None:
    """The newest turn somebody else said, a person or another agent."""
    memory: MemoryBase = agent.memory
    window = await memory.get_memory(exclude_mark=HINT, prepend_summary=False)
    said = (msg for msg in reversed(window) if is_conversation(msg))
    return next((msg for msg in said if _is_addressed_to(agent, msg)), None)


def _is_addressed_to(agent: ReActAgent, msg: Msg) -> bool:
    return msg.role == "user" or (msg.role == "assistant" and msg.name != agent.name)
