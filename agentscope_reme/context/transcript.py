"""A conversation as plain text for a summarising model, in parts that fit a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from agentscope_reme.quoting import defuse

BLOCK_CHARACTERS: Final = (4000, 1000, 250)
"""How much of one block is quoted: the largest of these with which the parts are few enough."""


def render_parts(messages: Sequence[Message], *, part_tokens: int, most_parts: int) -> list[str]:
    """Cut a conversation into transcripts of at most `part_tokens` each, oldest first.

    Long blocks keep their head and tail, with the gap stated. When even the shortest form needs
    more than `most_parts`, turns in the middle are left out and their number is stated.

    Args:
        messages: the turns, oldest first.
        part_tokens: the most estimated tokens of one part.
        most_parts: the most parts, 1 or more.

    Returns:
        No part at all when there is nothing to quote.
    """
    parts: list[list[str]] = []
    for characters in BLOCK_CHARACTERS:
        parts = _pack([_turn(m, characters) for m in messages], part_tokens)
        if len(parts) <= most_parts:
            break
    else:
        parts = _without_middle(parts, most_parts)
    return ["\n\n".join(part) for part in parts]


def _pack(turns: Sequence[str], part_tokens: int) -> list[list[str]]:
    parts: list[list[str]] = []
    room = 0
    for turn in filter(None, turns):
        cost = estimate_tokens(turn) + 1
        if cost > part_tokens:
            turn = shorten(turn, part_tokens)  # a token is at least a character
            cost = part_tokens
        if cost > room:
            parts.append([])
            room = part_tokens
        parts[-1].append(turn)
        room -= cost
    return parts


def _without_middle(parts: list[list[str]], most_parts: int) -> list[list[str]]:
    head = most_parts // 2
    tail = len(parts) - (most_parts - head)
    left_out = sum(len(part) for part in parts[head:tail])
    kept = [*parts[:head], *parts[tail:]]
    kept[head] = [f"[{left_out} turns left out here]", *kept[head]]
    return kept


def _turn(message: Message, characters: int) -> str:
    lines = [line for block in message.blocks if (line := _line(block, characters))]
    if not lines:
        return ""
    moment = message.created_at_text or (
        message.created_at.isoformat(timespec="minutes") if message.created_at else ""
    )
    speaker = f"[{message.name} @ {moment}]" if moment else f"[{message.name}]"
    return defuse("\n".join([speaker, *lines]))


def _line(block: Block, characters: int) -> str:
    match block:
        case TextBlock():
            return shorten(block.text.strip(), characters)
        case ThinkingBlock():
            return ""
        case DataBlock():
            return f"({block.media_type}: {block.path or block.url or 'inline'})"[:300]
        case ToolCallBlock():
            return f"(calls {block.name} with {shorten(block.input, characters)})"
        case ToolResultBlock():
            said = "\n".join(part.text for part in block.output if isinstance(part, TextBlock))
            said = said or block.omitted or "nothing"
            return f"({block.name or 'tool'} answered: {shorten(said, characters)})"


def shorten(text: str, characters: int) -> str:
    """The head and the tail of a text, with the size of the gap between them in words."""
    if len(text) <= characters:
        return text
    head = characters * 2 // 3
    tail = characters - head
    return f"{text[:head]} […{len(text) - characters} characters left out…] {text[-tail:]}"
