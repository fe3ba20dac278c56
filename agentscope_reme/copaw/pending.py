"""Summary tasks that are not done yet, one durable file each.

A task is acknowledged when its record is on the disk; the record goes when the summary is
committed. Whatever is found at a start was left by a crash, a failing model or another process.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.summary_records import (
    SummaryRecord,
    parse_record,
    record_place,
    record_places,
    records_folder,
)
from agentscope_reme.messages import Block, DataBlock, Message, ToolResultBlock
from agentscope_reme.workspace import Workspace

MOST_ATTEMPTS: Final = 8
"""After so many failed runs a task waits for a person: a conversation no model can summarise must
not cost a run at every start."""

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class PendingSummary:
    """One conversation that waits to be summarised into the file of `day`."""

    id: str
    day: str
    messages: tuple[Message, ...]
    attempts: int = 0

    @property
    def given_up(self) -> bool:
        """Whether it is not tried by itself any more."""
        return self.attempts >= MOST_ATTEMPTS


class PendingSummaries:
    """The records below ``journal/summaries/`` of one workspace.

    Args:
        workspace: where they live.
        disk: how they become durable.
        clock: the day of a new one.
    """

    def __init__(self, workspace: Workspace, *, disk: Disk, clock: Clock) -> None:
        self._workspace = workspace
        self._disk = disk
        self._clock = clock

    def add(self, messages: Sequence[Message]) -> PendingSummary:
        """Make a task durable; Base64 data, which no summary shows, is left out.

        Raises:
            StorageFailed: the disk refused.
        """
        now = self._clock.now()
        stamp = f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"
        name = f"{stamp}-{next(_numbers):06d}-{secrets.token_hex(3)}"
        task = PendingSummary(name, now.date().isoformat(), tuple(map(_bare, messages)))
        self._disk.make_folder(records_folder(self._workspace))
        self._save(task)
        return task

    def names(self) -> list[str]:
        """The ids of all tasks, oldest first."""
        return [place.stem for place in record_places(self._workspace)]

    def load(self, name: str) -> PendingSummary | None:
        """One task; ``None`` when it is done.

        Raises:
            BadInput: the record cannot be read.
            StorageFailed: the disk refused.
        """
        try:
            found = parse_record(self._disk.read(self._place(name)))
        except NotFound:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(
                str(self._place(name)), f"the record cannot be read: {error}", "Look at the file."
            ) from error
        return PendingSummary(name, found.day, found.messages, found.attempts)

    def failed(self, task: PendingSummary) -> None:
        """Count one more failed run.

        Raises:
            StorageFailed: the disk refused; the run is not counted.
        """
        self._save(replace(task, attempts=task.attempts + 1))

    def done(self, name: str) -> None:
        """Forget a task whose summary is committed; nothing when it is forgotten already.

        Raises:
            StorageFailed: the disk refused.
        """
        with suppress(NotFound):
            self._disk.remove(self._place(name))

    def _save(self, task: PendingSummary) -> None:
        record = SummaryRecord(task.day, task.attempts, task.messages)
        self._disk.replace(self._place(task.id), record.dump())

    def _place(self, name: str) -> Path:
        return record_place(self._workspace, name)


def _bare(message: Message) -> Message:
    return message.model_copy(update={"blocks": tuple(map(_without_data, message.blocks))})


def _without_data(block: Block) -> Block:
    if isinstance(block, DataBlock) and block.data:
        return block.model_copy(update={"data": None})
    if isinstance(block, ToolResultBlock):
        output = tuple(
            part.model_copy(update={"data": None}) if isinstance(part, DataBlock) else part
            for part in block.output
        )
        return block.model_copy(update={"output": output})
    return block
