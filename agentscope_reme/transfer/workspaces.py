"""Workspaces in the memory-as-file layout, and CoPaw's: notes as they are, logs as turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from pydantic import ValidationError

from agentscope_reme.errors import BadMessage
from agentscope_reme.messages import Message
from agentscope_reme.transfer.found import Conversation, Format, Found, Note
from agentscope_reme.transfer.sources import Source, is_vault
from agentscope_reme.workspace import is_markdown

_NOTES: Final = ("daily/", "digest/", "memory/", "resource/")
_LIKELY: Final = ("daily/", "memory/")
"""Folders many vaults have as well."""
_LOGS: Final = "session/dialog/"
_LONG_TERM: Final = "MEMORY.md"
_SURE: Final = (_LOGS, "digest/")


def find(source: Source, into: str, only_user: str) -> Found:
    """Notes and resources byte for byte; of session logs every turn that can be read.

    A session whose card came along is not distilled again.

    Raises:
        BadInput: a file cannot be read.
    """
    root, names = _names_below_the_top(source)
    notes = [name for name in names if name == _LONG_TERM or name.startswith(_NOTES)]
    logs = [name for name in names if name.startswith(_LOGS) and name.endswith(".jsonl")]
    found = Found(conversation_count=len(logs), note_count=len(notes))
    found.notes = (
        Note(name, data)
        for name in notes
        if (data := found.bytes_of(source, root + name)) is not None
    )
    left = [n for n in names if "/" in n and not n.startswith((*_NOTES, _LOGS))]
    if left:
        found.remarks.append(f"{len(left)} file(s) outside the layout were left out.")
    found.conversations = _conversations(source, root, logs, _cards(notes), found)
    return found


def _cards(notes: list[str]) -> dict[str, str]:
    """The newest card of each session, by the name its file shares with the session's."""
    cards = (name for name in sorted(notes) if name.startswith("daily/") and is_markdown(name))
    return {PurePosixPath(name).stem: name for name in cards}


def _conversations(
    source: Source, root: str, logs: list[str], cards: Mapping[str, str], found: Found
) -> Iterator[Conversation]:
    unreadable = 0
    for name in logs:
        data = found.bytes_of(source, root + name) or b""
        lines = data.decode("utf-8", "replace").split("\n")
        rows = [_row(line) for line in lines if line.strip()]
        messages = tuple(row for row in rows if isinstance(row, Message))
        unreadable += sum(row is None for row in rows)
        stem = PurePosixPath(name).stem
        if messages:
            yield Conversation(unquote(stem), messages, cards.get(stem))
    if unreadable:
        found.remarks.append(f"{unreadable} line(s) of session logs could not be read.")


def _row(line: str) -> Message | Mapping[str, Any] | None:
    """A turn; a control line stays a mapping; ``None`` for what cannot be read."""
    try:
        fields = json.loads(line)
        if isinstance(fields, dict) and "blocks" in fields:
            known = {key: value for key, value in fields.items() if key in Message.model_fields}
            return Message.model_validate_json(json.dumps(known))
        if isinstance(fields, dict) and "role" in fields:
            return Message.from_dict(fields)
    except (ValueError, RecursionError, ValidationError, BadMessage):
        return None
    return fields if isinstance(fields, dict) else None


def _names_below_the_top(source: Source) -> tuple[str, list[str]]:
    """The folder an archive packs everything into, or nothing, and the names below it."""
    root = source.top_folder
    return root, [name.removeprefix(root) for name in source.names()]


def _recognises(source: Source) -> bool:
    _, names = _names_below_the_top(source)
    if any(name == _LONG_TERM or name.startswith(_SURE) for name in names):
        return True
    return not is_vault(source) and any(name.startswith(_LIKELY) for name in names)


REME: Final = Format("reme", _recognises, find)
