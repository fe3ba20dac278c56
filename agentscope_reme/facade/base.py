"""What all calls share: the engine, started when first needed, and work off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from agentscope_reme.engine import Engine
from agentscope_reme.steps.context import Components
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.scope import OWNER, Scope
from agentscope_reme.vault.live_view import LiveView

P = ParamSpec("P")
R = TypeVar("R")


class Calls:
    """The root of the call groups. One instance belongs to one event loop.

    Args:
        engine: the parts of one workspace, not started yet.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = False
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Open the workspace and catch up with the files; calling it again does nothing.

        Raises:
            StorageFailed: the workspace cannot be opened or written.
        """
        async with self._starting:
            if not self._started:
                await self._engine.start()
                self._started = True

    async def close(self) -> None:
        """Drain background work within `Settings.close_drain_seconds` and close.

        What was not finished stays pending in the files. Calling it again does nothing.
        """
        async with self._starting:
            if self._started:
                self._started = False
                await self._engine.close()

    async def _ready(self) -> Components:
        if not self._started:
            await self.start()
        return self._engine.components

    def _operations(self, scope: Scope) -> FileOperations:
        parts = self._engine.components
        return FileOperations(
            LiveView(parts.vault, actor=scope.actor),
            parts.store,
            scope=scope,
            settings=parts.settings,
            clock=parts.clock,
            workspace=parts.workspace,
        )

    async def _owner(self, operation: Callable[[FileOperations], R], *, changes: bool = False) -> R:
        """Run one file operation with the rights of the person who owns the memory."""
        await self._ready()
        result = await asyncio.to_thread(operation, self._operations(OWNER))
        if changes:
            self._engine.embed_soon()
        return result
