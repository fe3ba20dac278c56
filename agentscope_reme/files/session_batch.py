"""Resubmission: which messages of a call are new, known or edited."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.files.session_lines import (
    Form,
    ParsedLog,
    content_key,
    has_time,
    identity_key,
    message_line,
)
from agentscope_reme.messages import Message

_ID_DIGITS: Final = 32
_SHORTEST_REPEAT: Final = 2  # a single repeated turn ("ok") may well have been said twice


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did; ``ids`` holds the id of every message of the call, in its order."""

    appended: int
    duplicates: int
    superseded: int
    ids: tuple[str, ...]


class Batch:
    """Decides, message by message, what one append has to write.

    Args:
        known: what the log says already.
        session_id: whose log it is.
        form: what of a message is kept.

    Attributes:
        lines: what to append, without newlines.
    """

    def __init__(self, known: ParsedLog, session_id: str, form: Form) -> None:
        self._session_id = session_id
        self._form = form
        self._said = {row.id: content_key(row.fields) for row in known.rows.values()}
        self._order = known.order
        self._alike: dict[str, list[str]] = {}
        for identity, message_id in known.order:
            self._alike.setdefault(identity, []).append(message_id)
        self._met: Counter[str] = Counter()
        self.lines: list[bytes] = []
        self._ids: list[str] = []
        self._superseded = 0

    def add_all(self, messages: Sequence[Message]) -> None:
        """Decide about the messages of one call."""
        kept = [self._form(message) for message in messages]
        written = [message_line(message) for message in kept]
        rows = [json.loads(line) for line in written]
        repeated = self._repeats_the_end(rows)
        for position, (message, line, fields) in enumerate(zip(kept, written, rows, strict=True)):
            if message.id is None:
                self._add_unnamed(position, message, fields, repeated=repeated)
            else:
                self._add_named(message, message.id, line, content_key(fields))

    def outcome(self) -> Appended:
        """What was decided, counted."""
        appended = len(self.lines) - self._superseded
        duplicates = len(self._ids) - len(self.lines)
        return Appended(appended, duplicates, self._superseded, tuple(self._ids))

    def _add_named(self, message: Message, message_id: str, line: bytes, said: str) -> None:
        self._ids.append(message_id)
        before = self._said.get(message_id)
        if before == said:
            return
        if before is not None:
            self._superseded += 1
            line = message_line(message, supersedes=True)
        self._said[message_id] = said
        self.lines.append(line)

    def _add_unnamed(
        self, position: int, message: Message, fields: Mapping[str, Any], *, repeated: bool
    ) -> None:
        identity = identity_key(fields)
        known = self._known_id(position, identity, fields, repeated=repeated)
        if known is not None:
            self._ids.append(known)
            return
        alike = self._alike.setdefault(identity, [])
        made_up = _made_up_id(self._session_id, identity, len(alike))
        alike.append(made_up)
        named = message.model_copy(update={"id": made_up})
        self._add_named(named, made_up, message_line(named), content_key(fields))

    def _known_id(
        self, position: int, identity: str, fields: Mapping[str, Any], *, repeated: bool
    ) -> str | None:
        """The id under which this message is already logged, if it is."""
        alike = self._alike.get(identity, [])
        ordinal = self._met[identity]
        self._met[identity] += 1
        if has_time(fields) or repeated:
            return alike[ordinal] if ordinal < len(alike) else None
        if position < len(self._order) and self._order[position][0] == identity:
            return self._order[position][1]
        return None

    def _repeats_the_end(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the whole call is what the log ends with: a retry of an increment."""
        if len(rows) < _SHORTEST_REPEAT or any(row.get("id") for row in rows):
            return False
        end = [identity for identity, _ in self._order[-len(rows) :]]
        return end == [identity_key(row) for row in rows]


def _made_up_id(session_id: str, identity: str, ordinal: int) -> str:
    """The same message of the same session gets the same id, whoever logs it."""
    said = "\0".join((session_id, identity, str(ordinal)))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
