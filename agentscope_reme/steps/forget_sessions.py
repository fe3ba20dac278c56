"""The conversations of a workspace, line by line, and what stays of a log when turns go."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentscope_reme.errors import NotFound
from agentscope_reme.files.archived import whole_id
from agentscope_reme.files.forgotten import Forgotten, new_salt, salted
from agentscope_reme.files.session_lines import Distilled, Row, identity_key, parse_line
from agentscope_reme.files.session_names import (
    ARCHIVE_FOLDER,
    DIALOG_FOLDER,
    session_file,
    session_id_of,
)
from agentscope_reme.files.traces import Traces
from agentscope_reme.files.transcripts import TRANSCRIPT_FOLDER, logged_as
from agentscope_reme.schema import content_hash
from agentscope_reme.vault.erasure import Rewrite
from agentscope_reme.vault.vault import Vault

_LAYERS: Final[Mapping[str, str]] = {
    DIALOG_FOLDER: "turn",
    ARCHIVE_FOLDER: "archive",
    TRANSCRIPT_FOLDER: "transcript",
}
_NOT_SAID: Final = frozenset(
    {"id", "uuid", "parentUuid", "sessionId", "session_id", "timestamp", "created_at", "type"}
    | {"role", "sha256", "media_type", "version", "requestId", "cwd", "supersedes", "omitted"}
    | {"created_at_text", "path", "size", "model", "data", "signature"}
)
_RESULT: Final = re.compile(r"\btool_result/[0-9a-f]{32}\.[a-z0-9]{1,10}")
_FORGOTTEN_ANSWER: Final = "What this request recorded was forgotten."


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a conversation.

    Attributes:
        number: 1-based.
        raw: its bytes without the newline.
        id: of the message; empty for lines that hold none.
        text: what it says.
        identity: what identifies the message without its id; empty in transcripts.
        cursor: what a cursor line says.
        attachments: paths of files it speaks of.
    """

    number: int
    raw: bytes
    id: str = ""
    text: str = ""
    identity: str = ""
    cursor: Distilled | None = None
    attachments: tuple[str, ...] = ()
    is_control: bool = False


@dataclass(slots=True)
class Conversation:
    """One file of a conversation: the log, the archive or the transcript."""

    path: str
    session_id: str
    layer: str
    data: bytes
    lines: list[LogLine]
    gone: set[int] = field(default_factory=set)

    @property
    def messages(self) -> list[LogLine]:
        """The lines that hold messages."""
        return [line for line in self.lines if line.id]

    @property
    def is_emptied(self) -> bool:
        """Whether every message of it goes."""
        messages = self.messages
        return bool(messages) and all(line.number in self.gone for line in messages)

    @property
    def gone_ids(self) -> set[str]:
        """The ids of the messages that go."""
        return {line.id for line in self.lines if line.id and line.number in self.gone}

    def forget_ids(self, ids: set[str]) -> bool:
        """Let the messages with these ids go; tells whether that is news."""
        if self.layer == "archive":  # which keeps a message in the parts in which it left
            wholes = set(map(whole_id, ids))
            found = {n.number for n in self.messages if whole_id(n.id) in wholes} - self.gone
        else:
            found = {line.number for line in self.messages if line.id in ids} - self.gone
        self.gone |= found
        return bool(found)

    def rewritten(self, traces: Traces, gone_cards: set[str]) -> Rewrite | None:
        """The file without what goes; ``None`` when it stays as it is."""
        salt, known = new_salt(), set[str]()
        gone_ids = self.gone_ids
        written: list[bytes] = []
        for line in self.lines:
            again = line.id in known
            if line.id:
                known.add(line.id)
            if line.number in self.gone:
                written.append(_tombstone(line, salt, again=again).dump())
            elif line.cursor is not None:
                through = line.cursor.through
                key = salted(salt, through) if through in gone_ids else through
                written.append(self._cursor(line, line.cursor, key, traces, gone_cards))
            else:
                written.append(line.raw)
        data = b"\n".join(written)
        if data == self.data:
            return None
        return Rewrite(data, content_hash(self.data), len(self.data), grows=True)

    def ranges(self) -> Iterator[tuple[Distilled, list[LogLine]]]:
        """Every cursor with the messages it was the first to pass."""
        messages, at = self.messages, 0
        for line in self.lines:
            cursor = line.cursor
            if cursor is None:
                continue
            end = cursor.line or self._line_of(cursor.through)
            first, last = (bisect_right(messages, n, key=_number_of) for n in (at, end))
            yield cursor, messages[first:last]
            at = max(at, end)

    def _line_of(self, message_id: str) -> int:
        return max((line.number for line in self.lines if line.id == message_id), default=0)

    def _cursor(
        self, line: LogLine, cursor: Distilled, key: str, traces: Traces, gone_cards: set[str]
    ) -> bytes:
        """The cursor where it was, without the names of what goes."""
        told = json.dumps(cursor.result, ensure_ascii=False, default=str) if cursor.result else ""
        card = cursor.card
        clean = replace(
            cursor,
            through=key,
            line=cursor.line or self._line_of(cursor.through) or None,
            card=None if card and (card in gone_cards or traces.in_text(card)) else card,
            result=None if not told else cursor.result,
        )
        if told and (clean.card != card or traces.in_text(told)):
            clean = replace(clean, result={"success": True, "answer": _FORGOTTEN_ANSWER})
        if clean == replace(cursor, line=clean.line):
            return line.raw
        return clean.dump()


