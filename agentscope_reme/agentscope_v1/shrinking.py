"""How a window gets below its threshold: what is shortened in it, and what leaves it.

Nothing is changed here; files of oversized tool results apart, whose names are their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.marks import is_conversation
from agentscope_reme.agentscope_v1.messages import rewritten, to_neutral
from agentscope_reme.agentscope_v1.window_view import Rewrite, WindowView
from agentscope_reme.context.cut import choose_cut, clamped_reserve
from agentscope_reme.context.repair import paired
from agentscope_reme.context.tool_results import ResultLimits
from agentscope_reme.messages import Message
from agentscope_reme.ports import MemoryService, OffloadService
from agentscope_reme.runtime.starting import started

_SUMMARY_SHARE: Final = 4  # a summary gets at most this part of a window
_LONGEST_SUMMARY: Final = 6_000  # tokens
_AROUND_SUMMARY: Final = 100  # tokens of the words around it and of the archive's path
_TIGHTER: Final = (1_000, 300, 0)
"""Characters of every tool result, the newest included, when the turn that is being worked on
alone is too large; one after the other until it fits."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a window may be, in tokens.

    Attributes:
        threshold: above it the window is compacted; ``None`` compacts it whatever its size.
        reserve: the most tokens of messages that stay; ``None`` for no such limit.
        keep_recent: the most messages that stay; ``None`` for no such limit. Whole tool calls and
            the turn that is being worked on come before both.
        overhead: what is sent besides messages and summary: system prompt and tools.
    """

    threshold: int | None
    reserve: int | None = None
    keep_recent: int | None = 3
    overhead: int = 0


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What would bring a window below its threshold.

    Attributes:
        leaving: messages a summary has to stand for.
        rewrites: new content for messages that stay.
        summary_room: the most tokens the summary may have.
    """

    leaving: Sequence[Msg]
    rewrites: Sequence[Rewrite]
    summary_room: int


async def shrink(
    reme: MemoryService,
    view: WindowView,
    meter: WindowMeter,
    limits: Limits,
    *,
    before: int,
    summarises: bool,
) -> Shrunk:
    """Decide how a window becomes smaller.

    Args:
        reme: keeps oversized tool results, when it can.
        view: the window, read.
        meter: counts tokens.
        limits: what the window may have.
        before: what it has, everything counted.
        summarises: whether messages may leave at all.

    Raises:
        ReMeError: a tool result could not be saved.
    """
    plan = _Plan(reme, view, meter, limits)
    await plan.read()
    if limits.threshold is not None:
        await plan.shorten(_result_limits(limits.threshold))
    await plan.repair()
    fits = limits.threshold is not None and before - plan.saved <= limits.threshold
    return plan.shrunk(0) if fits or not summarises else await plan.cut()


def _result_limits(threshold: int) -> ResultLimits:
    """A tool result may have a twentieth of a window, the newest ones together most of one."""
    return ResultLimits(
        old=min(3_000, max(300, threshold // 5)), recent=min(50_000, max(600, threshold))
    )


class _Plan:
    def __init__(
        self, reme: MemoryService, view: WindowView, meter: WindowMeter, limits: Limits
    ) -> None:
        self._reme = reme
        self._view = view
        self._meter = meter
        self._limits = limits
        self._given = [to_neutral(msg) for msg in view.messages]
        self._turns = list(self._given)
        self._sizes: list[int] = []
        self._first_sizes: list[int] = []

    async def read(self) -> None:
        """Measure the window as it is."""
        self._first_sizes = [size.tokens for size in await self._meter.sizes(self._view.messages)]
        self._sizes = list(self._first_sizes)

    @property
    def saved(self) -> int:
        """How many tokens were shortened away so far."""
        return sum(self._first_sizes) - sum(self._sizes)

    async def shorten(self, limits: ResultLimits, start: int = 0) -> None:
        """Shorten tool results from a place on."""
        if not self._view.can_rewrite or not isinstance(self._reme, OffloadService):
            return
        await started(self._reme)
        short = await self._reme.offload_tool_results(self._turns[start:], limits)
        await self._replace(short, start)

    async def repair(self) -> None:
        """Put tool traffic no provider takes into words."""
        if self._view.can_rewrite:
            await self._replace(paired(self._turns), 0)

    async def cut(self) -> Shrunk:
        """Choose what leaves, and shorten what stays as far as it must be."""
        limits = self._limits
        cut = choose_cut(
            [self._for_cut(place) for place in range(len(self._turns))],
            keep_recent=limits.keep_recent,
            budget=self._budget(),
            sizes=self._sizes,
        )
        for characters in _TIGHTER:
            if limits.threshold is None or sum(self._sizes[cut:]) <= self._room():
                break
            await self.shorten(ResultLimits.everywhere(characters), cut)
        return self.shrunk(cut)

    def shrunk(self, cut: int) -> Shrunk:
        """What was decided."""
        messages = self._view.messages
        rewrites = [
            Rewrite(messages[place], content)
            for place in range(cut, len(messages))
            if (content := self._content(place)) is not None
        ]
        return Shrunk(messages[:cut], rewrites, self._summary_tokens(cut))

    def _content(self, place: int) -> list[object] | None:
        if not self._view.can_rewrite:
            return None
        return rewritten(self._view.messages[place].content, self._turns[place])

    def _budget(self) -> int | None:
        limits = self._limits
        if limits.threshold is None:
            return limits.reserve
        reserve = limits.threshold // 2 if limits.reserve is None else limits.reserve
        return max(0, min(clamped_reserve(reserve, limits.threshold), self._room()))

    def _room(self) -> int:
        """What is left for messages when everything else is there."""
        threshold = self._limits.threshold or 0
        return threshold - self._limits.overhead - self._summary_room()

    def _summary_room(self) -> int:
        if self._limits.threshold is None:
            return _LONGEST_SUMMARY
        return min(_LONGEST_SUMMARY, self._limits.threshold // _SUMMARY_SHARE)

    def _summary_tokens(self, cut: int) -> int:
        """Its share, or two thirds of what is free when messages left more than that."""
        least = max(_AROUND_SUMMARY // 2, self._summary_room() - _AROUND_SUMMARY)
        threshold = self._limits.threshold
        if threshold is None:
            return least
        free = threshold - self._limits.overhead - sum(self._sizes[cut:]) - _AROUND_SUMMARY
        return max(least, min(_LONGEST_SUMMARY, free * 2 // 3))

    def _for_cut(self, place: int) -> Message:
        """As a system turn recalled text, which looks like a user's, is not taken for a request."""
        message = self._turns[place]
        if is_conversation(self._view.messages[place]):
            return message
        return message.model_copy(update={"role": "system"})

    async def _replace(self, turns: Sequence[Message], start: int) -> None:
        for place, turn in enumerate(turns, start):
            if turn is self._turns[place]:
                continue
            self._turns[place] = turn
            content = self._content(place)
            if content is not None:
                self._sizes[place] = (await self._meter.content(content)).tokens
