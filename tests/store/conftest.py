"""Stores for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.store.reference_store import ReferenceStore


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def local_store(workspace: Workspace) -> Iterator[LocalFileStore]:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    yield store
    store.close()


@pytest.fixture(params=["local", "reference"])
def store(request: pytest.FixtureRequest) -> BaseFileStore:
    """Every implementation of the contract."""
    if request.param == "reference":
        return ReferenceStore()
    local: BaseFileStore = request.getfixturevalue("local_store")
    return local
