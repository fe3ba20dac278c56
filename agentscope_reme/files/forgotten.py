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

    def is_said(self, identity: str) -> bool:
        """Whether this message is identified by that key of role, time and text."""
        return self.said != "" and salted(self.salt, identity) == self.said


class ForgottenLines:
    """What was forgotten in one log, by what a submitted message is known by.

    The lines of one forgetting share a salt, so a look costs a hash for each forgetting and not
    for each line.
    """

    def __init__(self, lines: Iterable[Forgotten] = ()) -> None:
        self._by_key: dict[str, Forgotten] = {}
        self._keys_of_said: dict[str, dict[str, None]] = {}
        self._salts: dict[str, None] = {}
        for line in lines:
            self.add(line)

    def add(self, line: Forgotten) -> None:
        """Take in one more line."""
        self._by_key[line.key] = line
        self._salts[line.salt] = None
        if line.said:
            self._keys_of_said.setdefault(line.said, {})[line.key] = None

    def get(self, key: str) -> Forgotten | None:
        """The line that says this key."""
        return self._by_key.get(key)

    def has_id(self, message_id: str) -> bool:
        """Whether a message with this id, or the key that stands for it, was forgotten."""
        known = self._by_key
        return message_id in known or any(salted(s, message_id) in known for s in self._salts)

    def keys_of(self, identity: str) -> list[str]:
        """The keys of messages with this role, time and text, in order of arrival."""
        found = (self._keys_of_said.get(salted(salt, identity), ()) for salt in self._salts)
        return [key for keys in found for key in keys]


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
