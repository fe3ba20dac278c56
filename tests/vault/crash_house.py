"""A vault over the real store, for processes that are killed."""

from __future__ import annotations

from agentscope_reme.clock import Clock
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.settings import Settings
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace


def open_vault(root: str) -> Vault:
    """Open store and vault the way the engine does."""
    workspace, settings, disk, clock = Workspace(root), Settings(), Disk(), Clock("UTC")
    workspace.create()
    store = LocalFileStore(workspace, settings=settings)
    store.open()
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
    vault.open()
    return vault
