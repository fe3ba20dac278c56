"""What of a list of messages may be compacted, and what has to stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.context.cut import choose_cut
from agentscope_reme.messages import Message, ToolCallBlock, ToolResultBlock

RESERVE: Final = 10_000
"""Tokens of recent messages that stay, unless that is more than half of the threshold."""


async def split_window(
    messages: Sequence[Msg], meter: WindowMeter, *, threshold: int, reserve: int
) -> tuple[list[Msg], list[Msg], bool]:
    """Cut a window that is larger than a threshold.

    Tool calls stay with their results, and the user's last request is never cut off. A reserve
    that does not fit below the threshold is made smaller: it must not switch compaction off.

    Args:
        messages: oldest first.
        meter: counts their tokens.
        threshold: below it nothing has to leave.
        reserve: tokens of recent messages that may stay.

    Returns:
        The messages to compact, those to keep, and whether every kept call has its result.
    """
    given = list(messages)
    if await meter.total(given) < threshold:
        return [], given, True
    neutral = list(map(to_neutral, given))
    cut = choose_cut(neutral, budget=max(0, min(reserve, threshold // 2)))
    return given[:cut], given[cut:], _is_whole(neutral[cut:])


def _is_whole(messages: Sequence[Message]) -> bool:
    blocks = [block for message in messages for block in message.blocks]
    calls = {block.id for block in blocks if isinstance(block, ToolCallBlock)}
    return calls == {block.id for block in blocks if isinstance(block, ToolResultBlock)}
