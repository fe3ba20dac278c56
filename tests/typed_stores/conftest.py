"""Every store that is installed, for the contract."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agentscope_reme.typed.stores import BaseVectorStore, make_store
from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.chroma_server import chroma_served
from tests.typed_stores.elasticsearch_server import Server, address, serving
from tests.typed_stores.reference_store import ReferenceStore

SHIPPED: list[Any] = ["local", "qdrant", "elasticsearch"]
if find_spec("chromadb"):
    kinds = ("chroma", "served-chroma")
    SHIPPED += [pytest.param(kind, marks=pytest.mark.chroma) for kind in kinds]
if "REME_ES_URL" in os.environ:
    SHIPPED.append(pytest.param("real-elasticsearch", marks=pytest.mark.elasticsearch))


@pytest.fixture
def local_store(tmp_path: Path) -> Iterator[LocalVectorStore]:
    store = LocalVectorStore(tmp_path)
    store.open()
    yield store
    store.close()


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def chroma_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with chroma_served(tmp_path_factory.mktemp("served")) as port:
        yield port


@pytest.fixture(params=["reference", *SHIPPED])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseVectorStore]:
    """Every implementation of the contract."""
    if request.param == "reference":
        yield ReferenceStore()
        return
    found = make_store(backend(request.param), tmp_path, **options_of(request))
    found.open()
    yield found
    found.close()


def backend(param: str) -> str:
    return param.removeprefix("real-").removeprefix("served-")


def options_of(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a backend is reached with; a collection of its own where a server is shared."""
    own = {"collection": f"t{uuid4().hex}"}
    if request.param == "elasticsearch":
        server: Server = request.getfixturevalue("elasticsearch_server")
        return {"hosts": address(server), **own}
    if request.param == "real-elasticsearch":
        return {"hosts": os.environ["REME_ES_URL"], **own}
    if request.param == "served-chroma":
        port: int = request.getfixturevalue("chroma_port")
        return {"host": "127.0.0.1", "port": port, **own}
    return {}
