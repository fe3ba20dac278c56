"""Finds what the journal and the trash keep of files that are forgotten, and what must stay.

Nothing is changed here. Pre-images of a file that is forgotten, or of which a part is, go whole:
nobody can tell which earlier version said what. Of other files those go that hold a trace of the
forgotten text, such as a copy somebody made. The lines of the journal stay, without hashes, and
without paths that were named after what is forgotten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import Disk, is_temporary
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.journal_lines import (
    JournalEntry,
    PathChange,
    dump_entry,
    parse_line,
)
from agentscope_reme.files.pruning import GONE, pruned_root
from agentscope_reme.files.traces import Traces
from agentscope_reme.vault.tree import Tree

_BLOBS: Final = "journal/blobs"
_CHECKPOINTS: Final = "checkpoints"


@dataclass(slots=True)
class Scrub:
    """What is to be done to the library's own files; paths are relative to the workspace.

    Attributes:
        writes: new contents.
        removes: files that go.
        entries: how many changes of the journal lose something.
        images: how many pre-images go.
        trashed: how many files of the trash go.
    """

    writes: dict[str, bytes] = field(default_factory=dict)
    removes: set[str] = field(default_factory=set)
    entries: int = 0
    images: int = 0
    trashed: int = 0


class Scrubber:
    """Looks through journal and trash for one forgetting; called under the commit lock.

    Args:
        tree: whose journal and trash.
        disk: how files are read.
        journal: the journal.
        affected: paths that are forgotten, or of which a part is.
        names: what to call, from now on, those of them that go.
        traces: what only the forgotten text had.
    """

    def __init__(
        self,
        tree: Tree,
        disk: Disk,
        journal: Journal,
        *,
        affected: Iterable[str],
        names: Mapping[str, str],
        traces: Traces,
    ) -> None:
        self._root = tree.workspace.root
        self._trash = tree.workspace.trash
        self._folder = tree.workspace.journal
        self._disk = disk
        self._journal = journal
        self._affected = set(affected)
        self._names = dict(names)
        self._traces = traces
        self._gone_blobs: set[str] = set()
        self._gone_changes: set[str] = set()
        self.found = Scrub()

    def look(self) -> Scrub:
        """Find everything.

        Raises:
            StorageFailed: something cannot be read.
        """
        self._follow_renames()
        self._look_at_blobs()
        self._look_at_trash()
        for place in sorted(self._folder.glob("*.jsonl")):
            if place.name == "dirty.jsonl":
                self._filter_lines(place)
            else:
                self._look_at_month(place)
        for place in sorted((self._folder / _CHECKPOINTS).rglob("*")):
            if place.is_file():
                self._filter_lines(place)
        return self.found

    def _follow_renames(self) -> None:
        """Take in the earlier names of what is forgotten, and the hashes of all its versions."""
        for entry in self._journal.entries():
            for change in entry.changes:
                if change.path in self._affected:
                    self._affected.update([change.origin] if change.origin else [])
                    self._gone_blobs.update(filter(None, (change.before, change.after)))

    def _look_at_blobs(self) -> None:
        for sha in sorted(self._journal.blobs()):
            if sha in self._gone_blobs or self._holds_trace(self._folder / "blobs" / sha):
                self._gone_blobs.add(sha)
                self.found.removes.add(f"{_BLOBS}/{sha}")
                self.found.images += 1
        self._gone_blobs |= self._traces.hashes

    def _look_at_trash(self) -> None:
        for place in _files_below(self._trash):
            change_id, _, path = place.relative_to(self._trash).as_posix().partition("/")
            if self._is_told(path) or self._holds_trace(place):
                self._gone_changes.add(change_id)
                self.found.removes.add(place.relative_to(self._root).as_posix())
                self.found.trashed += 1

    def _look_at_month(self, place: Path) -> None:
        lines = self._disk.read(place).split(b"\n")
        kept = [self._scrubbed(line) for line in lines]
        if kept != lines:
            told = [line for line in kept if line is not None]
            self.found.writes[place.relative_to(self._root).as_posix()] = b"\n".join(told)

    def _scrubbed(self, line: bytes) -> bytes | None:
        """A line of the journal without what is forgotten; ``None`` when nobody can read it."""
        entry = parse_line(line)
        if isinstance(entry, JournalEntry) and (entry.scrubbed or self._concerns(entry)):
            self.found.entries += not entry.scrubbed
            return dump_entry(self._without(entry)).rstrip(b"\n")
        if entry is None and line.strip() and self._traces.in_data(line):
            return None
        return line

    def _concerns(self, entry: JournalEntry) -> bool:
        shas = {sha for c in entry.changes for sha in (c.before, c.after) if sha}
        return (
            entry.change_id in self._gone_changes
            or not self._gone_blobs.isdisjoint(shas)
            or any(map(self._is_told, _paths_of(entry)))
        )

    def _is_told(self, path: str) -> bool:
        return path in self._affected or self._speaks_of_it(path)

    def _speaks_of_it(self, path: str) -> bool:
        """Whether a path holds a trace; where a file still stands there, the name stays anyway."""
        if self._traces.in_path(path):
            return True
        return self._traces.in_name(path) and not (self._root / path).exists()

    def _without(self, entry: JournalEntry) -> JournalEntry:
        folder = entry.folder
        if folder is not None and any(
            self._speaks_of_it(path) or self._goes_below(path)
            for path in (folder.path, folder.target or "")
        ):
            folder = None
        changes = tuple(map(self._change_without, entry.changes))
        return replace(entry, changes=changes, folder=folder, scrubbed=True)

    def _change_without(self, change: PathChange) -> PathChange:
        named = (change.path, *([change.origin] if change.origin else []))
        shas = {change.before, change.after}
        if any(map(self._is_told, named)) or not self._gone_blobs.isdisjoint(shas):
            return PathChange(self._name(change.path), None, None)
        return change

    def _name(self, path: str) -> str:
        if path in self._names:
            return self._names[path]
        if self._speaks_of_it(path):
            return self._names.setdefault(path, f"forgotten/{len(self._names) + 1}")
        return path

    def _goes_below(self, folder: str) -> bool:
        return folder != "" and any(path.startswith(f"{folder}/") for path in self._names)

    def _filter_lines(self, place: Path) -> None:
        """Prune lines that speak of what is forgotten: what they were for is done again."""
        lines = self._disk.read(place).split(b"\n")
        kept = [rest for line in lines if (rest := self._pruned(line)) is not None]
        if kept != lines:
            self.found.writes[place.relative_to(self._root).as_posix()] = b"\n".join(kept)

    def _pruned(self, line: bytes) -> bytes | None:
        """A line of JSON without what is forgotten; ``None`` when nothing of it may stay."""
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError):
            return (
                None if line.strip() and self._is_tainted(line.decode(errors="replace")) else line
            )
        rest = pruned_root(row, self._is_tainted) if isinstance(row, dict) else row
        if rest == row:
            return line
        return None if rest is GONE else json.dumps(rest, ensure_ascii=False).encode()

    def _is_tainted(self, text: str) -> bool:
        return any(path in text for path in self._names) or self._traces.in_text(text)

    def _holds_trace(self, place: Path) -> bool:
        try:
            return self._traces.in_data(self._disk.read(place))
        except NotFound:
            return False


def _paths_of(entry: JournalEntry) -> Iterator[str]:
    for change in entry.changes:
        yield change.path
        if change.origin is not None:
            yield change.origin
    if entry.folder is not None:
        yield entry.folder.path
        if entry.folder.target is not None:
            yield entry.folder.target


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in sorted(names) if not is_temporary(name))
