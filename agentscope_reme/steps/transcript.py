"""Turns as the distilling model reads them, split into parts a prompt can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.files.session_log import LoggedMessage
from agentscope_reme.messages import DataBlock, Message, TextBlock

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
    return f"[{message.name} @ {when}] {_harmless(text)}"


def render_transcript(messages: Iterable[Message], clock: Clock) -> str:
    """All turns that say something, one blank line apart."""
    return "\n\n".join(filter(None, (render_turn(m, clock) for m in messages))) or _EMPTY


def split_backlog(
    turns: Sequence[LoggedMessage], clock: Clock, *, budget_tokens: int
) -> list[list[LoggedMessage]]:
    """Consecutive parts whose transcript fits the budget; a turn larger than it stands alone."""
    parts: list[list[LoggedMessage]] = []
    used = 0
    for turn in turns:
        cost = estimate_tokens(render_turn(turn.message, clock))
        if not parts or used + cost > budget_tokens:
            parts.append([])
            used = 0
        parts[-1].append(turn)
        used += cost
    return parts


def _render(block: object) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, DataBlock):
        return f"({block.media_type}: {block.path or block.url or 'not kept'})"
    return ""


def _harmless(text: str) -> str:
    return text.replace("</conversation>", "&lt;/conversation>")
