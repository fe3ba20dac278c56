"""Tool traffic providers accept: every call answered right behind it, every answer to a call.

A crash, an interruption or a window cut by somebody else leaves a call without a result, or a
result without its call. Providers refuse such a conversation for ever. What has lost its partner is
told in words instead, so the conversation goes on and nobody forgets that it happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentscope_reme.context.shortening import shorten
from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

_QUOTED_CHARACTERS: Final = 500

_Place = tuple[int, int]


def paired(messages: Sequence[Message]) -> list[Message]:
    """The same messages, with single tool calls and single results as words.

    A result belongs to the newest message with calls before it, when only results stand between
    the two. Calls of the last message with calls may still be waiting when nothing but results
    follows them: those are left alone. Unchanged messages are the same objects.

    Args:
        messages: a window, oldest first.
    """
    matched = _matched(messages)
    return [_told(place, message, matched) for place, message in enumerate(messages)]


def is_paired(messages: Sequence[Message]) -> bool:
    """Whether a provider would accept the tool traffic of these messages."""
    return all(new is old for new, old in zip(paired(messages), messages, strict=True))


def _matched(messages: Sequence[Message]) -> set[_Place]:
    """The places of all blocks that need no repair, as (message, block)."""
    fine: set[_Place] = set()
    open_calls: dict[str, _Place] = {}
    for place, message in enumerate(messages):
        if open_calls and not _answers(message):
            open_calls = {}
        for index, block in enumerate(message.blocks):
            if isinstance(block, ToolCallBlock):
                open_calls.setdefault(block.id, (place, index))
            elif isinstance(block, ToolResultBlock) and block.id in open_calls:
                fine.update((open_calls.pop(block.id), (place, index)))
            elif isinstance(block, ToolResultBlock):
                open_calls = {}  # it becomes words, and nothing may be answered behind words
    fine.update(open_calls.values())  # nothing but results followed: they may still be answered
    return fine


def _answers(message: Message) -> bool:
    """Whether nothing but tool results stands in a message; an empty one is passed over too."""
    return all(isinstance(block, ToolResultBlock) for block in message.blocks)


def _told(place: int, message: Message, matched: set[_Place]) -> Message:
    blocks = tuple(
        block
        if not isinstance(block, ToolCallBlock | ToolResultBlock) or (place, index) in matched
        else _in_words(block)
        for index, block in enumerate(message.blocks)
    )
    same = all(new is old for new, old in zip(blocks, message.blocks, strict=True))
    return message if same else message.model_copy(update={"blocks": blocks})


def _in_words(block: ToolCallBlock | ToolResultBlock) -> Block:
    if isinstance(block, ToolCallBlock):
        given = shorten(block.input, _QUOTED_CHARACTERS)
        return TextBlock(text=f"(called {block.name or 'a tool'} with {given}; no answer came)")
    parts = [
        part.text if isinstance(part, TextBlock) else f"({part.media_type})"
        for part in block.output
        if isinstance(part, TextBlock | DataBlock)
    ]
    said = shorten("\n".join(parts) or block.omitted or "nothing", _QUOTED_CHARACTERS)
    whole = f"; in full: {block.omitted}" if block.omitted and parts else ""
    return TextBlock(text=f"({block.name or 'a tool'} answered: {said}{whole})")
