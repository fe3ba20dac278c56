"""What is known of resources that no card can tell: declined ones, parts already read, failures.

The cursor of a resource is ``source_hash`` in its card. ``journal/checkpoints/resource.jsonl`` adds
one line per resource and event; the last line of a path counts. Losing the file costs model calls,
never a card.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.vault.tree import SeenFile
from agentscope_reme.workspace import Workspace

PLACE: Final = "checkpoints/resource.jsonl"
_SLACK_LINES: Final = 500


@dataclass(frozen=True, slots=True)
class Reading:
    """How far one version of a resource was read.

    Attributes:
        path: the resource.
        sha: its content hash.
        settled: whether all of it was read; with ``card=None`` there was nothing to keep.
        card: the card it went into.
        read: characters of its text that were read so far.
        total: characters it has; another number means that another reader made the text.
        failures: how often reading it failed in a row.
        mtime_ns: its modification time when it was settled, for the quick check.
        size: its size in bytes, likewise.
    """

    path: str
    sha: str = ""
    settled: bool = False
    card: str | None = None
    read: int = 0
    total: int = 0
    failures: int = 0
    mtime_ns: int = 0
    size: int = -1

    def knows(self, seen: SeenFile) -> bool:
        """Whether the file still has the stamp it was settled with."""
        return self.settled and (self.mtime_ns, self.size) == (seen.mtime_ns, seen.size)


_ROW: Final = TypeAdapter(Reading)


class Ledger:
    """The lines of all resources of a workspace, for one run at a time.

    Several processes may write the file; each reads only what was added since it last looked.

    Args:
        workspace: whose resources they are.
        disk: how lines become durable.
        locks: keep other writers apart.
    """

    def __init__(self, workspace: Workspace, disk: Disk, locks: WorkspaceLocks) -> None:
        self._place: Final[Path] = workspace.journal / PLACE
        self._disk = disk
        self._locks = locks
        self._rows: dict[str, Reading] = {}
        self._lines = 0
        self._read_up_to = 0
        self._file = 0  # its inode: a rewritten file is another one

    def get(self, path: str) -> Reading | None:
        """The last line of a resource.

        Raises:
            StorageFailed: the file cannot be read.
        """
        self._refresh()
        return self._rows.get(path)

    def read(self) -> dict[str, Reading]:
        """The last line of every resource; lines that cannot be read are passed over.

        Raises:
            StorageFailed: the file cannot be read.
        """
        self._refresh()
        return dict(self._rows)

    def note(self, row: Reading) -> None:
        """Add a line, unless the last one says the same already.

        Raises:
            StorageFailed: the disk refused.
        """
        with self._locks.commit():
            self._refresh()
            if self._rows.get(row.path) == row:
                return
            if self._lines > 2 * len(self._rows) + _SLACK_LINES:
                self._rewrite({**self._rows, row.path: row}.values())
            else:
                self._disk.append(self._place, _spelled(row))

    def failed(self, path: str, sha: str) -> None:
        """Count a failure, so that resources that never work do not stand before the others."""
        before = self.get(path) or Reading(path)
        if before.sha != sha:
            before = Reading(path, sha, card=before.card)
        self.note(replace(before, failures=before.failures + 1))

    def forget(self, gone: Iterable[str]) -> None:
        """Take out what is known of resources; nothing of their names stays in the file.

        Raises:
            StorageFailed: the disk refused.
        """
        names = set(gone)
        with self._locks.commit():
            self._refresh()
            if names & self._rows.keys():
                self._rewrite(row for path, row in self._rows.items() if path not in names)

    def _rewrite(self, rows: Iterable[Reading]) -> None:
        self._disk.replace(self._place, b"".join(map(_spelled, rows)))

    def _refresh(self) -> None:
        try:
            with self._disk.reading(self._place) as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._file or status.st_size < self._read_up_to:
                    self._start_over(status.st_ino)
                file.seek(self._read_up_to)
                whole = file.read().rpartition(b"\n")[0]
        except NotFound:
            self._start_over(0)
            return
        if whole:
            self._take(whole)

    def _start_over(self, file: int) -> None:
        self._rows, self._lines, self._read_up_to, self._file = {}, 0, 0, file

    def _take(self, whole: bytes) -> None:
        lines = whole.split(b"\n")
        self._rows |= {row.path: row for line in lines if (row := _parsed(line)) is not None}
        self._lines += len(lines)
        self._read_up_to += len(whole) + 1


def _parsed(line: bytes) -> Reading | None:
    try:
        return _ROW.validate_json(line)
    except ValidationError:  # torn by a crash, or damaged: as if it were not there
        return None


def _spelled(row: Reading) -> bytes:
    plain = Reading(row.path)
    said: dict[str, Any] = {
        key: value
        for key, value in asdict(row).items()
        if key == "path" or value != getattr(plain, key)
    }
    return json.dumps(said).encode("ascii") + b"\n"
