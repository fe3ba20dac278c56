"""One server of each kind for all tests of a process, and stores in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.settings import Settings
from agentscope_reme.store.scaleout import SharedIndex, milvus_index, seekdb_index
from agentscope_reme.store.scaleout.shared_store import SharedFileStore
from agentscope_reme.workspace import Workspace
from tests.scaleout.servers import HAS_MILVUS, HAS_SEEKDB, MilvusServer, SeekdbServer

KINDS = [pytest.param("seekdb", marks=pytest.mark.scaleout) for _ in range(HAS_SEEKDB)] + [
    pytest.param("milvus", marks=pytest.mark.scaleout) for _ in range(HAS_MILVUS)
]

collect_ignore = [
    *([] if KINDS else ["engines"]),
    *([] if HAS_MILVUS else ["engines/test_commits_without_transactions.py"]),
    *([] if HAS_SEEKDB else ["engines/test_the_guide_tells_the_truth.py"]),
]

Opener = Callable[..., SharedFileStore]


@pytest.fixture(scope="session")
def seekdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeekdbServer]:
    with SeekdbServer(tmp_path_factory.mktemp("seekdb")) as server:
        yield server


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each engine whose server is installed."""
    return str(request.param)


@pytest.fixture
def namespace() -> str:
    """A name no other test has."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def place(kind: str, namespace: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Where the index of a test is, for a worker in another process."""
    return {"kind": kind, **arguments_of(request.getfixturevalue(kind), namespace)}


@pytest.fixture
def index(kind: str, namespace: str, request: pytest.FixtureRequest) -> SharedIndex:
    """A shared index; each call of it makes a store, as in another worker."""
    return index_of(request.getfixturevalue(kind), namespace)


@pytest.fixture
def opened(index: SharedIndex) -> Iterator[Opener]:
    """Opens stores and closes them after the test."""
    with ExitStack() as stack:

        def open_store(
            folder: Path, *, user: str | None = None, settings: Settings | None = None
        ) -> SharedFileStore:
            workspace = Workspace(folder, user=user)
            workspace.create()
            store = index(workspace, settings or Settings())
            store.open()
            stack.callback(store.close)
            return store

        yield open_store


def index_of(server: SeekdbServer | MilvusServer, namespace: str) -> SharedIndex:
    """A shared index on a server, with connections of its own."""
    make = milvus_index if isinstance(server, MilvusServer) else seekdb_index
    return make(**arguments_of(server, namespace))


def arguments_of(server: SeekdbServer | MilvusServer, namespace: str) -> dict[str, Any]:
    """How an index on a server is made."""
    if isinstance(server, MilvusServer):
        return {"namespace": namespace, "uri": server.uri}
    return {
        "namespace": namespace,
        "port": server.port,
        "user": server.user,
        "password": server.password,
    }
