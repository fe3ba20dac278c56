"""Builds the parts of one workspace, owns their life, and runs the background work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from datetime import time
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from agentscope_reme.clock import Clock
from agentscope_reme.errors import Closed, ReMeError
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.session_logs import SessionLogs
from agentscope_reme.ports import AgentPort, ChatPort, EmbeddingPort, embeds_images
from agentscope_reme.runtime.embedder import Embedder
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.runtime.index_upkeep import IndexUpkeep
from agentscope_reme.runtime.log_indexing import LogIndexing
from agentscope_reme.runtime.pictures import Pictures
from agentscope_reme.runtime.schedule import DailyJob, Schedule
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.settings import Settings
from agentscope_reme.steps.context import ApplicationContext, Components
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.log_indexer import LogIndexer
from agentscope_reme.tools.redaction import Redactor
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace

if TYPE_CHECKING:
    from agentscope_reme.steps.distil import DistilStep

_MOST_IN_VAIN: Final = 3
"""How often a session that fails while others succeed is caught up by itself; later its next turn,
a call or the next start does it. A text no provider takes must not cost a call for ever."""
_LATE: Final = (
    "steps.archive", "steps.distil", "steps.doctor", "steps.dream", "steps.forget", "steps.graph",
    "steps.index", "steps.recall", "steps.record", "steps.remember", "steps.resources",
    "steps.retention", "context.compactor", "context.tool_results", "tools.agent_tools",
    "message_rows", "files.front_matter_edit",
)  # fmt: skip
"""Modules that an import of the package leaves out."""


class Background(Protocol):
    """A part that works on while nobody waits for it."""

    @property
    def queued(self) -> int:
        """Jobs that are not finished."""

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for them; ``False`` when the deadline came first."""


