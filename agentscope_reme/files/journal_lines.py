"""The lines of the journal: what one change did, and how it is spelled as JSON.

A line is trusted only as far as its values are of the kind we write: somebody may have damaged the
file, or copied another one over it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

State = Literal["prepared", "done", "aborted"]
"""A change over several files is ``prepared`` first; a one-file change is ``done`` at once."""

_SETTLED: Final = ("done", "aborted")
SHA: Final = re.compile(r"[0-9a-f]{64}")
"""A content hash."""

_ID: Final = re.compile(r"[^./\\\0][^/\\\0]{0,99}")  # it names a folder of the trash


@dataclass(frozen=True, slots=True)
class PathChange:
    """What one change did to one path; hashes are ``None`` where no file stood or stands.

    ``origin`` is the path this file was renamed from.
    """

    path: str
    before: str | None
    after: str | None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A folder that went away as a whole, or came back.

    Attributes:
        path: the folder.
        target: its new path; ``None`` for the trash.
        restored: the change whose trash the rest of the folder came back from.
    """

    path: str
    target: str | None = None
    restored: str | None = None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One change: who did what to which paths. ``at`` is ISO 8601 with an offset.

    Of a ``scrubbed`` one some of what it changed was forgotten: hashes are missing, paths may be
    replaced, and it cannot be undone.
    """

    change_id: str
    at: str
    actor: str
    operation: str
    changes: tuple[PathChange, ...]
    state: State = "done"
    folder: FolderChange | None = None
    scrubbed: bool = False

    @property
    def paths(self) -> list[str]:
        """The paths it speaks of."""
        return [change.path for change in self.changes]


@dataclass(frozen=True, slots=True)
class Settlement:
    """A later line that says how an entry ended."""

    change_id: str
    state: Literal["done", "aborted"]


def dump_entry(entry: JournalEntry) -> bytes:
    """The line of an entry."""
    row: dict[str, Any] = {
        "change_id": entry.change_id,
        "at": entry.at,
        "actor": entry.actor,
        "operation": entry.operation,
        "state": entry.state,
        "changes": [_change_row(change) for change in entry.changes],
    }
    if entry.folder is not None:
        row["folder"] = _folder_row(entry.folder)
    if entry.scrubbed:
        row["scrubbed"] = True
    return dump_row(row)


def _change_row(change: PathChange) -> dict[str, Any]:
    row = {"path": change.path, "before": change.before, "after": change.after}
    return row if change.origin is None else {**row, "origin": change.origin}


def _folder_row(folder: FolderChange) -> dict[str, Any]:
    row = {"path": folder.path, "target": folder.target}
    return row if folder.restored is None else {**row, "restored": folder.restored}


def dump_row(row: Mapping[str, Any]) -> bytes:
    """One line of the journal."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def parse_line(raw: bytes) -> JournalEntry | Settlement | None:
    """What a line says; ``None`` when it is torn or none of ours."""
    try:
        row = json.loads(raw)
        if "changes" not in row:
            settled = Settlement(row["change_id"], row["state"])
            return settled if _is_id(settled.change_id) and settled.state in _SETTLED else None
        entry = JournalEntry(
            row["change_id"],
            row["at"],
            row["actor"],
            row["operation"],
            tuple(PathChange(**change) for change in row["changes"]),
            row["state"],
            FolderChange(**row["folder"]) if "folder" in row else None,
            row.get("scrubbed") is True,
        )
        return entry if _is_ours(entry) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_ours(entry: JournalEntry) -> bool:
    """Whether every value is of the kind we write: a foreign line must not reach the files."""
    texts: list[object] = [entry.at, entry.actor, entry.operation, *entry.paths]
    maybe: list[object] = [change.origin for change in entry.changes]
    if entry.folder is not None:
        texts.append(entry.folder.path)
        maybe.append(entry.folder.target)
    named = [entry.change_id]
    if entry.folder is not None and entry.folder.restored is not None:
        named.append(entry.folder.restored)
    return (
        entry.state in ("prepared", *_SETTLED)
        and all(map(_is_text, texts))
        and all(text is None or _is_text(text) for text in maybe)
        and all(_is_sha(sha) for c in entry.changes for sha in (c.before, c.after))
        and all(_is_id(name) for name in named)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.encode() != b"" and "\0" not in value


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_sha(value: object) -> bool:
    return value is None or (isinstance(value, str) and SHA.fullmatch(value) is not None)
