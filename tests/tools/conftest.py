"""One desk per kind of file view: the same promises hold over each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agentscope_reme.clock import Clock
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.views import FileView
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.testing import FakeClock
from agentscope_reme.tools import OWNER, FileOperations, Scope
from agentscope_reme.vault.live_view import LiveView
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace
from tests.tools.in_memory import InMemoryStore, InMemoryView


@dataclass(frozen=True)
class Desk:
    """A workspace with some hands on it."""

    view: FileView
    store: BaseFileStore
    workspace: Workspace
    clock: Clock
    settings: Settings = field(default_factory=lambda: Settings(fsync=False))

    def operations(self, scope: Scope = OWNER) -> FileOperations:
        return FileOperations(
            self.view,
            self.store,
            scope=scope,
            settings=self.settings,
            clock=self.clock,
            workspace=self.workspace,
        )

    def with_answer_bytes(self, count: int) -> Desk:
        return replace(self, settings=Settings(fsync=False, tool_answer_bytes=count))

    def put(self, path: str, text: str | bytes) -> None:
        self.view.write(path, text.encode() if isinstance(text, str) else text)

    def text(self, path: str) -> str:
        return self.view.read(path).decode()


VIEWS = ["in memory", "vault"]


@pytest.fixture(params=[*VIEWS, "staged in memory", "staged over the vault"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A desk over each kind of view."""
    kind: str = request.param
    with _open_desk(tmp_path, vault=kind.endswith("vault")) as found:
        yield replace(found, view=ChangeSet(found.view)) if kind.startswith("staged") else found


@pytest.fixture(params=VIEWS)
def shared_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A desk over views that several threads may change; a staged one belongs to one run."""
    with _open_desk(tmp_path, vault=request.param == "vault") as found:
        yield found


@contextmanager
def _open_desk(tmp_path: Path, *, vault: bool) -> Iterator[Desk]:
    workspace = Workspace(tmp_path / "memory")
    workspace.create()
    clock = FakeClock("2026-06-20T10:00:00", timezone="Europe/Berlin")
    if vault:
        with _open_vault(workspace, clock) as found:
            yield found
    else:
        store = InMemoryStore()
        yield Desk(InMemoryView(store), store, workspace, clock)


@contextmanager
def _open_vault(workspace: Workspace, clock: Clock) -> Iterator[Desk]:
    settings = Settings(fsync=False)
    disk = Disk(fsync=False)
    store = LocalFileStore(workspace, settings=settings)
    vault = Vault(
        workspace,
        store,
        FileIndexer(settings),
        disk=disk,
        locks=WorkspaceLocks(workspace),
        journal=Journal(workspace, disk=disk, clock=clock),
        clock=clock,
        settings=settings,
    )
    store.open()
    vault.open()
    yield Desk(LiveView(vault, actor="user"), store, workspace, clock)
    vault.close()
    store.close()
