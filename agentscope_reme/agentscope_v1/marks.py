"""What of an agent's memory is conversation, and what was only put there for a prompt.

Recalled text, hints and summaries must never be recorded: a memory that hears itself repeats
itself for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.messages import from_neutral, to_neutral
from agentscope_reme.messages import (
    LONG_TERM_MEMORY_NAME,
    DataBlock,
    Message,
    TextBlock,
    without_recalled,
)

HINT: Final = "hint"
"""AgentScope's mark for messages that live for one prompt."""

COMPRESSED: Final = "compressed"
"""AgentScope's mark for messages a summary stands for."""

OURS: Final = "agentscope_reme"
"""The key in a message's metadata under which this library says why it made the message."""

ARCHIVED: Final = "agentscope_reme_archived"
"""The key in a message's metadata that says in which archive it stands as it was first said."""

_SUMMARY_HEAD = "<system-info>Here is a summary of your previous work"  # AgentScope's own template


def ours(kind: str) -> dict[str, Any]:
    """Metadata of a message this library makes: ``recall`` or ``summary``."""
    return {OURS: kind}


def recall_message(*blocks: TextBlock | DataBlock) -> Msg:
    """A user's message that shows an agent something from memory; add it with the hint mark."""
    msg = from_neutral(Message(role="user", name="memory", blocks=blocks))
    msg.metadata = ours("recall")
    return msg


def is_conversation(msg: Msg) -> bool:
    """Whether somebody said this, as opposed to memory, a hint or a summary saying it again."""
    if msg.name == LONG_TERM_MEMORY_NAME or (msg.metadata or {}).get(OURS):
        return False
    return not _begins_with(msg, _SUMMARY_HEAD)


def conversation(messages: Iterable[Msg | None], *, whole: bool = False) -> list[Message]:
    """The recordable part of a memory, in the library's own form; empty turns are left out.

    Args:
        messages: of any memory, oldest first.
        whole: for an archive: blocks of unknown kinds are spelled out.
    """
    kept = []
    for msg in messages:
        if msg is None or not is_conversation(msg):
            continue
        message = without_recalled(to_neutral(msg, whole=whole))
        if message is not None and message.blocks:
            kept.append(message)
    return kept


def _begins_with(msg: Msg, words: str) -> bool:
    """Whether the first thing a message says begins so; blocks may be of any form."""
    if isinstance(msg.content, str):
        return msg.content.startswith(words)
    first = next(iter(to_neutral(msg).blocks), None)
    return isinstance(first, TextBlock) and first.text.startswith(words)
