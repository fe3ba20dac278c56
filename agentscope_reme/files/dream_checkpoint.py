"""What dreaming has read and what it still owes: ``journal/checkpoints/dream.jsonl``.

One JSON object per line, each a whole event, so that a crash costs at most the event that was
being written:

- ``read``: daily files were read (or must be read again), and these units and topics came out;
- ``prepared``: the result of a run is about to be committed; it says how to recognise that;
- ``done`` or ``abandoned``: how that ended; ``done`` settles units and raises what failed;
- ``state``: everything so far, written when the file has grown long.

This is truth, not derived data, and it is exempt from the retention of the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.dream_progress import (
    DreamState,
    Outcome,
    Prepared,
    ReadFile,
    WaitingUnit,
    apply_event,
    read_line,
    state_row,
)
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

CHECKPOINT: Final = "checkpoints/dream.jsonl"
"""Below ``journal/``."""

_MOST_EVENTS: Final = 200


class DreamCheckpoint:
    """Reads and extends the progress of dreams in one workspace.

    Args:
        workspace: whose dreams.
        disk: how lines become durable.
        locks: the commit lock is held around each write.
    """

    def __init__(self, workspace: Workspace, *, disk: Disk, locks: WorkspaceLocks) -> None:
        self._place: Final[Path] = workspace.journal / CHECKPOINT
        self._disk = disk
        self._locks = locks

    def load(self) -> DreamState:
        """The state after every readable line; torn and foreign lines are passed over.

        Raises:
            StorageFailed: the file is there and cannot be read.
        """
        return self._folded()[0]

    def note_read(
        self,
        files: Mapping[str, ReadFile],
        units: Iterable[WaitingUnit],
        *,
        gone: Iterable[str] = (),
        dropped: Iterable[str] = (),
        topics: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Say durably what reading brought, in one line.

        Args:
            files: by path, how far each was read.
            units: what came out and now waits.
            gone: paths that are to be forgotten.
            dropped: ids of units that are owed no more.
            topics: what may interest the person.

        Raises:
            StorageFailed: the checkpoint is as it was.
        """
        row = {
            "type": "read",
            "files": {path: asdict(file) for path, file in files.items()},
            "units": [asdict(unit) for unit in units],
            "gone": list(gone),
            "dropped": list(dropped),
            "topics": [dict(topic) for topic in topics],
        }
        if any(row[key] for key in ("files", "units", "gone", "dropped", "topics")):
            self._append(row)

    def prepare(self, prepared: Prepared) -> None:
        """Say durably what a commit that is about to be made will settle.

        Raises:
            StorageFailed: the checkpoint is as it was.
        """
        self._append({"type": "prepared", **asdict(prepared)})

    def finish(self, outcome: Outcome) -> None:
        """Settle units for good, and count the attempts of those that failed.

        Raises:
            StorageFailed: the checkpoint is as it was.
        """
        self._append({"type": "done", "outcome": asdict(outcome)})

    def abandon(self) -> None:
        """Say that what was prepared was never committed.

        Raises:
            StorageFailed: the checkpoint is as it was.
        """
        self._append({"type": "abandoned"})

    def _append(self, row: Mapping[str, Any]) -> None:
        with self._locks.commit():
            state, events = self._folded()
            if events >= _MOST_EVENTS and row["type"] == "read":  # nothing is prepared then
                apply_event(state, row)
                self._disk.replace(self._place, _line(state_row(state)))
            else:
                self._disk.append(self._place, _line(row))

    def _folded(self) -> tuple[DreamState, int]:
        state, events = DreamState(), 0
        try:
            lines = self._disk.read(self._place).split(b"\n")
        except NotFound:
            return state, 0
        for line in lines:
            events += read_line(state, line)
        return state, events


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
