"""Shows the journal to people: the list of changes, and the diff of one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from agentscope_reme.files.journal import JournalEntry
from agentscope_reme.results import ChangeRecord

Image = Callable[[str, str], bytes | None]
"""Finds the content with a hash that once stood at a path; ``None`` when it is not kept."""


def record_of(entry: JournalEntry) -> ChangeRecord:
    """One line of the history."""
    return ChangeRecord(
        change_id=entry.change_id,
        at=entry.at,
        actor=entry.actor,
        operation=entry.operation,
        paths=entry.paths,
        state="forgotten" if entry.scrubbed else entry.state,
    )


def concerns(entry: JournalEntry, path: str | None) -> bool:
    """Whether an entry speaks of a path, or of something below it; ``None`` means any."""
    if path is None:
        return True
    folders = [entry.folder.path, entry.folder.target] if entry.folder else []
    named = [*entry.paths, *(folder for folder in folders if folder)]
    return any(name == path or name.startswith(f"{path}/") for name in named)


def diff_of(entry: JournalEntry, image: Image) -> str:
    """A change as a unified diff; says in words what no diff can show."""
    if entry.scrubbed:
        return "(what this change concerned was forgotten)\n"
    stood = {change.path: change.before for change in entry.changes}
    origins = {change.origin for change in entry.changes}
    pieces = []
    for change in entry.changes:
        if change.after is None and change.path in origins:
            continue  # shown where it went
        if change.origin is None:
            pieces.append(_diff(change.path, change.before, change.path, change.after, image))
            continue
        before = stood.get(change.origin)
        pieces.append(f"rename {change.origin} => {change.path}\n")
        if before != change.after:
            pieces.append(_diff(change.origin, before, change.path, change.after, image))
    return "".join(pieces)


def _diff(old: str, before: str | None, new: str, after: str | None, image: Image) -> str:
    old_name = "/dev/null" if before is None else f"a/{old}"
    new_name = "/dev/null" if after is None else f"b/{new}"
    old_data = b"" if before is None else image(before, old)
    new_data = b"" if after is None else image(after, new)
    if old_data is None or new_data is None:
        which = "before" if old_data is None else "after"
        return f"--- {old_name}\n+++ {new_name}\n(the content {which} is no longer kept)\n"
    old_text, new_text = _text(old_data), _text(new_data)
    if old_text is None or new_text is None:
        return f"Binary file {new} changed, {len(old_data)} to {len(new_data)} bytes\n"
    return "".join(_unified(old_text, new_text, old_name, new_name))


def _unified(before: str, after: str, old: str, new: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(before), _lines(after), old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)  # on \n only: a text may hold other separators


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
