"""What stands in a log where a message was forgotten: enough to know it again, and no more.

The line keeps its place, so cursors and links to other lines stay right. It holds salted hashes of
the message's id and of what identified it: who submits the same message again is recognised, who
reads the log learns nothing.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

KIND: Final = "forgotten"
"""The ``type`` of such a control line."""

_SALT_BYTES: Final = 16
_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Forgotten:
    """One forgotten line.

    Attributes:
        salt: shared by the lines of one forgetting.
        key: the id of the message, hashed.
        said: role, time and text of the message, hashed; for messages submitted without an id.
        again: the line had replaced an earlier one of the same message.
    """

    salt: str
    key: str
    said: str = ""
    again: bool = False

    def dump(self) -> bytes:
        """The control line, without its newline."""
        row: dict[str, Any] = {"type": KIND, "salt": self.salt, "key": self.key}
        if self.said:
            row["said"] = self.said
        if self.again:
            row["again"] = True
        return json.dumps(row).encode()

    def is_id(self, message_id: str) -> bool:
        """Whether this was the message with that id."""
        return salted(self.salt, message_id) == self.key

    def is_said(self, identity: str) -> bool:
        """Whether this message is identified by that key of role, time and text."""
        return self.said != "" and salted(self.salt, identity) == self.said


def parse_forgotten(fields: Mapping[str, Any]) -> Forgotten | None:
    """The tombstone a control line holds; ``None`` when it is none of ours."""
    salt, key, said = fields.get("salt"), fields.get("key"), fields.get("said", "")
    if not (isinstance(salt, str) and isinstance(key, str) and isinstance(said, str)):
        return None
    return Forgotten(salt, key, said, bool(fields.get("again")))


def forgotten_in(lines: Iterable[bytes]) -> list[Forgotten]:
    """The tombstones among the lines of a file; everything else is passed over."""
    found: list[Forgotten] = []
    for line in lines:
        if b'"forgotten"' not in line:
            continue
        with suppress(ValueError):
            fields = json.loads(line)
            if isinstance(fields, dict) and fields.get("type") == KIND:
                one = parse_forgotten(fields)
                found += [one] if one else []
    return found


def new_salt() -> str:
    """A salt nobody can guess."""
    return secrets.token_hex(_SALT_BYTES)


def salted(salt: str, text: str) -> str:
    """A hash of a text that only who knows the text and the salt can make."""
    data = f"{salt}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