class Engine:
    """The running parts behind one `ReMe`.

    Args:
        workspace: where the memory lives.
        settings: limits and budgets.
        clock: the source of "now".
        language: ``en`` or ``zh``.
        chat: for checkpoints of long contexts; optional.
        agent: for daily cards; optional.
        embedding: for vectors; optional.
        store: where derived data is kept; by default a `LocalFileStore`.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: Settings,
        clock: Clock,
        language: str = "en",
        chat: ChatPort | None = None,
        agent: AgentPort | None = None,
        embedding: EmbeddingPort | None = None,
        store: BaseFileStore | None = None,
    ) -> None:
        disk = Disk(fsync=settings.fsync)
        locks = WorkspaceLocks(workspace, patience_seconds=settings.lock_patience_seconds)
        store = store or LocalFileStore(workspace, settings=settings)
        sees = store.keeps_pictures and embeds_images(embedding)
        pictures = Pictures(workspace, store, disk, most_bytes=settings.embedded_picture_bytes)
        vault = Vault(
            workspace,
            store,
            FileIndexer(settings, pictures=sees),
            disk=disk,
            locks=locks,
            journal=Journal(workspace, disk=disk, clock=clock),
            clock=clock,
            settings=settings,
            log_indexer=LogIndexer(settings, disk),
        )
        self.failures: Final = FailureLog()
        self.components: Final = Components(
            workspace=workspace,
            settings=settings,
            clock=clock,
            language=language,
            disk=disk,
            locks=locks,
            logs=SessionLogs(workspace, disk=disk, locks=locks, clock=clock),
            store=store,
            vault=vault,
            log_indexing=LogIndexing(
                vault,
                at_most=locks.at_most,
                patience_seconds=settings.record_patience_seconds,
                on_failure=self.failures.report,
                after=self.embed_soon,
            ),
            failures=self.failures,
            redactor=Redactor(settings.secret_patterns),
            chat=chat,
            agent=agent,
            embedder=_embedder(embedding, store, clock, self.failures, pictures if sees else None),
        )
        self.application: Final = ApplicationContext(self.components)
        self.upkeep: Final = IndexUpkeep(
            vault,
            patience_seconds=settings.index_patience_seconds,
            on_failure=self.failures.report,
            after=self.embed_soon,
        )
        self.notices: Final[list[str]] = []
        self.watching: Sequence[str] = ()
        self.schedule: Final = Schedule(
            self._daily_jobs(),
            workspace,
            clock,
            disk,
            locks,
            on_failure=self.failures.report,
        )
        self._distiller: SerialWorker | None = None
        self._opened = AsyncExitStack()
        self._turns: dict[str, int] = {}
        self._in_vain: Counter[str] = Counter()

    async def start(self) -> None:
        """Open store and vault, settle what a crash left, index what changed meanwhile.

        When a part cannot be opened, the parts before it are closed again.

        Raises:
            StorageFailed: the workspace cannot be opened or written.
        """
        async with AsyncExitStack() as opened:
            await self._open(opened)
            self._opened = opened.pop_all()
        self.embed_soon()

    async def close(self) -> None:
        """Drain the background work within the deadline, then close every part, come what may."""
        opened, self._opened = self._opened, AsyncExitStack()
        try:
            await self.drain(self.components.settings.close_drain_seconds)
        finally:
            await opened.aclose()

    @property
    def queued(self) -> int:
        """Background jobs that are not finished."""
        return sum(part.queued for part in self._background())

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the background work there is; ``False`` when the deadline came first.

        Turns that `distil_soon` only counted are distilled too.
        """
        if self._distiller is not None:
            self.flush_soon()
        clock, done = self.components.clock, True
        end = clock.monotonic() + deadline_seconds
        for part in self._background():
            done = await part.drain(max(0.0, end - clock.monotonic())) and done
        return done

    def distil_soon(self, session_id: str) -> None:
        """Submit a background distillation of a session; every N-th call of it does the work."""
        if self.components.agent is None:
            return
        turns = self._turns.pop(session_id, 0) + 1
        if turns < self.components.settings.record_every_turns:
            self._turns[session_id] = turns
            return
        self._submit(session_id)

    def flush_soon(self, session_id: str | None = None) -> None:
        """Submit what `distil_soon` only counted so far: of one session, or of all."""
        counted = list(self._turns) if session_id is None else [session_id]
        for one in counted:
            if self._turns.pop(one, 0):
                self._submit(one)

    async def catch_up_soon(self) -> None:
        """Submit every session that waits: called when a model has just proved to be alive."""
        for session_id in await asyncio.to_thread(self.components.logs.waiting):
            if session_id not in self._turns and self._in_vain[session_id] < _MOST_IN_VAIN:
                self._submit(session_id, again=True)

    def embed_soon(self) -> None:
        """Submit a background run that fills in missing vectors."""
        if self.components.embedder is not None:
            self.components.embedder.fill_soon()

    def in_a_hurry(self) -> AbstractContextManager[None]:
        """For what a reply waits for: a lock that a stopped process holds is given up soon."""
        parts = self.components
        return parts.locks.at_most(parts.settings.record_patience_seconds)

    async def _open(self, opened: AsyncExitStack) -> None:
        parts = self.components
        await asyncio.to_thread(parts.workspace.create)
        opened.push_async_callback(asyncio.to_thread, parts.store.close)
        await asyncio.to_thread(parts.store.open)
        opened.push_async_callback(self.upkeep.close)
        opened.push_async_callback(asyncio.to_thread, parts.vault.close)
        opened.push_async_callback(parts.log_indexing.drain)
        recovery = await asyncio.to_thread(parts.vault.open)
        scanned = await self.upkeep.start()
        self.notices[:] = [*recovery.notices, *(f"{f.item}: {f.reason}" for f in scanned.failed)]
        await self._expire()
        self._distiller = SerialWorker("auto_memory", on_failure=self.failures.report)
        opened.push_async_callback(self._distiller.close)
        if parts.embedder is not None:
            parts.embedder.open()
            opened.push_async_callback(parts.embedder.close)
        opened.push_async_callback(self.schedule.close)
        await self.schedule.start()
        if parts.settings.watch:
            from agentscope_reme.store.watcher import WorkspaceWatcher

            watcher = WorkspaceWatcher(
                parts.workspace, parts.settings, self._on_paths, self.failures.report
            )
            self.watching = watcher.notices
            opened.push_async_callback(watcher.stop)
            await watcher.start()
            # A process that stays: no reply shall wait while a module is loaded.
            await asyncio.to_thread(self._warm)

    def _warm(self) -> None:
        _load_the_rest()
        try:
            self.components.store.warm()
        except ReMeError as error:  # the first search says so itself
            self.failures.report("index", error)

    def _daily_jobs(self) -> list[DailyJob]:
        """What the settings ask for once a day."""
        settings, jobs = self.components.settings, list[DailyJob]()
        if settings.dream_at is not None and self.components.agent is not None:
            jobs.append(DailyJob("auto_dream", time.fromisoformat(settings.dream_at), self._dream))
        if settings.forget_after_days:
            at = time.fromisoformat(settings.retention_at)
            jobs.append(DailyJob("retention", at, self._retain))
        return jobs

    async def _dream(self) -> None:
        from agentscope_reme.steps.dream import AutoDreamStep

        await AutoDreamStep()(self.application)
        self.embed_soon()

    async def _retain(self) -> None:
        from agentscope_reme.steps.retention import RetentionStep

        await RetentionStep()(self.application, dry_run=False)

    def _background(self) -> list[Background]:
        known = self.components
        parts = (
            self.upkeep,
            known.log_indexing,
            self._distiller,
            known.embedder,
            self.schedule,
        )
        return [part for part in parts if part is not None]

    @cached_property
    def _distil(self) -> DistilStep:
        from agentscope_reme.steps.distil import DistilStep

        return DistilStep()

    def _submit(self, session_id: str, *, again: bool = False) -> None:
        if self._distiller is None:
            raise Closed(str(self.components.workspace), "the memory is not started", "Start it.")
        self._distiller.submit(session_id, lambda: self._distil_now(session_id, again))

    async def _distil_now(self, session_id: str, again: bool) -> None:
        images = self.components.settings.record_images
        result = await self._distil(
            self.application, session_id=session_id, images_if_possible=images
        )
        self.embed_soon()
        if result.success:
            self._in_vain.pop(session_id, None)
        elif again:
            self._in_vain[session_id] += 1
        if result.model_calls and result.success:
            await self.catch_up_soon()

    async def _expire(self) -> None:
        try:
            await asyncio.to_thread(self.components.vault.expire)
        except ReMeError as error:
            self.failures.report("journal", error)

    async def _on_paths(self, paths: set[str]) -> None:
        vault = self.components.vault
        try:
            if paths:
                await asyncio.to_thread(vault.apply_foreign, sorted(paths))
            else:  # the watcher lost track: look at everything
                await asyncio.to_thread(vault.scan)
        except ReMeError as error:
            self.failures.report("watcher", error)
        self.embed_soon()


def _embedder(
    model: EmbeddingPort | None,
    store: BaseFileStore,
    clock: Clock,
    failures: FailureLog,
    pictures: Pictures | None,
) -> Embedder | None:
    if model is None:
        return None
    return Embedder(model, store, clock=clock, on_failure=failures.report, pictures=pictures)


def _load_the_rest() -> None:
    """What calls would load when they are made first."""
    for name in _LATE:
        import_module(f"{__package__}.{name}")
