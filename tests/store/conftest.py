"""Stores for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
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


@pytest.fixture
def chroma_store(workspace: Workspace) -> Iterator[BaseFileStore]:
    from agentscope_reme.store.chroma_store import ChromaFileStore

    store = ChromaFileStore(workspace, settings=Settings())
    store.open()
    yield store
    store.close()


HAS_CHROMA = find_spec("chromadb") is not None
CHROMA = [pytest.param("chroma", marks=pytest.mark.chroma)] if HAS_CHROMA else []
collect_ignore = [] if HAS_CHROMA else ["test_vectors_in_chroma.py"]


@pytest.fixture(params=["local", "reference", *CHROMA])
def store(request: pytest.FixtureRequest) -> BaseFileStore:
    """Every implementation of the contract."""
    if request.param == "reference":
        return ReferenceStore()
    found: BaseFileStore = request.getfixturevalue(f"{request.param}_store")
    return found
