"""Which part of an agent's context is new, as neutral messages, and how far it was recorded.

One reply of an AgentScope 2.x agent is one assistant message that grows block by block, may pause
for the user, and may be cut in two by compression. So progress is kept by block id. It lives in
``agent.state.middle_context`` as JSON and travels with the agent's saved state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentscope.message import DataBlock, HintBlock, Msg, ThinkingBlock, ToolCallBlock
from agentscope.message import ToolResultBlock as ScopeToolResult
from agentscope.state import AgentState

from agentscope_reme.agentscope_v2.messages import is_recalled, to_neutral
from agentscope_reme.messages import Message, ToolResultBlock, without_recalled


@dataclass(frozen=True, slots=True)
class Fresh:
    """A message to record, and the blocks that count as recorded once it is."""

    source_id: str
    keys: tuple[str, ...]
    message: Message


class Progress:
    """The recorded blocks of one agent's context.

    While a reply may still grow, the ids of its blocks stand here; of every other message, only
    that it was recorded. Messages that left the context are forgotten, so this never holds more
    ids than the context has messages, and those of one reply's blocks.

    Args:
        state: the agent's state.
        key: where in ``middle_context`` the progress stands.
    """

    def __init__(self, state: AgentState, key: str) -> None:
        self._state = state
        self._key = key
        self._growing = state.reply_id

    def fresh(
        self,
        context: Iterable[Msg],
        *,
        originals: Mapping[str, Msg],
        agent_name: str,
        memory_tools: Collection[str] = (),
    ) -> list[Fresh]:
        """What of the context was not recorded yet, oldest first.

        Args:
            context: the messages to look at.
            originals: this turn's inputs by id, as they were before AgentScope replaced images.
            agent_name: whose messages may still grow; all others are finished when they arrive.
            memory_tools: tools whose answers are recalled text and are left out.
        """
        self._growing = self._state.reply_id
        seen = {id_: set(keys) for id_, keys in self._recorded().items()}
        finished = {id_ for id_, keys in seen.items() if not keys}
        found = []
        for msg in context:
            if msg.id in finished or is_recalled(msg):
                continue
            grows = msg.role == "assistant" and msg.name == agent_name
            if msg.id in seen and not grows:
                continue
            fresh = _fresh(originals.get(msg.id, msg), seen.get(msg.id), memory_tools)
            if fresh is not None:
                seen.setdefault(msg.id, set()).update(fresh.keys)
                found.append(fresh)
        return found

    def mark(self, recorded: Iterable[Fresh]) -> None:
        """Remember what was recorded, and forget what can never come again."""
        known = self._recorded()
        for fresh in recorded:
            earlier = known.get(fresh.source_id, [])
            known[fresh.source_id] = list(dict.fromkeys([*earlier, *fresh.keys]))
        alive = {msg.id for msg in self._state.context} | {self._state.reply_id}
        kept = {
            id_: keys if id_ == self._growing else [] for id_, keys in known.items() if id_ in alive
        }
        self._state.middle_context[self._key] = {"recorded": kept}

    def _recorded(self) -> dict[str, list[str]]:
        entry = self._state.middle_context.get(self._key)
        recorded = entry.get("recorded") if isinstance(entry, dict) else None
        return dict(recorded) if isinstance(recorded, dict) else {}


def _fresh(msg: Msg, seen: set[str] | None, memory_tools: Collection[str]) -> Fresh | None:
    blocks = [b for b in msg.content if not isinstance(b, HintBlock | ThinkingBlock)]
    keys = {key_of(block): block for block in blocks}
    new = [block for key, block in keys.items() if key not in (seen or ())]
    if not new:
        return None
    # A message that lost blocks to compression must not replace its own fuller version.
    whole = seen is None or seen <= keys.keys()
    said = blocks if whole else new
    id_ = msg.id if whole else segment_id(msg.id, said)
    message = without_recalled(to_neutral(msg, said, message_id=id_))
    if message is None:
        return None
    kept = tuple(_without_memory(block, memory_tools) for block in message.blocks)
    message = message.model_copy(update={"blocks": kept})
    return Fresh(msg.id, tuple(key_of(b) for b in said), message) if kept else None


def _without_memory(block: Any, memory_tools: Collection[str]) -> Any:
    if isinstance(block, ToolResultBlock) and block.name in memory_tools:
        return block.model_copy(
            update={"output": (), "omitted": "recalled memory, not recorded again"}
        )
    return block


def size_of(block: Any) -> int:
    """The length of what a block says, in characters."""
    if isinstance(block, DataBlock):
        return 0
    return len(str(getattr(block, "text", "") or getattr(block, "input", "")))


def segment_id(message_id: str, blocks: Sequence[Any]) -> str:
    """A stable id for a part of a message."""
    names = "\0".join(f"{key_of(block)}:{size_of(block)}" for block in blocks)
    return f"{message_id}:{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def key_of(block: Any) -> str:
    """What tells a block from every other one of its message."""
    return f"{block.type}:{block.id}"


def is_parked(context: Sequence[Msg], agent_name: str) -> bool:
    """Whether the agent's reply waits for the user or for an outside tool."""
    if not context or context[-1].role != "assistant" or context[-1].name != agent_name:
        return False
    answered = {b.id for b in context[-1].content if isinstance(b, ScopeToolResult)}
    return any(
        isinstance(block, ToolCallBlock)
        and block.state in ("asking", "submitted")
        and block.id not in answered
        for block in context[-1].content
    )
