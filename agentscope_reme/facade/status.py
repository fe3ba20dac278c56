"""What `ReMe.status` tells: counts, what waits, what runs by itself, what failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentscope_reme.engine import Engine
from agentscope_reme.errors import StorageFailed
from agentscope_reme.results import StatusResult
from agentscope_reme.runtime.embedder import Embedder
from agentscope_reme.runtime.schedule import Schedule
from agentscope_reme.settings import Settings
from agentscope_reme.steps.context import Components
from agentscope_reme.store.records import StoreStats
from agentscope_reme.tools.answer_limit import ALL_IN_FIELDS, capped_lines, counted


async def status_of(engine: Engine) -> StatusResult:
    """The state of an open workspace.

    Args:
        engine: its parts, started.
    """
    parts = engine.components
    stats = await asyncio.to_thread(parts.store.stats)
    waiting = await asyncio.to_thread(_waiting, parts)
    failures = engine.failures
    notices = [
        *engine.notices,
        *engine.watching,
        *parts.vault.notices,
        *stats.notices,
        *waiting.notices,
    ]
    rows = [
        f"{counted(stats.files, 'file')}, {counted(stats.chunks, 'chunk')}, "
        f"{counted(stats.links, 'link')}",
        f"{len(waiting.sessions)} session(s) waiting to be distilled, {engine.queued} job(s)",
        *(f"{where}: failed {n} time(s)" for where, n in failures.counts.items()),
        *_told_of_resources(waiting.resources),
        *_told_of(engine.schedule, parts.settings, stats),
        *notices,
    ]
    answer, _ = capped_lines(rows, parts.settings.tool_answer_bytes, ALL_IN_FIELDS)
    return StatusResult(
        answer=answer,
        root=str(parts.workspace.root),
        files=stats.files,
        chunks=stats.chunks,
        pending_sessions=waiting.sessions,
        queued_jobs=engine.queued,
        vectors_pending=await asyncio.to_thread(_vectors_pending, parts.embedder),
        dirty=list(parts.vault.dirty),
        failures=failures.counts,
        last_failures=failures.last,
        notices=notices,
        details={
            "redacted": parts.redactor.counts,
            "pinned": stats.pinned,
            "pending_resources": waiting.resources,
            "dream": waiting.dream,
            "schedule": await asyncio.to_thread(_schedule_of, engine.schedule),
            "forget_after_days": dict(parts.settings.forget_after_days),
        },
    )


@dataclass(frozen=True, slots=True)
class _Waiting:
    sessions: list[str]
    resources: list[str]
    dream: dict[str, int]
    notices: list[str]


def _waiting(parts: Components) -> _Waiting:
    """What no model has read yet; in a thread, because it loads what would read it."""
    from agentscope_reme.steps.dream import dream_backlog
    from agentscope_reme.steps.resources import pending_resources
    from agentscope_reme.steps.session import pending_sessions

    notices: list[str] = []
    sessions: list[str] = []
    try:
        sessions = pending_sessions(parts)
    except StorageFailed as error:
        notices.append(f"Nobody can tell what waits to be distilled: {error}")
    return _Waiting(sessions, pending_resources(parts), dream_backlog(parts), notices)


def _told_of_resources(waiting: Sequence[str]) -> list[str]:
    return [f"{len(waiting)} resource(s) waiting to be read"] if waiting else []


def _told_of(schedule: Schedule, settings: Settings, stats: StoreStats) -> list[str]:
    """What happens by itself, in words; nothing of it by default."""
    rows = [
        f"{name} runs at {due.isoformat(timespec='minutes')}"
        for name, due in schedule.next_runs().items()
    ]
    rule = settings.forget_after_days
    if rule:
        told = ", ".join(
            f"{layer} after {counted(days, 'day')}" for layer, days in sorted(rule.items())
        )
        rows.append(f"Forgotten by age: {told}")
    if stats.pinned:
        rows.append(f"{stats.pinned} pinned file(s), which only you change")
    return rows


def _schedule_of(schedule: Schedule) -> dict[str, dict[str, str]]:
    """When each daily job ran last, how that ended, and when it is due next."""
    last = schedule.last_runs()
    told: dict[str, dict[str, str]] = {}
    for name, due in schedule.next_runs().items():
        told[name] = {"next": due.isoformat(timespec="minutes")}
        run = last.get(name)
        if run is not None and run.outcome != "new":
            told[name] |= {"last": run.at.isoformat(timespec="seconds"), "outcome": run.outcome}
    return told


def _vectors_pending(embedder: Embedder | None) -> int:
    return 0 if embedder is None else embedder.vectors_pending()
