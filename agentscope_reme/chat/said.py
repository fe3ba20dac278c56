"""What was said, looked at: open calls, what a checkpoint stands for, what was saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from agentscope_reme.messages import Message, ToolCallBlock, ToolResultBlock

CHECKPOINT: Final = "checkpoint-"
"""A row of the archive whose id begins so holds the summary before the message it names."""


def readable(message: Message) -> Message:
    """The message, with empty arguments in place of those that are no JSON."""
    blocks = tuple(
        block.model_copy(update={"input": "{}"})
        if isinstance(block, ToolCallBlock) and not _is_object(block.input)
        else block
        for block in message.blocks
    )
    same = all(new is old for new, old in zip(blocks, message.blocks, strict=True))
    return message if same else message.model_copy(update={"blocks": blocks})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def open_calls(messages: Sequence[Message]) -> list[ToolCallBlock]:
    """The calls nothing has answered."""
    blocks = [block for message in messages for block in message.blocks]
    answered = {block.id for block in blocks if isinstance(block, ToolResultBlock)}
    calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
    return [call for call in calls if call.id not in answered]


def behind_the_checkpoint(
    said: Sequence[Message], archived: Sequence[Message]
) -> tuple[str, list[Message]]:
    """The last summary, and what was said after what it stands for."""
    places = {message.id: place for place, message in enumerate(said)}
    marks = [one for one in archived if (one.id or "").startswith(CHECKPOINT)]
    for mark in reversed(marks):
        place = places.get((mark.id or "").removeprefix(CHECKPOINT))
        if place is not None:
            return mark.text, list(said[place:])
    return "", list(said)


def up_to(messages: Sequence[Message], last: str) -> set[str]:
    """The ids of the messages up to one; none when it is not among them."""
    ids = [message.id or "" for message in messages]
    return set(ids[: ids.index(last) + 1]) if last in ids else set()
