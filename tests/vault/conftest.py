from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.settings import Settings
from agentscope_reme.testing import FakeClock
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace
from tests.vault.memory_store import MemoryStore, PlainIndexer


class House:
    """A vault and everything it is made of, over one folder."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.workspace = Workspace(root)
        self.disk = disk or Disk()
        self.clock = FakeClock()
        self.store = MemoryStore()
        self.indexer = PlainIndexer()
        self.locks = WorkspaceLocks(self.workspace)
        self.journal = Journal(self.workspace, disk=self.disk, clock=self.clock)
        self.vault = Vault(
            self.workspace,
            self.store,
            self.indexer,
            disk=self.disk,
            locks=self.locks,
            journal=self.journal,
            clock=self.clock,
            settings=Settings(),
        )

    @property
    def root(self) -> Path:
        return self.workspace.root

    def put(self, path: str, text: str) -> None:
        """Write a file past the vault, as a person does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def files(self) -> dict[str, str]:
        """Every visible file, by path."""
        return {path: self.text(path) for path in self.vault.paths()}


@pytest.fixture
def house(tmp_path: Path) -> House:
    built = House(tmp_path / "memory")
    built.vault.open()
    return built
