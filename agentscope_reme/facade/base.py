"""What all calls share: the engine, started when first needed, and work off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from agentscope_reme.engine import Engine
from agentscope_reme.facade.lifetime import Lifetime
from agentscope_reme.runtime.opening import Opening
from agentscope_reme.steps.context import ApplicationContext, Components

if TYPE_CHECKING:
    from agentscope_reme.files.views import FileView
    from agentscope_reme.tools.file_operations import FileOperations
    from agentscope_reme.tools.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")


class Recorder(Protocol):
    """What saves the conversations of agents; `AutoMemoryHook` is one."""

    async def save_all(self) -> None:
        """Save what was not saved yet; never raises."""


class Calls(Lifetime):
    """The root of the call groups. One instance belongs to one event loop.

    Args:
        engine: the parts of one workspace, not started yet.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        name = str(engine.components.workspace.root)
        self._life = Opening(name, lambda: engine.start(), lambda: engine.close())
        self._recorders: WeakSet[Recorder] = WeakSet()
        self._leaving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the workspace and catch up with the files; calling it again does nothing.

        Who is cancelled while waiting here gives up the wait, not the start. After `close` the
        memory can be started again.

        Raises:
            StorageFailed: the workspace cannot be opened or written.
        """
        if (leaving := self._saving_before_close()) is not None:
            await asyncio.wait({leaving})
        await self._life.start()

    async def close(self) -> None:
        """Drain background work within `Settings.close_drain_seconds` and close.

        What was not finished stays pending in the files. Calling it again does nothing. What the
        last reply of an attached agent that still lives left unsaved, because it failed, is saved
        first, for as long at most.
        """
        if self._life.is_closed:
            await self._life.close()
            return
        if self._leaving is None or self._leaving.done():
            self._leaving = asyncio.create_task(self._leave(), name="close of a memory")
        await asyncio.shield(self._leaving)  # who gives up waiting does not give up the close

    @property
    def application(self) -> ApplicationContext:
        """Where steps of your own run: ``await MyStep()(reme.application, ...)``."""
        return self._engine.application

    @property
    def is_open(self) -> bool:
        """Whether the workspace is open, so that calls need not wait for a start."""
        return self._life.is_open

    def _saving_before_close(self) -> asyncio.Task[None] | None:
        """The close that has begun and still saves; one of another loop cannot be waited for."""
        leaving = self._leaving
        if leaving is None or leaving.done() or not self.is_open:
            return None
        return leaving if leaving.get_loop() is asyncio.get_running_loop() else None

    async def _leave(self) -> None:
        await self._save_conversations()
        await self._life.close()

    async def _save_conversations(self) -> None:
        recorders = list(self._recorders)
        try:
            async with asyncio.timeout(self._engine.components.settings.close_drain_seconds):
                saving = (recorder.save_all() for recorder in recorders)
                await asyncio.gather(*saving, return_exceptions=True)  # one may be cancelled
        except TimeoutError as error:
            self._engine.failures.report("hook.auto_memory", error)

    async def _ready(self) -> Components:
        """Open, with every recorded turn in the index."""
        await self._life.ready()
        parts = self._engine.components
        await parts.log_indexing.drain()
        return parts

    def _operations(self, scope: Scope) -> FileOperations:
        from agentscope_reme.tools.file_operations import FileOperations
        from agentscope_reme.tools.redacting_view import RedactingView
        from agentscope_reme.tools.scope import OWNER
        from agentscope_reme.vault.live_view import LiveView

        parts = self._engine.components
        view: FileView = LiveView(parts.vault, actor=scope.actor)
        if scope is not OWNER:
            view = RedactingView(view, parts.redactor, parts.settings.redact)
        return FileOperations(
            view,
            parts.store,
            scope=scope,
            settings=parts.settings,
            clock=parts.clock,
            workspace=parts.workspace,
        )

    async def _owner(self, operation: Callable[[FileOperations], R], *, changes: bool = False) -> R:
        """Run one file operation with the rights of the person who owns the memory."""
        await self._ready()
        result = await asyncio.to_thread(self._as_owner, operation)
        if changes:
            self._engine.embed_soon()
        return result

    def _as_owner(self, operation: Callable[[FileOperations], R]) -> R:
        from agentscope_reme.tools.scope import OWNER

        return operation(self._operations(OWNER))
