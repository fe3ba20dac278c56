"""Claude's data export: conversations as lists of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentscope_reme.messages import Block, Message, Role, TextBlock, ThinkingBlock, parse_moment
from agentscope_reme.transfer.conversations_file import (
    list_of,
    looks_like,
    mapping_of,
    rows_of,
    text_of,
    told_apart,
)
from agentscope_reme.transfer.found import Conversation, Format, Found
from agentscope_reme.transfer.sources import Source

_ROLES: Final[Mapping[str, Role]] = {"human": "user", "assistant": "assistant"}


def find(source: Source, into: str, only_user: str) -> Found:
    """All conversations with something said in them.

    Raises:
        BadInput: the export cannot be read.
    """
    rows = rows_of(source)
    return Found(conversations=_conversations(rows), conversation_count=len(rows))


def _conversations(rows: Sequence[Mapping[str, Any]]) -> Iterator[Conversation]:
    for number, row in enumerate(rows):
        turns = list_of(row.get("chat_messages"))
        messages = told_apart(filter(None, (_message(mapping_of(turn)) for turn in turns)))
        if messages:
            yield Conversation(f"claude-{row.get('uuid') or f'number-{number + 1}'}", messages)


def _message(row: Mapping[str, Any]) -> Message | None:
    sender = text_of(row.get("sender"))
    blocks = tuple(_blocks(row))
    if sender not in _ROLES or not blocks:
        return None
    time = row.get("created_at")
    return Message(
        id=str(row["uuid"]) if row.get("uuid") else None,
        role=_ROLES[sender],
        name=sender,
        created_at=parse_moment(time),
        created_at_text=None if time is None else str(time),
        blocks=blocks,
    )


def _blocks(row: Mapping[str, Any]) -> Iterator[Block]:
    said = list(_parts(list_of(row.get("content"))))
    if not any(isinstance(block, TextBlock) for block in said) and row.get("text"):
        said.append(TextBlock(text=str(row["text"])))
    yield from said
    for file in map(mapping_of, list_of(row.get("attachments"))):
        if file.get("extracted_content"):
            title = f"[{file.get('file_name') or 'attachment'}]"
            yield TextBlock(text=f"{title}\n{file['extracted_content']}")


def _parts(parts: Sequence[Any]) -> Iterator[Block]:
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)} if text.strip():
                yield TextBlock(text=text)
            case {"type": "thinking", "thinking": str(text)} if text.strip():
                yield ThinkingBlock(text=text)


CLAUDE: Final = Format("claude", lambda source: looks_like(source, "chat_messages"), find)
