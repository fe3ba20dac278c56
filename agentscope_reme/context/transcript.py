"""A conversation as plain text for a summarising model, in parts that fit a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.context.shortening import shorten
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

__all__ = ["Transcript", "TranscriptPart", "render", "render_parts", "shorten"]

_WHOLE: Final = 10**9
_DETAILS: Final = ((_WHOLE, 4000), (4000, 1000), (1000, 1000), (250, 250))
"""How many characters of one spoken text and of one piece of tool traffic are quoted: the first
of these with which the parts are few enough."""


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """Text for one prompt, and the index of the first message it quotes."""

    text: str
    first: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation in parts, and what of it is in none of them.

    Attributes:
        parts: oldest first; none when there is nothing to quote.
        left_out: the indices of messages that are not quoted at all.
        shortened: how many blocks are quoted by their beginning and end only.
    """

    parts: tuple[TranscriptPart, ...]
    left_out: tuple[int, ...] = ()
    shortened: int = 0


def render(messages: Sequence[Message], *, part_tokens: int, most_parts: int) -> Transcript:
    """Cut a conversation into transcripts of at most `part_tokens` each, oldest first.

    Blocks are quoted as fully as the number of parts allows; a shortened one states its gap. When
    even the shortest form needs more than `most_parts`, turns in the middle are left out.

    Args:
        messages: the turns, oldest first.
        part_tokens: the most estimated tokens of one part.
        most_parts: the most parts, 1 or more.
    """
    turns: list[_Turn] = []
    parts: list[list[_Turn]] = []
    for detail in _DETAILS:
        turns = [turn for i, m in enumerate(messages) if (turn := _turn(i, m, *detail)).text]
        parts = _pack(turns, part_tokens)
        if len(parts) <= most_parts:
            break
    kept, left_out = _without_middle(parts, most_parts)
    return Transcript(
        tuple(TranscriptPart("\n\n".join(t.text for t in part), part[0].index) for part in kept),
        left_out,
        sum(turn.shortened for turn in turns if turn.index not in left_out),
    )


def render_parts(messages: Sequence[Message], *, part_tokens: int, most_parts: int) -> list[str]:
    """The texts of `render`, oldest first."""
    transcript = render(messages, part_tokens=part_tokens, most_parts=most_parts)
    return [part.text for part in transcript.parts]


@dataclass(frozen=True, slots=True)
class _Turn:
    index: int
    text: str
    shortened: int = 0


def _pack(turns: Sequence[_Turn], part_tokens: int) -> list[list[_Turn]]:
    parts: list[list[_Turn]] = []
    room = 0
    for turn in turns:
        for piece in _pieces(turn, part_tokens):
            cost = min(estimate_tokens(piece.text) + 1, part_tokens)
            if cost > room:
                parts.append([])
                room = part_tokens
            parts[-1].append(piece)
            room -= cost
    return parts


def _pieces(turn: _Turn, part_tokens: int) -> list[_Turn]:
    """A turn that is larger than a part, cut into several that are not."""
    cost = estimate_tokens(turn.text) + 1
    if cost <= part_tokens:
        return [turn]
    size = max(1, len(turn.text) * part_tokens // cost)
    while any(
        estimate_tokens(turn.text[at : at + size]) > part_tokens
        for at in range(0, len(turn.text), size)
    ):
        size = max(1, min(size - 1, size * 9 // 10))
        if size == 1:
            break
    return [
        _Turn(turn.index, turn.text[at : at + size], turn.shortened if at == 0 else 0)
        for at in range(0, len(turn.text), size)
    ]


def _without_middle(
    parts: list[list[_Turn]], most_parts: int
) -> tuple[list[list[_Turn]], tuple[int, ...]]:
    if len(parts) <= most_parts:
        return parts, ()
    head = most_parts // 2
    tail = len(parts) - (most_parts - head)
    kept = [*parts[:head], *parts[tail:]]
    quoted = {turn.index for part in kept for turn in part}
    gone = sorted({turn.index for part in parts[head:tail] for turn in part} - quoted)
    note = _Turn(kept[head][0].index, f"[{len(gone)} turns left out here]")
    kept[head] = [note, *kept[head]]
    return kept, tuple(gone)


def _turn(index: int, message: Message, spoken: int, tool: int) -> _Turn:
    lines = [_line(block, spoken, tool) for block in message.blocks]
    said = [line for line, _ in lines if line]
    if not said:
        return _Turn(index, "")
    moment = message.created_at_text or (
        message.created_at.isoformat(timespec="minutes") if message.created_at else ""
    )
    speaker = f"[{message.name} @ {moment}]" if moment else f"[{message.name}]"
    return _Turn(index, defuse("\n".join([speaker, *said])), sum(cut for _, cut in lines))


def _line(block: Block, spoken: int, tool: int) -> tuple[str, bool]:
    """A block in words, and whether something of it is missing."""
    match block:
        case TextBlock():
            said = block.text.strip()
            return shorten(said, spoken), len(said) > spoken
        case ThinkingBlock():
            return "", False
        case DataBlock():
            return f"({block.media_type}: {block.path or block.url or 'inline'})"[:300], False
        case ToolCallBlock():
            given = shorten(block.input, tool)
            return f"(calls {block.name} with {given})", len(block.input) > tool
        case ToolResultBlock():
            said = "\n".join(part.text for part in block.output if isinstance(part, TextBlock))
            said = said or block.omitted or "nothing"
            told = f"({block.name or 'tool'} answered: {shorten(said, tool)})"
            return told, len(said) > tool
