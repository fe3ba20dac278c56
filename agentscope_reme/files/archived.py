"""A message as an archive keeps it: whole, with a note on what of it is found elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal

from agentscope_reme.messages import Message, ToolResultBlock

_PART: Final = re.compile(r"(.+):[0-9a-f]{12}", re.DOTALL)


class Archived(Message):
    """A message that left a context window.

    Attributes:
        logged: its spoken words are in the session's log, where search finds them.
        recalled: ids of its tool results that are answers of the memory itself; finding those
            again would feed memory to itself.
    """

    logged: Literal[True] | None = None
    recalled: tuple[str, ...] | None = None

    @classmethod
    def of(cls, message: Message, *, logged: bool, memory_tools: Collection[str]) -> Archived:
        """A message with its note.

        Args:
            message: as it stood in the window.
            logged: whether the session's log has its words.
            memory_tools: names of the tools whose answers are recalled memory.
        """
        recalled = tuple(
            block.id
            for block in message.blocks
            if isinstance(block, ToolResultBlock) and block.name in memory_tools
        )
        return cls.model_construct(
            **message.__dict__, logged=logged or None, recalled=recalled or None
        )


def whole_id(message_id: str) -> str:
    """The id of the message of which this may be a part: parts are named ``<id>:<hash>``."""
    part = _PART.fullmatch(message_id)
    return part[1] if part else message_id
