"""The lines of a session log: what is written for a message, and what a line says when read.

One JSON object per line, split on ``\\n`` only, so that other separators inside a text stay. A
line with a ``type`` is a control line (the header, a distilled cursor); any other is a message.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from agentscope_reme.files.forgotten import Forgotten, parse_forgotten
from agentscope_reme.messages import Block, DataBlock, Message, ToolResultBlock

_PLACE_OF: Final = {"data": "path", "tool_result": "omitted"}
"""The key of a block that says where its payload is."""

_KEY_BYTES: Final = 16
_PLACES: Final = (b"\0", b"\1")
_sorting: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: which session this is, whatever the file is called."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Distilled:
    """A cursor: everything up to the message `through` has been distilled.

    Attributes:
        through: the id of the last message that was read.
        card: the path of the card it went into; ``None`` when nothing was worth one.
        request_id: the caller's own name for the request, if it gave one.
        fingerprint: what the request asked, hashed, so that a repeat is recognised.
        at: when, as ISO 8601 text.
        line: the line on which `through` stood, when that was known.
        result: what the request was answered, so that a repeat gets the same.
    """

    through: str
    card: str | None = None
    request_id: str | None = None
    fingerprint: str | None = None
    at: str = ""
    line: int | None = None
    result: Mapping[str, Any] | None = None

    def dump(self) -> bytes:
        """The control line, without its newline."""
        row: dict[str, Any] = {"type": "distilled", "through": self.through, "card": self.card}
        for key in ("request_id", "fingerprint", "at", "line", "result"):
            if getattr(self, key):
                row[key] = getattr(self, key)
        return _dumped(row)


@dataclass(frozen=True, slots=True)
class Row:
    """One message line as JSON, not yet validated: enough to recognise a resubmission."""

    line: int
    id: str
    fields: Mapping[str, Any]


Line = Header | Distilled | Forgotten | Row | None
"""``None`` is a control line of a kind this version does not know."""


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message, the 1-based line it stands on, and its id (given or made up when logged)."""

    line: int
    message: Message
    id: str


def header_line(session_id: str) -> bytes:
    """The first line of a log, without its newline."""
    return _dumped({"type": "session", "session_id": session_id})


def parse_line(number: int, raw: bytes) -> Line:
    """What a line says.

    Raises:
        ValueError: it is torn, foreign or damaged; it stays in the file byte for byte.
    """
    fields = json.loads(raw.decode("utf-8"))
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    match fields.get("type"):
        case None if isinstance(fields.get("role"), str):
            message_id = fields.get("id")
            return Row(number, f"line-{number}" if message_id is None else str(message_id), fields)
        case "session" if isinstance(fields.get("session_id"), str):
            return Header(fields["session_id"])
        case "distilled" if isinstance(fields.get("through"), str):
            known = ("through", "card", "request_id", "fingerprint", "at", "line", "result")
            return Distilled(**{key: fields[key] for key in known if key in fields})
        case "forgotten":
            return parse_forgotten(fields)
        case str():
            return None
    raise ValueError("neither a message nor a control line")


def message_of(row: Row) -> Message:
    """The message of a line.

    Raises:
        ValueError: it is no message of ours.
    """
    fields = {key: value for key, value in row.fields.items() if key != "supersedes"}
    try:
        # JSON mode, so that lists become tuples and texts become times
        return Message.model_validate_json(json.dumps(fields)).model_copy(update={"id": row.id})
    except ValidationError as error:
        raise ValueError(str(error)) from error


def message_line(message: Message, *, supersedes: bool = False) -> bytes:
    """The line of a message that has its id, without the newline."""
    text = message.model_dump_json(exclude_none=True)
    if supersedes:
        text = json.dumps({**json.loads(text), "supersedes": message.id}, ensure_ascii=False)
    return text.encode("utf-8")


def keys_of(fields: Mapping[str, Any]) -> tuple[str, bytes]:
    """The identity of a line and its content key; its blocks are looked at once for both.

    The identity is that of a message without an id: role, time and content, hashed.

    The content key is equal for two lines that say the same: role, name and content. It tells an
    edited message from its earlier version; its time alone does not. Where attachments were saved
    does not count as said; the last byte tells whether that is known.
    """
    blocks, saved = _without_places(fields.get("blocks"))
    content = _sorting.encode(blocks)
    role = fields.get("role")
    moment = fields.get("created_at") or fields.get("created_at_text")
    identity = hashlib.sha256(_as_list(role, moment, content)).hexdigest()
    said = hashlib.blake2b(_as_list(role, fields.get("name"), content), digest_size=_KEY_BYTES)
    return identity, said.digest() + _PLACES[saved]


def identity_key(fields: Mapping[str, Any]) -> str:
    """What identifies a message without an id; see `keys_of`."""
    return keys_of(fields)[0]


def says_no_more(before: bytes, now: bytes) -> bool:
    """Whether a line with the content key `now` adds nothing to the one with the key `before`.

    The same words add something when they come with the places of attachments for the first time.
    """
    return before[:-1] == now[:-1] and before[-1:] >= now[-1:]


def _without_places(blocks: Any) -> tuple[Any, bool]:
    """The blocks without the places of payloads, and whether attachments were saved.

    Where a tool's output went is no news about what was said: it is left out of a log either way,
    and moves to a file when a window runs full.
    """
    if not isinstance(blocks, list):
        return blocks, False
    bare = [_without(block, _PLACE_OF.get(str(block.get("type")))) for block in map(_block, blocks)]
    return bare, any(map(_is_saved, blocks))


def _block(block: Any) -> dict[str, Any]:
    return block if isinstance(block, dict) else {"type": None, "is": block}


def _without(block: dict[str, Any], key: str | None) -> dict[str, Any]:
    return block if key not in block else {k: v for k, v in block.items() if k != key}


def _is_saved(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "data" and "path" in block


def _as_list(first: Any, second: Any, content: str) -> bytes:
    """The JSON list of three values, of which the last is encoded already."""
    text = f"[{_sorting.encode(first)}, {_sorting.encode(second)}, {content}]"
    return text.encode("utf-8", "surrogatepass")


def has_time(fields: Mapping[str, Any]) -> bool:
    """Whether the line says when it was said, in whatever spelling."""
    return bool(fields.get("created_at") or fields.get("created_at_text"))


def as_logged(message: Message) -> Message:
    """The message as a session log keeps it: payloads stand as references."""
    if not any(isinstance(block, DataBlock | ToolResultBlock) for block in message.blocks):
        return message
    return message.model_copy(update={"blocks": tuple(map(_without_payload, message.blocks))})


def as_archived(message: Message) -> Message:
    """The message as an archive keeps it: whole."""
    return message


Form = Callable[[Message], Message]
"""`as_logged` or `as_archived`."""


def _without_payload(block: Block) -> Block:
    match block:
        case ToolResultBlock(output=output) if output:
            payload = json.dumps([b.model_dump(exclude_none=True) for b in output]).encode()
            digest = hashlib.sha256(payload).hexdigest()
            note = block.omitted or f"sha256={digest} size={len(payload)}"
            return block.model_copy(update={"output": (), "omitted": note})
        case DataBlock(data=str() as data):
            return block.model_copy(update={"data": None, **_reference(data)})
        case DataBlock(url=str() as url) if url.startswith("data:"):
            return block.model_copy(update={"url": None, **_reference(url.partition(",")[2])})
    return block


def _reference(encoded: str) -> dict[str, Any]:
    try:
        payload = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        payload = encoded.encode()  # not Base64: described as it stands
    return {"sha256": hashlib.sha256(payload).hexdigest(), "size": len(payload)}


def _dumped(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
