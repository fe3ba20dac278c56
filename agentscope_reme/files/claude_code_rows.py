"""Rows of a Claude Code transcript, and what was said in them.

Claude Code appends one JSON object per line. Turns have ``type`` ``user`` or ``assistant``, a
``uuid``, a ``timestamp`` and a ``message`` in the form of Anthropic's Messages API; each content
block of an answer may stand on a row of its own. Other rows are bookkeeping. Beside the person's
words a user row may hold elements the program put in, such as ``<system-reminder>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.messages import Message

_NOT_SAID: Final = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")
"""Marks of rows nobody said to the other: subagents, notes of the program, its own summaries."""

_MADE_UP_MODEL: Final = "<synthetic>"
_NO_TEXT: Final = frozenset({"", "(no content)"})
_FEWEST_WORDS: Final = 16
"""Characters beside injected elements below which the words are taken for their leftovers."""

_INJECTED: Final = (
    "bash-input",
    "bash-stderr",
    "bash-stdout",
    "command-contents",
    "command-message",
    "command-name",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "system-reminder",
    "task-notification",
    "user-prompt-submit-hook",
)
_OPENING: Final = re.compile(rf"<({'|'.join(_INJECTED)})(?:\s[^<>]*)?>")
_ARGUMENTS: Final = re.compile(r"</?command-args>")
"""What follows a slash command was typed by the person: only the element around it is dropped."""


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """One row that has a ``uuid``: its bytes without the newline, and what they say."""

    uuid: str
    raw: bytes
    fields: Mapping[str, Any]


def rows_of(lines: Iterable[bytes]) -> Iterator[TranscriptRow]:
    """The rows with a ``uuid``; bookkeeping and lines that are torn or foreign are passed over."""
    for line in lines:
        raw = line.rstrip(b"\n")
        fields = _object(raw) if b'"uuid"' in raw else {}
        uuid = fields.get("uuid")
        if isinstance(uuid, str) and uuid:
            yield TranscriptRow(uuid, raw, fields)


class RowReader:
    """Reads the rows of one session, oldest first; remembers the names of the tools called."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def said_in(self, row: TranscriptRow) -> Message | None:
        """The turn of a row, dated by its ``timestamp``; ``None`` when nobody said anything.

        Text, images and tool calls are kept, thinking is not. Of injected elements nothing is kept;
        with fewer than 16 other characters the words beside them are dropped too.

        Raises:
            BadMessage: the row is a turn in a form nobody knows here.
        """
        message = row.fields.get("message")
        speaker = row.fields.get("type")
        if speaker not in ("user", "assistant") or not isinstance(message, Mapping):
            return None
        if any(row.fields.get(mark) for mark in _NOT_SAID):
            return None
        if message.get("model") == _MADE_UP_MODEL:
            return None
        content = message.get("content")
        parts = [content] if isinstance(content, str) else content
        if isinstance(parts, list):
            parts = self._parts(parts, by_person=speaker == "user")
        if parts is None or parts == []:
            return None
        return Message.from_dict(
            {
                "id": row.uuid,
                "role": speaker,
                "content": parts,
                "timestamp": row.fields.get("timestamp"),
            }
        )

    def _parts(self, parts: list[Any], *, by_person: bool) -> list[Any]:
        texts = [text for part in parts if (text := _text_of(part)) is not None]
        left_out = by_person and _is_leftover(texts)
        kept: list[Any] = []
        for part in parts:
            text = _text_of(part)
            if text is None:
                kept.extend(self._other(part))
                continue
            said = without_injected(text)[0] if by_person else text
            if not left_out and said.strip() not in _NO_TEXT:
                kept.append({"type": "text", "text": said})
        return kept

    def _other(self, part: Any) -> list[Any]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        match kind:
            case "thinking" | "redacted_thinking":
                return []
            case "document":
                return [{**part, "type": "data"}]
            case str() if kind.endswith("tool_use"):
                self._tools[str(part.get("id"))] = str(part.get("name") or "")
                return [{**part, "type": "tool_use"}]
            case str() if kind.endswith("tool_result"):
                called = str(part.get("tool_use_id") or "")
                name = self._tools.get(called, "")
                output = part.get("content")
                output = [output] if isinstance(output, Mapping) else output
                return [{"type": "tool_result", "id": called, "name": name, "output": output}]
        return [part]


def without_injected(text: str) -> tuple[str, bool]:
    """The words beside injected elements, and whether there was such an element.

    Only complete elements are taken out: who merely speaks of a tag is quoted in full.
    """
    words, arguments = _ARGUMENTS.subn("", text)
    kept: list[str] = []
    unclosed: set[str] = set()
    at = search_from = 0
    while opening := _OPENING.search(words, search_from):
        name = opening[1]
        closing = f"</{name}>"
        end = -1 if name in unclosed else words.find(closing, opening.end())
        if end < 0:
            unclosed.add(name)
            search_from = opening.end()
            continue
        kept.append(words[at : opening.start()])
        at = search_from = end + len(closing)
    if not at and not arguments:
        return text, False
    return "".join((*kept, words[at:])).strip(), True


def _is_leftover(texts: list[str]) -> bool:
    """Whether a turn is injected elements and hardly anything else."""
    cleaned = [without_injected(text) for text in texts]
    others = sum(len(words.strip()) for words, _ in cleaned)
    return any(found for _, found in cleaned) and others < _FEWEST_WORDS


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") == "text":
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
