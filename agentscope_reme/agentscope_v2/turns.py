"""Which part of an agent's context is new, as neutral messages, and how far it was recorded.

One reply of an AgentScope 2.x agent is one assistant message that grows block by block, may pause
for the user, and may be cut in two by compression. So progress is kept by block id. It lives in
``agent.state.middle_context`` as JSON and travels with the agent's saved state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import is_
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


class SettledStart:
    """The beginning of a context that was seen to be recorded and does not grow any more.

    Comparing references takes a fraction of asking every message of a long context for its id.
    """

    def __init__(self) -> None:
        self._messages: list[Msg] = []
        self._recorded: Mapping[str, list[str]] = {}

    def length(self, context: Sequence[Msg], recorded: Mapping[str, list[str]]) -> int:
        """How many messages of a context it is, by the same record of progress; 0 for another."""
        kept = self._messages
        same = recorded is self._recorded and len(kept) <= len(context)
        return len(kept) if same and all(map(is_, kept, context)) else 0

    def go_on(self, start: int, context: Sequence[Msg], recorded: Mapping[str, list[str]]) -> None:
        """Look behind the first `start` messages, which are settled, for more that are.

        Args:
            recorded: block ids by message id, none for a message that does not grow any more.
        """
        self._messages[start:] = takewhile(
            lambda msg: recorded.get(msg.id) == [] or is_recalled(msg), context[start:]
        )
        self._recorded = recorded


class Progress:
    """The recorded blocks of one agent's context.

    While a reply may still grow, the ids of its blocks stand here; of every other message, only
    that it was recorded. Messages that left the context are forgotten, so this never holds more
    ids than the context has messages, and those of one reply's blocks.

    Args:
        state: the agent's state.
        key: where in ``middle_context`` the progress stands.
        settled: what earlier progress of this agent saw.
    """

    def __init__(self, state: AgentState, key: str, settled: SettledStart | None = None) -> None:
        self._state = state
        self._key = key
        self._settled = settled or SettledStart()
        self._growing = state.reply_id

    def fresh(
        self,
        context: Sequence[Msg],
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
        known, new = self._recorded(), self.unrecorded(context, agent_name)
        seen = {msg.id: set(known[msg.id]) for msg in new if msg.id in known}
        found = []
        for msg in new:
            if msg.id in seen and not _grows(msg, agent_name):
                continue
            fresh = _fresh(originals.get(msg.id, msg), seen.get(msg.id), memory_tools)
            if fresh is not None:
                seen.setdefault(msg.id, set()).update(fresh.keys)
                found.append(fresh)
        return found

    def unrecorded(self, context: Sequence[Msg], agent_name: str) -> list[Msg]:
        """The messages that may hold something new; nothing is looked at inside of them."""
        known = self._recorded()
        return [
            msg
            for msg in context[self._settled.length(context, known) :]
            if ((keys := known.get(msg.id)) is None or (keys and _grows(msg, agent_name)))
            and not is_recalled(msg)
        ]

    def mark(self, recorded: Iterable[Fresh]) -> None:
        """Remember what was recorded, and forget what can never come again."""
        before, context = self._recorded(), self._state.context
        known = dict(before)
        for fresh in recorded:
            earlier = known.get(fresh.source_id, [])
            known[fresh.source_id] = list(dict.fromkeys([*earlier, *fresh.keys]))
        for id_ in [id_ for id_, keys in known.items() if keys and id_ != self._growing]:
            known[id_] = []
        if len(known) > len(context):
            alive = {msg.id for msg in context} | {self._state.reply_id}
            known = {id_: keys for id_, keys in known.items() if id_ in alive}
        self._state.middle_context[self._key] = {"recorded": known}
        self._settled.go_on(self._settled.length(context, before), context, known)

    def _recorded(self) -> Mapping[str, list[str]]:
        entry = self._state.middle_context.get(self._key)
        recorded = entry.get("recorded") if isinstance(entry, dict) else None
        return recorded if isinstance(recorded, dict) else {}


def _grows(msg: Msg, agent_name: str) -> bool:
    """Whether it is a message of the agent itself; all others are finished when they arrive."""
    return msg.role == "assistant" and msg.name == agent_name


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
