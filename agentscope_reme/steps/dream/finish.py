"""Finish: everything a dream staged becomes one change, and the checkpoint moves on."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import BadPath, Conflict, NotFound
from agentscope_reme.files.changes import Change, Write
from agentscope_reme.files.dream_progress import Outcome, Prepared
from agentscope_reme.files.journal import JournalEntry, PathChange
from agentscope_reme.results import DreamResult, Failure
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.dream.interests import interests_path
from agentscope_reme.steps.dream.recovery import newest_change
from agentscope_reme.steps.dream.run import ACTOR, DreamRun, dream_run, end_dream, uninterrupted
from agentscope_reme.tools.answer_limit import named
from agentscope_reme.vault.outcomes import Commit
from agentscope_reme.vault.showing import diff_of
from agentscope_reme.vault.vault import Vault


class FinishArguments(BaseModel):
    """What the last step reads from its run; see `ReMe.auto_dream`."""

    model_config = ConfigDict(frozen=True)

    date: datetime.date | None = None
    dry_run: bool = False


class DreamFinishStep(BaseStep[DreamResult]):
    """Commits a dream as one change of the history and settles its units.

    The checkpoint is told before and after the commit, so that a crash in between neither repeats
    nor loses a unit. A node that somebody else changed meanwhile is left alone: its units fail and
    are tried again, the others are committed. A dry run shows the diff and writes nothing.
    """

    vault = Ref(lambda parts: parts.vault)
    failures = Ref(lambda parts: parts.failures)

    async def execute(self) -> DreamResult:
        """Commit what the run staged.

        Raises:
            StorageFailed: the disk refused; the next run settles what was begun.
        """
        arguments = self.context.parse(FinishArguments)
        day = (arguments.date or self.context.now.date()).isoformat()
        run = await asyncio.to_thread(dream_run, self.context, day=day, dry_run=arguments.dry_run)
        end_dream(self.context)
        if run.dry_run:
            diff = await asyncio.to_thread(_staged_diff, self.vault, run.changes())
            return _told(run, run.result(diff=diff))
        return await uninterrupted(lambda: self._finish(run))

    def _finish(self, run: DreamRun) -> DreamResult:
        commit = self._committed(run)
        for name in _outcome(run).settled:
            run.state.units.pop(name, None)
        if commit is None or not commit.change_id:
            return _told(run, run.result())
        diff = self.vault.diff(commit.change_id)
        return _told(run, run.result(diff=diff, change_id=commit.change_id))

    def _committed(self, run: DreamRun) -> Commit | None:
        while changes := run.changes():
            outcome = _outcome(run)
            paths = tuple(sorted(change.path for change in changes))
            run.checkpoint.prepare(Prepared(outcome, newest_change(self.vault), paths))
            try:
                commit = self.vault.commit(changes, actor=ACTOR, operation=ACTOR)
            except (Conflict, BadPath) as error:
                if str(error.given) not in paths:
                    run.checkpoint.abandon()
                    raise
                self._leave_alone(run, str(error.given), error)
                continue
            run.checkpoint.finish(outcome)
            return commit
        outcome = _outcome(run)
        if _settles(outcome) or outcome.day > run.state.last_day:
            run.checkpoint.finish(outcome)
        return None

    def _leave_alone(self, run: DreamRun, path: str, error: Conflict | BadPath) -> None:
        """Take a path out of the dream; what it would have held stays owed."""
        self.failures.report("auto_dream", error)
        run.left_alone.add(path)
        if path == interests_path(run.day):
            run.topics, run.topics_chosen = [], False
            run.failed.append(Failure(item=path, reason=str(error)))
            return
        lost = [one for one in run.integrated if one.target == path and one.data is not None]
        run.integrated = [one for one in run.integrated if one not in lost]
        for one in lost:
            run.fail_unit(one.unit, str(error))


def _outcome(run: DreamRun) -> Outcome:
    return Outcome(
        day=run.day,
        settled=tuple(one.unit.id for one in run.integrated),
        failed=dict(run.failed_units),
        used_topics=run.topics_chosen and bool(run.state.topics),
    )


def _settles(outcome: Outcome) -> bool:
    return bool(outcome.settled or outcome.failed or outcome.used_topics)


def _staged_diff(vault: Vault, changes: Sequence[Change]) -> str:
    """What a commit would show, as the history would."""
    data = {change.path: change.data for change in changes if isinstance(change, Write)}
    before = {path: _present(vault, path) for path in data}
    planned = tuple(
        PathChange(path, _hash(before[path]), content_hash(after)) for path, after in data.items()
    )
    kept = {content_hash(after): after for after in data.values()}
    kept |= {content_hash(old): old for old in before.values() if old is not None}
    entry = JournalEntry("dry-run", "", ACTOR, ACTOR, planned)
    return diff_of(entry, lambda sha, _: kept.get(sha))


def _present(vault: Vault, path: str) -> bytes | None:
    try:
        return vault.read(path)
    except NotFound:
        return None


def _hash(data: bytes | None) -> str | None:
    return None if data is None else content_hash(data)


def _told(run: DreamRun, result: DreamResult) -> DreamResult:
    result.success = not run.failed
    rows = [f"{one.action} {one.target_path}: {one.unit}" for one in result.integrated]
    rows += [f"Failed, tried again next time: {one.item}: {one.reason}" for one in result.failed]
    if not (rows or run.read):
        rows.append(f"Nothing new in the daily notes up to {run.day}.")
    rows += [f"Topic: {topic.title}" for topic in result.topics]
    if result.carried:
        rows.append(f"Waiting for the next run: {named(result.carried)}")
    if run.dry_run and result.diff:
        rows += ["A dry run: nothing was written.", result.diff]
    result.answer = "\n".join(rows) or f"Nothing in the notes of {run.day} was worth a node."
    return result
