"""Messages that come in parts: a reply that grows, and one that leaves a window piece by piece."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_reme.files.archived import whole_id
from agentscope_reme.messages import Block, Message

_MOST_MESSAGES: Final = 512
"""So many messages are remembered; only those of replies under way come in parts."""


class GrowingMessages:
    """What of messages was kept, so that the rest of one is kept without its beginning.

    A conversation is kept as it comes and is never corrected. One message may come several times,
    longer each time, and a part of it once more when it leaves the agent's window.
    """

    def __init__(self) -> None:
        self._kept: Final[dict[tuple[str, str], Counter[str]]] = {}

    def unkept(self, session_id: str, messages: Sequence[Message]) -> list[Message]:
        """The messages without the blocks that were kept of them; those without an id as they are.

        Args:
            session_id: the conversation; the ids of another one mean other messages.
            messages: as they came, parts under the id that `whole_id` understands.
        """
        rests = (self._rest(session_id, message) for message in messages)
        return [rest for rest in rests if rest is not None]

    def mark(self, session_id: str, messages: Iterable[Message]) -> None:
        """Remember that these were kept, as they came."""
        for message in messages:
            if message.id:
                whole = session_id, whole_id(message.id)
                kept = self._kept.pop(whole, Counter())
                self._kept[whole] = kept | Counter(map(_name_of, message.blocks))
        while len(self._kept) > _MOST_MESSAGES:
            del self._kept[next(iter(self._kept))]

    def _rest(self, session_id: str, message: Message) -> Message | None:
        kept = self._kept.get((session_id, whole_id(message.id))) if message.id else None
        if kept is None:
            return message
        known, left = kept.copy(), list[Block]()
        for block in message.blocks:
            name = _name_of(block)
            if known[name]:
                known[name] -= 1
            else:
                left.append(block)
        return message.model_copy(update={"blocks": tuple(left)}) if left else None


def _name_of(block: Block) -> str:
    return hashlib.sha256(block.model_dump_json().encode()).hexdigest()
