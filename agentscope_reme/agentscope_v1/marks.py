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
    return not _text(msg).startswith(_SUMMARY_HEAD)


def conversation(messages: Iterable[Msg | None]) -> list[Message]:
    """The recordable part of a memory, in the library's own form; empty turns are left out."""
    kept = []
    for msg in messages:
        if msg is None or not is_conversation(msg):
            continue
        message = without_recalled(to_neutral(msg))
        if message is not None and message.blocks:
            kept.append(message)
    return kept


def _text(msg: Msg) -> str:
    return msg.get_text_content() or ""
