"""Conversations as they were: kept before any model is asked, and what of them still waits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence, Set
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter

from agentscope_reme.clock import Clock
from agentscope_reme.context.tokens import estimate_message_tokens
from agentscope_reme.context.transcript import render
from agentscope_reme.files.archived import whole_id
from agentscope_reme.files.session_lines import as_logged
from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    latest_moment,
    without_recalled,
)
from agentscope_reme.typed.nodes import MemoryNode, MemoryType, Scalar
from agentscope_reme.typed.targets import ABOUT, Target
from agentscope_reme.typed.times import stamp

STATE: Final = "state"
PENDING: Final = "pending"
DONE: Final = "done"
"""Metadata of a conversation: whether a model has drawn from it what it could."""
ATTEMPTS: Final = "attempts"
HINT: Final = "hint"
KEYS: Final = "messages"

LONGEST_HINT: Final = 2000
"""Characters of the words that go along with a conversation."""

_HEAD: Final = 1000  # characters of a conversation that stand for it in a search
_LABEL: Final = 20  # characters a transcript spends on a speaker, at least
_KEY_DIGITS: Final = 16
_MESSAGES: Final = TypeAdapter(list[Message])


def spoken(messages: Sequence[Message], user_name: str = "") -> list[Message]:
    """What is kept of a conversation: without recalled memory, empty turns and binary payloads.

    Args:
        messages: oldest first.
        user_name: who the user is, when there is one only; nameless user turns are said by them.
    """
    kept = []
    for message in messages:
        said = without_recalled(message)
        if said is None or not said.blocks:
            continue
        bare = said.model_copy(update={"blocks": tuple(map(_bare, said.blocks))})
        nameless = bare.role == "user" and bare.name == "user"
        kept.append(bare.model_copy(update={"name": user_name}) if nameless and user_name else bare)
    return kept


def keys_of(messages: Sequence[Message]) -> list[str]:
    """What each message is known by: its id or time, and what it says.

    One without either is known by what was said before it, too: it is the same message only when
    the conversation has the same beginning.
    """
    keys: list[str] = []
    for message in messages:
        said = [block.model_dump(exclude_none=True) for block in message.blocks]
        before = keys[-1] if keys and not (message.id or message.created_at_text) else ""
        whole = message.id and whole_id(message.id)  # what leaves a window is named by its words
        told = [whole, message.created_at_text, message.role, message.name, said, before]
        digest = hashlib.sha256(json.dumps(told).encode())
        keys.append(digest.hexdigest()[:_KEY_DIGITS])
    return keys


def new_conversations(
    target: Target,
    messages: Sequence[Message],
    known: Set[str],
    *,
    clock: Clock,
    now: datetime,
    part_tokens: int,
    hint: str = "",
) -> list[MemoryNode]:
    """The messages nobody has kept yet, as nodes of at most so many estimated tokens.

    Args:
        target: whom they are kept for.
        messages: as `spoken` gives them.
        known: keys of the messages that are kept already.
        clock: whose zone is meant.
        now: when they are kept.
        part_tokens: a longer conversation becomes several nodes; one turn is never divided.
        hint: words that go along with them.
    """
    keys = keys_of(messages)
    fresh = [(key, m) for key, m in zip(keys, messages, strict=True) if key not in known]
    fresh = list({key: (key, message) for key, message in fresh}.values())
    return [
        _node(target, part, clock=clock, now=now, hint=hint[:LONGEST_HINT])
        for part in _parts(fresh, part_tokens)
    ]


def known_keys(conversations: Sequence[MemoryNode]) -> set[str]:
    """The keys of all messages of these conversations."""
    return {
        key for node in conversations for key in str(node.metadata.get(KEYS, "")).split(",") if key
    }


def messages_of(conversation: MemoryNode) -> list[Message]:
    """The messages of a conversation, as they were kept."""
    return _MESSAGES.validate_json(conversation.content)


def marked(conversation: MemoryNode, **metadata: Scalar) -> MemoryNode:
    """The conversation with other marks; what was said stays."""
    return conversation.model_copy(update={"metadata": {**conversation.metadata, **metadata}})


def transcript(messages: Sequence[Message], *, tokens: int, numbered: bool = False) -> str:
    """What was said as text for a prompt, at most so many estimated tokens, cut ones shortened.

    Args:
        messages: oldest first.
        tokens: the room.
        numbered: put the number of each turn, from 1, before the speaker.
    """
    if numbered:
        messages = [
            message.model_copy(update={"name": f"{number} {message.name}"})
            for number, message in enumerate(messages, 1)
        ]
    return "\n\n".join(
        part.text for part in render(messages, part_tokens=tokens, most_parts=1).parts
    )


def _parts(messages: Sequence[tuple[str, Message]], tokens: int) -> list[list[tuple[str, Message]]]:
    parts: list[list[tuple[str, Message]]] = []
    room = 0
    for key, message in messages:
        cost = estimate_message_tokens(message)
        if not parts or cost > room:
            parts.append([])
            room = tokens
        parts[-1].append((key, message))
        room -= cost
    return parts


def _node(
    target: Target,
    part: Sequence[tuple[str, Message]],
    *,
    clock: Clock,
    now: datetime,
    hint: str,
) -> MemoryNode:
    messages = [message for _, message in part]
    said_at = latest_moment(messages, clock) or now
    written = stamp(now, clock)
    metadata: dict[str, Scalar] = {
        ABOUT: target.kind,
        STATE: PENDING,
        ATTEMPTS: 0,
        KEYS: ",".join(key for key, _ in part),
    }
    if hint:
        metadata[HINT] = hint
    return MemoryNode(
        memory_type=MemoryType.HISTORY,
        memory_target=target.name,
        when_to_use=transcript(_beginning(messages), tokens=_HEAD)[:_HEAD],
        content=_MESSAGES.dump_json(messages, exclude_none=True).decode(),
        message_time=stamp(said_at, clock),
        time_created=written,
        time_modified=written,
        metadata=metadata,
    )


def _beginning(messages: Sequence[Message]) -> Sequence[Message]:
    """As many messages as fill a head: to fit all of them into it takes a second of work."""
    room = _HEAD
    for count, message in enumerate(messages, 1):
        room -= len(message.text) + _LABEL
        if room <= 0:
            return messages[:count]
    return messages


def _bare(block: Block) -> Block:
    """The block without recalled memory, and without Base64: a digest and a size stand for it."""
    match block:
        case DataBlock():
            return _without_payloads((block,))[0]
        case ToolResultBlock(output=output) if output:
            return block.model_copy(update={"output": _without_payloads(output)})
    return block


def _without_payloads(
    blocks: tuple[TextBlock | DataBlock, ...],
) -> tuple[TextBlock | DataBlock, ...]:
    said = without_recalled(Message(role="user", name="user", blocks=blocks))
    logged = as_logged(said).blocks if said is not None else ()
    return tuple(block for block in logged if isinstance(block, TextBlock | DataBlock))
