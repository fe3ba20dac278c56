"""One dream while it runs: what was read, staged and refused so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Change
from agentscope_reme.files.dream_checkpoint import DreamCheckpoint
from agentscope_reme.files.dream_progress import DreamState, WaitingUnit
from agentscope_reme.results import DreamResult, DreamUnit, Failure, Integration, Topic
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.steps.context import Components, RuntimeContext
from agentscope_reme.vault.live_view import LiveView

ACTOR: Final = "auto_dream"

T = TypeVar("T")

_KEY: Final = "dream_run"


@dataclass(frozen=True, slots=True)
class Integrated:
    """A unit that reached its node: the node's bytes are staged, or were right already."""

    unit: WaitingUnit
    action: str
    target: str
    note: str
    data: bytes | None


@dataclass
class DreamRun:
    """What the steps of one dream hand on to each other.

    Attributes:
        day: the day it dreams of, ``YYYY-MM-DD``.
        checkpoint: durable progress.
        state: the progress as this run knows it.
        staged: the overlay every change of the run goes to.
        budget: model calls the run may still make.
        read: the daily files that were read, with their text.
        chosen: the units of this run, in order.
        dry_run: nothing durable is written.
        left_alone: staged paths that are not committed, because somebody else changed them.
    """

    day: str
    checkpoint: DreamCheckpoint
    state: DreamState
    staged: ChangeSet
    budget: CallBudget
    dry_run: bool = False
    read: dict[str, str] = field(default_factory=dict)
    chosen: list[WaitingUnit] = field(default_factory=list)
    integrated: list[Integrated] = field(default_factory=list)
    failed_units: dict[str, str] = field(default_factory=dict)
    failed: list[Failure] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    topics_chosen: bool = False
    left_alone: set[str] = field(default_factory=set)
    model_calls: int = 0
    agent_runs: int = 0

    def fail_unit(self, unit: WaitingUnit, reason: str) -> None:
        """Note that a unit could not be integrated; it stays owed."""
        self.failed_units[unit.id] = reason
        self.failed.append(Failure(item=unit.name, reason=reason))

    def changes(self) -> list[Change]:
        """What is to be committed, with the hashes that must still stand there."""
        return [c for c in self.staged.changes() if c.path not in self.left_alone]

    @property
    def carried(self) -> list[str]:
        """Names of units, and paths of files, that wait for the next run."""
        settled = {one.unit.id for one in self.integrated}
        units = [u.name for key, u in self.state.units.items() if key not in settled]
        waiting = [path for path, file in self.state.files.items() if file.state != "done"]
        return [*units, *waiting]

    def result(self, *, diff: str = "", change_id: str = "") -> DreamResult:
        """What the run has done so far, as its caller sees it."""
        carried = self.carried
        return DreamResult(
            date=self.day,
            units=[_shown(unit) for unit in self.chosen],
            integrated=[
                Integration(
                    unit=one.unit.name, action=one.action, target_path=one.target, note=one.note
                )
                for one in self.integrated
            ],
            failed=list(self.failed),
            topics=list(self.topics),
            diff=diff,
            change_id=change_id,
            dry_run=self.dry_run,
            carried=carried,
            pending=bool(carried),
            model_calls=self.model_calls,
            agent_runs=self.agent_runs,
        )


def dream_run(context: RuntimeContext, *, day: str, dry_run: bool) -> DreamRun:
    """The dream this run belongs to; a step that is called alone begins one.

    Args:
        context: the run.
        day: the day of a dream that begins now.
        dry_run: whether a dream that begins now writes nothing.
    """
    values = context.values
    if _KEY not in values:
        values[_KEY] = _begun(context.application.components, day=day, dry_run=dry_run)
    run: DreamRun = values[_KEY]
    return run


def is_dreaming(values: Mapping[str, object]) -> bool:
    """Whether an earlier step of this run began a dream."""
    return _KEY in values


def end_dream(context: RuntimeContext) -> None:
    """Let the next step of this run begin a dream of its own."""
    context.values.pop(_KEY, None)


async def uninterrupted(work: Callable[[], T]) -> T:
    """Run durable work in a thread to its end, also when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def checkpoint_of(parts: Components) -> DreamCheckpoint:
    """The durable progress of dreams in a workspace."""
    return DreamCheckpoint(parts.workspace, disk=parts.disk, locks=parts.locks)


def dream_backlog(parts: Components) -> dict[str, int]:
    """How many units and daily files dreams still owe."""
    state = checkpoint_of(parts).load()
    files = sum(file.state != "done" for file in state.files.values())
    return {"units": len(state.units), "files": files}


def _begun(parts: Components, *, day: str, dry_run: bool) -> DreamRun:
    checkpoint = checkpoint_of(parts)
    return DreamRun(
        day=day,
        checkpoint=checkpoint,
        state=checkpoint.load(),
        staged=ChangeSet(LiveView(parts.vault, actor=ACTOR)),
        budget=CallBudget(parts.settings.job_model_calls),
        dry_run=dry_run,
    )


def _shown(unit: WaitingUnit) -> DreamUnit:
    return DreamUnit(
        name=unit.name, summary=unit.summary, bucket=unit.bucket, paths=list(unit.paths)
    )
