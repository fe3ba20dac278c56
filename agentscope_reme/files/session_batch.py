"""Resubmission: which messages of a call are new, known or edited."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.files.growing_file import Extension
from agentscope_reme.files.log_state import KnownLine, ParsedLog
from agentscope_reme.files.session_lines import (
    Form,
    has_time,
    identity_key,
    keys_of,
    message_line,
    says_no_more,
)
from agentscope_reme.messages import Message

_ID_DIGITS: Final = 32
_SHORTEST_REPEAT: Final = 2  # a single repeated turn ("ok") may well have been said twice


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did.

    Attributes:
        appended: messages that are new.
        duplicates: messages that were known.
        superseded: messages that were known and say something else now.
        ids: the id of every message of the call, in its order.
        written: the file around the write; ``None`` when nothing, or not by us alone, was written.
    """

    appended: int
    duplicates: int
    superseded: int
    ids: tuple[str, ...]
    written: Extension | None = None


class Batch:
    """Decides, message by message, what one append has to write.

    Args:
        known: what the log says already.
        session_id: whose log it is.
        form: what of a message is kept.

    Attributes:
        lines: what to append.
    """

    def __init__(self, known: ParsedLog, session_id: str, form: Form) -> None:
        self._session_id = session_id
        self._form = form
        self._known = known
        self._said: dict[str, bytes] = {}
        self._alike: dict[str, list[str]] = {}
        self._met: Counter[str] = Counter()
        self.lines: list[KnownLine] = []
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
                self._add_named(message, message.id, line, *keys_of(fields))

    def outcome(self, written: Extension | None = None) -> Appended:
        """What was decided, counted."""
        appended = len(self.lines) - self._superseded
        duplicates = len(self._ids) - len(self.lines)
        return Appended(appended, duplicates, self._superseded, tuple(self._ids), written)

    def _add_named(
        self, message: Message, message_id: str, line: bytes, identity: str, said: bytes
    ) -> None:
        self._ids.append(message_id)
        if self._known.has_forgotten(message_id):
            return
        before = self._said.get(message_id) or self._said_before(message_id)
        if before is not None and says_no_more(before, said):
            return
        if before is not None:
            self._superseded += 1
            line = message_line(message, supersedes=True)
        self._said[message_id] = said
        self.lines.append(KnownLine(line, (message_id, identity, said)))

    def _add_unnamed(
        self, position: int, message: Message, fields: Mapping[str, Any], *, repeated: bool
    ) -> None:
        identity, said = keys_of(fields)
        known = self._known_id(position, identity, fields, repeated=repeated)
        if known is not None:
            self._ids.append(known)
            return
        alike = self._alike_so_far(identity)
        made_up = _made_up_id(self._session_id, identity, len(alike))
        alike.append(made_up)
        named = message.model_copy(update={"id": made_up})
        self._add_named(named, made_up, message_line(named), identity, said)

    def _known_id(
        self, position: int, identity: str, fields: Mapping[str, Any], *, repeated: bool
    ) -> str | None:
        """The id under which this message is already logged, if it is."""
        alike = self._alike_so_far(identity)
        ordinal = self._met[identity]
        self._met[identity] += 1
        if has_time(fields) or repeated:
            return alike[ordinal] if ordinal < len(alike) else None
        order = self._known.order
        if position < len(order) and self._is_alike(*order[position], identity):
            return order[position][1]
        return None

    def _is_alike(self, known: str, name: str, identity: str) -> bool:
        """Whether a logged message, or one that was forgotten, is identified by `identity`."""
        if known:
            return known == identity
        forgotten = self._known.forgotten.get(name)
        return forgotten is not None and forgotten.is_said(identity)

    def _said_before(self, message_id: str) -> bytes | None:
        row = self._known.rows.get(message_id)
        return None if row is None else row.said

    def _alike_so_far(self, identity: str) -> list[str]:
        """Ids of this identity, in the log and in this batch; a list of this batch's own."""
        if identity not in self._alike:
            gone = self._known.forgotten.keys_of(identity)
            self._alike[identity] = [*gone, *self._known.alike.get(identity, ())]
        return self._alike[identity]

    def _repeats_the_end(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the whole call is what the log ends with: a retry of an increment."""
        if len(rows) < _SHORTEST_REPEAT or any(row.get("id") for row in rows):
            return False
        end = self._known.order[-len(rows) :]
        return len(end) == len(rows) and all(
            self._is_alike(*known, identity_key(row)) for known, row in zip(end, rows, strict=True)
        )


def _made_up_id(session_id: str, identity: str, ordinal: int) -> str:
    """The same message of the same session gets the same id, whoever logs it."""
    said = "\0".join((session_id, identity, str(ordinal)))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
