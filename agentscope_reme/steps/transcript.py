"""Turns as the distilling model reads them, split into parts a prompt can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.context.transcript import shorten
from agentscope_reme.files.session_log import LoggedMessage
from agentscope_reme.messages import DataBlock, Message, TextBlock
from agentscope_reme.quoting import defuse
from agentscope_reme.tools.answer_limit import one_line

_EMPTY: Final = "(empty)"


def render_turn(message: Message, clock: Clock) -> str:
    """``[speaker @ time] text``; empty when the turn says nothing.

    Pictures stand as their reference; tool traffic and thinking are left out.
    """
    said = [_render(block) for block in message.blocks]
    text = "\n".join(part for part in said if part).strip()
    if not text:
        return ""
    moment = message.created_at
    when = clock.localise(moment).isoformat(timespec="seconds") if moment else "time unknown"
    return f"[{defuse(one_line(message.name))} @ {when}] {defuse(text)}"


def render_transcript(messages: Iterable[Message], clock: Clock, *, budget_tokens: int) -> str:
    """All turns that say something, one blank line apart; a turn above the budget is shortened."""
    turns = (render_turn(message, clock) for message in messages)
    return "\n\n".join(_fitting(turn, budget_tokens) for turn in turns if turn) or _EMPTY


def first_part(
    turns: Sequence[LoggedMessage], clock: Clock, *, budget_tokens: int
) -> list[LoggedMessage]:
    """The leading turns whose transcript fits the budget; at least one."""
    used = 0
    for count, turn in enumerate(turns):
        used += estimate_tokens(render_turn(turn.message, clock)) + 1
        if used > budget_tokens and count:
            return list(turns[:count])
    return list(turns)


def _fitting(turn: str, budget_tokens: int) -> str:
    if estimate_tokens(turn) <= budget_tokens:
        return turn
    return shorten(turn, budget_tokens)  # a token is at least a character


def _render(block: object) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, DataBlock):
        return f"({block.media_type}: {block.path or block.url or 'not kept'})"
    return ""
