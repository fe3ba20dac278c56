"""Turns as the distilling model reads them, split into parts a prompt can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.context.interleaved import Interleaved, is_visible, mention
from agentscope_reme.context.tokens import IMAGE_TOKENS, estimate_tokens
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
    return f"{_head(message, clock)} {defuse(text)}"


def render_transcript(messages: Iterable[Message], clock: Clock, *, budget_tokens: int) -> str:
    """All turns that say something, one blank line apart; a turn above the budget is shortened."""
    turns = (render_turn(message, clock) for message in messages)
    return "\n\n".join(_fitting(turn, budget_tokens) for turn in turns if turn) or _EMPTY


def add_transcript(
    prompt: Interleaved, messages: Iterable[Message], clock: Clock, *, budget_tokens: int
) -> None:
    """The same turns with their images in place, each below its exact source."""
    begun = False
    for message in messages:
        if render_turn(message, clock) or any(map(is_visible, message.blocks)):
            shortened = _fitting_blocks(message, budget_tokens)
            prompt.add_turn(_head(message, clock), shortened.blocks, gap="\n\n" if begun else "")
            begun = True
    if not begun:
        prompt.add_words(_EMPTY)


def fitting_part(
    turns: Sequence[LoggedMessage],
    clock: Clock,
    *,
    budget_tokens: int,
    most_images: int | None = None,
) -> list[LoggedMessage]:
    """The leading turns whose transcript fits the budget; at least one.

    Args:
        turns: the turns, oldest first.
        clock: for the times of turns.
        budget_tokens: the most estimated tokens.
        most_images: the most images, where they are shown.
    """
    used = images = 0
    for count, turn in enumerate(turns):
        used += estimate_tokens(render_turn(turn.message, clock)) + 1
        if most_images is not None:
            shown = len(turn.message.images())
            images += shown
            used += shown * IMAGE_TOKENS
        too_many = most_images is not None and images > most_images
        if (used > budget_tokens or too_many) and count:
            return list(turns[:count])
    return list(turns)


def _head(message: Message, clock: Clock) -> str:
    moment = message.created_at
    when = clock.localise(moment).isoformat(timespec="seconds") if moment else "time unknown"
    return f"[{defuse(one_line(message.name))} @ {when}]"


def _fitting_blocks(message: Message, budget_tokens: int) -> Message:
    texts = [block for block in message.blocks if isinstance(block, TextBlock)]
    if sum(estimate_tokens(block.text) for block in texts) <= budget_tokens:
        return message
    room = max(1, budget_tokens // len(texts))
    blocks = tuple(
        TextBlock(text=_fitting(block.text, room)) if isinstance(block, TextBlock) else block
        for block in message.blocks
    )
    return message.model_copy(update={"blocks": blocks})


def _fitting(turn: str, budget_tokens: int) -> str:
    if estimate_tokens(turn) <= budget_tokens:
        return turn
    return shorten(turn, budget_tokens)  # a token is at least a character


def _render(block: object) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, DataBlock):
        return mention(block)
    return ""
