"""Where the system grants no events, edits are noticed by polling, and somebody is told why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from agentscope_reme.settings import Settings
from agentscope_reme.store.watcher import WorkspaceWatcher
from agentscope_reme.workspace import Workspace
from tests.store.test_watching import Told, told

__all__ = ["told"]


class LimitedWatcher(WorkspaceWatcher):
    """A system that has given all its watches away; `refusals` more attempts fail."""

    refusals = 1
    error: type[Exception] = OSError

    def _subscribe(self) -> RustNotify:
        if self.refusals:
            self.refusals -= 1
            raise self.error("OS file watch limit reached")
        return super()._subscribe()


class Troubles(list[tuple[str, str]]):
    def report(self, where: str, error: BaseException) -> None:
        self.append((where, str(error)))


@pytest.mark.parametrize("error", [OSError, PermissionError, WatchfilesRustInternalError])
async def test_polling_takes_over(workspace: Workspace, told: Told, error: type[Exception]) -> None:
    workspace.create()
    troubles = Troubles()
    watcher = LimitedWatcher(workspace, Settings(), told, troubles.report)
    watcher.error = error
    await watcher.start()
    (workspace.root / "daily/a.md").write_text("a")
    await told.until("daily/a.md")
    await watcher.stop()
    assert troubles == [("watcher", "OS file watch limit reached")]
    assert watcher.notices == [
        "Changes by others are noticed late, by polling: OS file watch limit reached."
    ]


async def test_even_polling_may_fail_for_a_while(workspace: Workspace, told: Told) -> None:
    workspace.create()
    watcher = LimitedWatcher(workspace, Settings(), told)
    watcher.refusals = 2
    await watcher.start()
    assert "not noticed" in watcher.notices[0]
    await told.until(calls=1)
    assert told.calls == [set()]  # what happened in between is looked for everywhere
    assert "by polling" in watcher.notices[0]
    await watcher.stop()


async def test_stopping_raises_nothing(workspace: Workspace, told: Told) -> None:
    workspace.create()
    watcher = LimitedWatcher(workspace, Settings(), told)
    watcher.refusals = 10**6
    await watcher.start()
    await asyncio.wait_for(watcher.stop(), 10)
    await watcher.stop()


async def test_events_that_fail_later_are_replaced_as_well(
    workspace: Workspace, told: Told, tmp_path: Path
) -> None:
    workspace.create()

    class FailingLater(WorkspaceWatcher):
        failed = False

        def _paths(self, places: object) -> set[str]:
            if not self.failed:
                self.failed = True
                raise WatchfilesRustInternalError("no more watches")
            return super()._paths(places)  # type: ignore[arg-type]

    watcher = FailingLater(workspace, Settings(), told)
    await watcher.start()
    (workspace.root / "daily/a.md").write_text("a")
    await told.until(calls=1)
    assert told.calls[0] == set()
    (workspace.root / "daily/b.md").write_text("b")
    await told.until("daily/b.md")
    await watcher.stop()
