"""What all calls share: the engine, started when first needed, and work off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from agentscope_reme.engine import Engine
from agentscope_reme.errors import BadInput, Closed
from agentscope_reme.steps.context import ApplicationContext, Components

if TYPE_CHECKING:
    from agentscope_reme.files.views import FileView
    from agentscope_reme.tools.file_operations import FileOperations
    from agentscope_reme.tools.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")


class Calls:
    """The root of the call groups. One instance belongs to one event loop.

    Args:
        engine: the parts of one workspace, not started yet.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._opening: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the workspace and catch up with the files; calling it again does nothing.

        Who is cancelled while waiting here gives up the wait, not the start. After `close` the
        memory can be started again.

        Raises:
            StorageFailed: the workspace cannot be opened or written.
        """
        if self._closing is not None:
            await asyncio.shield(self._closing)
            self._closing = self._opening = None
        if self._opening is None or _failed(self._opening):
            self._opening = asyncio.create_task(self._engine.start(), name="start of a memory")
        self._require_this_loop(self._opening)
        await asyncio.shield(self._opening)

    async def close(self) -> None:
        """Drain background work within `Settings.close_drain_seconds` and close.

        What was not finished stays pending in the files. Calling it again does nothing.
        """
        if self._opening is None:
            return
        self._require_this_loop(self._opening)
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="close of a memory")
        await asyncio.shield(self._closing)

    @property
    def application(self) -> ApplicationContext:
        """Where steps of your own run: ``await MyStep()(reme.application, ...)``."""
        return self._engine.application

    @property
    def is_open(self) -> bool:
        """Whether the workspace is open, so that calls need not wait for a start."""
        opening = self._opening
        usable = opening is not None and opening.done() and not _failed(opening)
        return usable and self._closing is None

    async def _close(self) -> None:
        opening = self._opening
        if opening is not None:
            await asyncio.wait({opening})
            if not _failed(opening):
                await self._engine.close()

    async def _ready(self) -> Components:
        self._refuse_closed()
        await self.start()
        return self._engine.components

    def _refuse_closed(self) -> None:
        if self._closing is not None:
            raise Closed(
                str(self._engine.components.workspace.root),
                "the memory was closed",
                "Call `start()` to use it again, or open a new `ReMe`.",
            )

    def _require_this_loop(self, task: asyncio.Task[None]) -> None:
        if task.get_loop() is not asyncio.get_running_loop():
            raise BadInput(
                str(self._engine.components.workspace.root),
                "the memory was started in another event loop",
                "Use one `asyncio.run` for its whole life, or open a new `ReMe`.",
            )

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


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
