"""Which files are gone because the journal took them away, and not because a drive is missing."""

from __future__ import annotations

from collections.abc import Iterable

from agentscope_reme.files.journal import JournalEntry


def taken_away(entries: Iterable[JournalEntry], paths: Iterable[str]) -> set[str]:
    """Those of `paths` whose newest change that was made deleted or moved them.

    Args:
        entries: the journal, newest first; read only as far as it takes.
        paths: files that are missing.
    """
    open_cases, taken = set(paths), set[str]()
    for entry in entries:
        if not open_cases:
            break
        if entry.state != "done":
            continue
        told = (c for c in entry.changes if not entry.scrubbed or c.before or c.after)
        named = {change.path: change.after for change in told}
        known = open_cases & named.keys()
        open_cases -= known
        along = _went_along(entry, open_cases)
        open_cases -= along
        taken |= along | {path for path in known if named[path] is None}
    return taken


def _went_along(entry: JournalEntry, paths: set[str]) -> set[str]:
    """Files the entry does not name, in the folder that went away as a whole."""
    folder = entry.folder
    if folder is None or folder.restored is not None:
        return set()
    return {path for path in paths if path.startswith(f"{folder.path}/")}