class Conversations:
    """Loads the files of conversations, each once.

    Args:
        vault: where they are read.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._files: dict[str, Conversation | None] = {}

    def is_conversation(self, path: str) -> bool:
        """Whether a path is a log, an archive or a transcript."""
        return _layer(path) is not None and path.endswith(".jsonl")

    def at(self, path: str) -> Conversation | None:
        """The conversation file at a path; ``None`` when there is none."""
        if path not in self._files:
            self._files[path] = self._load(path)
        return self._files[path]

    def of(self, session_id: str) -> list[Conversation]:
        """The log of a session, and its archives."""
        workspace = self._vault.workspace
        paths = [session_file(workspace, folder, session_id) for folder in _LAYERS]
        prefix = logged_as("")
        if session_id.startswith(prefix):
            bare = session_id.removeprefix(prefix)
            paths[-1] = session_file(workspace, TRANSCRIPT_FOLDER, bare)
        return [found for path in paths if (found := self.at(path)) is not None]

    def log_of(self, session_id: str) -> Conversation | None:
        """The log of a session."""
        return self.at(session_file(self._vault.workspace, DIALOG_FOLDER, session_id))

    def add(self, talk: Conversation) -> None:
        """Take in a conversation that stands in no session."""
        self._files[talk.path] = talk

    @property
    def loaded(self) -> list[Conversation]:
        """Everything that was looked at."""
        return [one for one in self._files.values() if one is not None]

    @property
    def touched(self) -> list[Conversation]:
        """The files that lose lines."""
        return [one for one in self.loaded if one.gone]

    def _load(self, path: str) -> Conversation | None:
        layer = _layer(path)
        if layer is None:
            return None
        try:
            data = self._vault.read(path)
        except NotFound:
            return None
        session_id = session_id_of(self._vault.workspace.root / path)
        if session_id is None:
            return None
        if layer == "transcript":
            session_id = logged_as(session_id)
        read = _transcript_line if layer == "transcript" else _log_line
        lines = [read(number, raw) for number, raw in enumerate(data.split(b"\n"), 1)]
        return Conversation(path, session_id, layer, data, lines)


def _number_of(line: LogLine) -> int:
    return line.number


def _layer(path: str) -> str | None:
    return _LAYERS.get(path.rpartition("/")[0])


def _log_line(number: int, raw: bytes) -> LogLine:
    try:
        line = parse_line(number, raw) if raw.strip() else None
    except ValueError:
        return LogLine(number, raw, text=raw.decode("utf-8", "replace"))
    match line:
        case Row(id=name, fields=fields):
            return LogLine(
                number,
                raw,
                name,
                words_said(fields),
                identity_key(fields),
                attachments=tuple(_attachments(fields)),
            )
        case Distilled():
            return LogLine(number, raw, cursor=line, is_control=True)
    return LogLine(number, raw, is_control=True)


def _transcript_line(number: int, raw: bytes) -> LogLine:
    with suppress(ValueError, RecursionError):
        fields = json.loads(raw)
        if isinstance(fields, dict) and isinstance(fields.get("uuid"), str):
            return LogLine(number, raw, fields["uuid"], words_said(fields))
        if isinstance(fields, dict):
            return LogLine(number, raw, text=words_said(fields), is_control=True)
    return LogLine(number, raw, text=raw.decode("utf-8", "replace"))


def words_said(fields: Mapping[str, Any]) -> str:
    """Every text of a line that a person or a program said."""
    found: list[str] = []
    waiting: list[Any] = [{key: value for key, value in fields.items() if key != "name"}]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += reversed([value for key, value in one.items() if key not in _NOT_SAID])
        elif isinstance(one, list):
            waiting += reversed(one)
    return "\n".join(found)


def _attachments(fields: Mapping[str, Any]) -> Iterator[str]:
    blocks = fields.get("blocks")
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and isinstance(block.get("path"), str):
            yield block["path"]
    yield from _RESULT.findall(json.dumps(blocks, ensure_ascii=False, default=str))


def _tombstone(line: LogLine, salt: str, *, again: bool) -> Forgotten:
    name = line.id or new_salt()  # a line nobody could read is known by nothing
    said = salted(salt, line.identity) if line.identity else ""
    return Forgotten(salt, salted(salt, name), said, again)
