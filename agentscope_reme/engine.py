"""Builds the parts of one workspace, owns their life, and runs the background work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import Closed, ModelFailed, ReMeError
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.session_log import SessionArchive
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentPort, ChatPort, EmbeddingPort
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.runtime.serial_worker import SerialWorker
from agentscope_reme.settings import Settings
from agentscope_reme.steps.context import ApplicationContext, Components
from agentscope_reme.steps.distil import DistilStep
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.watcher import WorkspaceWatcher
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace

_EMBED_BATCH: Final = 64


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
    ) -> None:
        disk = Disk(fsync=settings.fsync)
        locks = WorkspaceLocks(workspace)
        store = LocalFileStore(workspace, settings=settings)
        vault = Vault(
            workspace,
            store,
            FileIndexer(settings),
            disk=disk,
            locks=locks,
            journal=Journal(workspace, disk=disk, clock=clock),
            clock=clock,
            settings=settings,
        )
        self.failures: Final = FailureLog()
        self.components: Final = Components(
            workspace=workspace,
            settings=settings,
            clock=clock,
            language=language,
            disk=disk,
            locks=locks,
            store=store,
            vault=vault,
            failures=self.failures,
            chat=chat,
            agent=agent,
            embedding=embedding,
        )
        self.application: Final = ApplicationContext(self.components)
        self.notices: Final[list[str]] = []
        self._distil = DistilStep()
        self._distiller: SerialWorker | None = None
        self._embedder: SerialWorker | None = None
        self._watcher: WorkspaceWatcher | None = None
        self._turns: dict[str, int] = {}

    async def start(self) -> None:
        """Open store and vault, settle what a crash left, index what changed meanwhile."""
        parts = self.components
        await asyncio.to_thread(parts.workspace.create)
        await asyncio.to_thread(parts.store.open)
        try:
            recovery = await asyncio.to_thread(parts.vault.open)
            scanned = await asyncio.to_thread(parts.vault.scan)
        except BaseException:
            await asyncio.to_thread(parts.store.close)
            raise
        self.notices[:] = [*recovery.notices, *(f"{f.item}: {f.reason}" for f in scanned.failed)]
        await self._expire()
        self._distiller = SerialWorker("auto_memory", on_failure=self.failures.report)
        self._embedder = SerialWorker("embedding", on_failure=self.failures.report)
        if parts.settings.watch:
            self._watcher = WorkspaceWatcher(parts.workspace, parts.settings, self._on_paths)
            await self._watcher.start()
        self.embed_soon()

    async def close(self) -> None:
        """Stop watching, drain the workers within the deadline, close vault and store."""
        if self._watcher is not None:
            await self._watcher.stop()
            self._watcher = None
        deadline = self.components.settings.close_drain_seconds
        for worker in (self._distiller, self._embedder):
            if worker is not None:
                await worker.drain(deadline)
                await worker.close()
        self._distiller = self._embedder = None
        await asyncio.to_thread(self.components.vault.close)
        await asyncio.to_thread(self.components.store.close)

    @property
    def queued(self) -> int:
        """Background jobs that are not finished."""
        return sum(w.queued for w in (self._distiller, self._embedder) if w is not None)

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the background work there is; ``False`` when the deadline came first."""
        done = True
        for worker in (self._distiller, self._embedder):
            if worker is not None:
                done = await worker.drain(deadline_seconds) and done
        return done

    def distil_soon(self, session_id: str) -> None:
        """Submit a background distillation of a session; every N-th call of it does the work."""
        if self.components.agent is None:
            return
        turns = self._turns.get(session_id, 0) + 1
        self._turns[session_id] = turns
        if turns % self.components.settings.record_every_turns:
            return
        self._running(self._distiller).submit(session_id, lambda: self._distil_now(session_id))

    def embed_soon(self) -> None:
        """Submit a background run that fills in missing vectors."""
        embedding = self.components.embedding
        if embedding is not None and self._embedder is not None:
            self._embedder.submit("vectors", lambda: self._embed_missing(embedding))

    async def archive(self, session_id: str, messages: Iterable[Message]) -> str:
        """Append turns in full to ``session/agentscope/``; returns the archive's path."""
        parts = self.components
        archive = SessionArchive(
            parts.workspace, session_id, disk=parts.disk, locks=parts.locks, clock=parts.clock
        )
        await asyncio.to_thread(archive.append, list(messages))
        return archive.path

    async def _distil_now(self, session_id: str) -> None:
        await self._distil(self.application, session_id=session_id)
        self.embed_soon()

    async def _expire(self) -> None:
        try:
            await asyncio.to_thread(self.components.vault.expire)
        except ReMeError as error:
            self.failures.report("journal", error)

    async def _embed_missing(self, embedding: EmbeddingPort) -> None:
        store = self.components.store
        while batch := await asyncio.to_thread(
            store.missing_vectors, embedding.space_id, _EMBED_BATCH
        ):
            vectors = await embedding.embed([text for _, text in batch])
            if len(vectors) != len(batch):
                raise ModelFailed(
                    len(vectors), f"{len(batch)} vectors were asked for", "Check the model."
                )
            by_hash = {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
            await asyncio.to_thread(store.put_vectors, embedding.space_id, by_hash)

    async def _on_paths(self, paths: set[str]) -> None:
        try:
            await asyncio.to_thread(self.components.vault.apply_foreign, sorted(paths))
        except ReMeError as error:
            self.failures.report("watcher", error)
        self.embed_soon()

    def _running(self, worker: SerialWorker | None) -> SerialWorker:
        if worker is None:
            raise Closed(str(self.components.workspace), "the memory is not started", "Start it.")
        return worker
