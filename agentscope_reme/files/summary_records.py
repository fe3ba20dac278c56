"""The format of conversations that wait to be summarised, one file each.

They stand in ``journal/summaries/<task id>.json``: the day whose notes they go to, how often a run
failed, and the messages. A copy of what somebody said, so whoever forgets has to look here too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentscope_reme.files.looking import names_in
from agentscope_reme.messages import Message
from agentscope_reme.workspace import Workspace

CLAIM: Final = "summaries"
"""The claim of whoever works one off: it may hold any of the messages."""

_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """One of these files."""

    day: str
    attempts: int
    messages: tuple[Message, ...]

    def dump(self) -> bytes:
        """The file's content."""
        row = {
            "day": self.day,
            "attempts": self.attempts,
            "messages": [one.model_dump(mode="json", exclude_none=True) for one in self.messages],
        }
        return _bytes(row)


def records_folder(workspace: Workspace) -> Path:
    """Where they stand."""
    return workspace.journal / "summaries"


def record_place(workspace: Workspace, name: str) -> Path:
    """The place of one."""
    return records_folder(workspace) / f"{name}{_SUFFIX}"


def record_places(workspace: Workspace) -> list[Path]:
    """The places of all, oldest first.

    Raises:
        StorageFailed: they cannot be listed.
    """
    folder = records_folder(workspace)
    return sorted(folder / name for name in names_in(folder) if name.endswith(_SUFFIX))


def parse_record(data: bytes) -> SummaryRecord:
    """Read one.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    row = json.loads(data)
    messages = tuple(Message.model_validate(one) for one in row["messages"])
    return SummaryRecord(str(row["day"]), int(row["attempts"]), messages)


def message_rows(data: bytes) -> list[dict[str, Any]]:
    """The messages of one as they are written.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    rows = json.loads(data)["messages"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("the messages are no list of objects")
    return rows


def without_messages(data: bytes, gone: Collection[int]) -> bytes | None:
    """A record without the messages at these places; ``None`` when none is left.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    kept: Sequence[Any] = [row for i, row in enumerate(message_rows(data)) if i not in gone]
    return _bytes({**json.loads(data), "messages": kept}) if kept else None


def _bytes(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
