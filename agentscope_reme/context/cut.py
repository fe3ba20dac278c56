"""Where a window may be cut: which suffix of the conversation stays.

A cut never parts a tool call from its result, keeps a parallel batch whole, and never compacts
the last turn of the user, because that is the request being worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from agentscope_reme.context.tokens import estimate_message_tokens
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Message, ToolCallBlock, ToolResultBlock

M = TypeVar("M")


class ContextCheck(NamedTuple, Generic[M]):
    """What may leave a window, what stays, and whether calls and results that stay belong together.

    Attributes:
        to_compact: the older messages; empty when the window is within its threshold.
        to_keep: the newer ones.
        is_valid: whether the ids of kept tool calls are those of kept results.
    """

    to_compact: list[M]
    to_keep: list[M]
    is_valid: bool


def check_context(
    messages: Sequence[M],
    threshold: int,
    reserve: int,
    *,
    neutral: Callable[[M], Message],
    sizes: Sequence[int] | None = None,
    overhead: int = 0,
) -> ContextCheck[M]:
    """Decide what of a window may be compacted.

    Args:
        messages: the window in any form, oldest first.
        threshold: the most tokens the window may have, `overhead` included.
        reserve: the most tokens that stay; clamped to half the threshold when it is not smaller.
        neutral: a message in the library's own form.
        sizes: the tokens of each message; estimated without it.
        overhead: tokens that are there anyway: system prompt, tools, summary.

    Raises:
        BadInput: a number is negative.
    """
    turns = [neutral(message) for message in messages]
    tokens = list(sizes) if sizes is not None else [estimate_message_tokens(m) for m in turns]
    if min(threshold, reserve, overhead) < 0:
        raise BadInput((threshold, reserve, overhead), "a number of tokens is negative", "Use 0.")
    cut = 0
    if sum(tokens) + overhead > threshold:
        cut = choose_cut(turns, budget=clamped_reserve(reserve, threshold), sizes=tokens)
    return ContextCheck(list(messages[:cut]), list(messages[cut:]), _same_ids(turns[cut:]))


def clamped_reserve(reserve: int, threshold: int) -> int:
    """A reserve that leaves something to compact: below the threshold, or half of it."""
    return reserve if reserve < threshold else threshold // 2


def choose_cut(
    messages: Sequence[Message],
    *,
    keep_recent: int | None = None,
    budget: int | None = None,
    sizes: Sequence[int] | None = None,
) -> int:
    """The index from which messages are kept; everything before it may be compacted.

    The kept suffix is as long as both limits allow. The rules about tool calls and the user's last
    turn come first: when they need more room than the limits give, they get it.

    Args:
        messages: the window, oldest first.
        keep_recent: the most messages to keep; ``None`` for no such limit.
        budget: the most tokens to keep; ``None`` for no such limit.
        sizes: the tokens of each message; estimated without it.

    Returns:
        0 when nothing may be compacted.

    Raises:
        BadInput: a limit is negative.
    """
    for name, limit in (("keep_recent", keep_recent), ("budget", budget)):
        if limit is not None and limit < 0:
            raise BadInput(limit, f"`{name}` is negative", "Use 0 to keep as little as possible.")
    wanted = _first_within(messages, keep_recent, budget, sizes)
    boundaries = _safe_boundaries(messages)
    last = _last_allowed(messages, boundaries)
    return next((place for place in boundaries if wanted <= place <= last), last)


def _first_within(
    messages: Sequence[Message],
    keep_recent: int | None,
    budget: int | None,
    sizes: Sequence[int] | None,
) -> int:
    """The start of the longest suffix within both limits, tool rules aside."""
    count = len(messages)
    earliest = 0 if keep_recent is None else max(0, count - keep_recent)
    if budget is None:
        return earliest
    left = budget
    for place in range(count - 1, earliest - 1, -1):
        left -= estimate_message_tokens(messages[place]) if sizes is None else sizes[place]
        if left < 0:
            return place + 1
    return earliest


def _last_allowed(messages: Sequence[Message], boundaries: Sequence[int]) -> int:
    """The latest safe boundary that keeps the last user turn, or else the newest message."""
    live = max((i for i, message in enumerate(messages) if is_user_turn(message)), default=None)
    limit = len(messages) - 1 if live is None else live
    return max((place for place in boundaries if place <= limit), default=0)


def _safe_boundaries(messages: Sequence[Message]) -> list[int]:
    """Indices where no tool call stands before and its result behind, ascending; 0 is one.

    A result belongs to the nearest call before it with the same id: providers that number calls
    afresh in every turn reuse ids.
    """
    opened: dict[str, int] = {}
    depth = [0] * (len(messages) + 1)
    for place, message in enumerate(messages):
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                opened[block.id] = place
            elif isinstance(block, ToolResultBlock) and block.id in opened:
                depth[opened[block.id] + 1] += 1
                depth[place + 1] -= 1
    boundaries: list[int] = []
    spans = 0
    for place in range(len(messages)):
        spans += depth[place]
        if spans == 0:
            boundaries.append(place)
    return boundaries


def is_user_turn(message: Message) -> bool:
    """Whether a person said this; some providers send tool results under the user's role."""
    return message.role == "user" and not (
        message.blocks and all(isinstance(b, ToolResultBlock) for b in message.blocks)
    )


def _same_ids(messages: Sequence[Message]) -> bool:
    calls = {b.id for m in messages for b in m.blocks if isinstance(b, ToolCallBlock)}
    results = {b.id for m in messages for b in m.blocks if isinstance(b, ToolResultBlock)}
    return calls == results
