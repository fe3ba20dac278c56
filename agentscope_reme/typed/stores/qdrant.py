"""Memory nodes in Qdrant: a server, its cloud, or its engine inside this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final
from uuid import UUID

import numpy as np
from grpc import RpcError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import AnyOf, Condition, NoneOf, Within
from agentscope_reme.typed.stores.checks import not_open
from agentscope_reme.typed.stores.engine import Engine, Near, Page, Record
from agentscope_reme.typed.stores.engine_store import EngineStore

_BODY: Final = "body"
_ATTRIBUTES: Final = "attributes"


class QdrantVectorStore(EngineStore):
    """A store in Qdrant.

    Without `url` and `host`, Qdrant runs inside this process on files in `folder`; one process at a
    time, and meant for some ten thousand nodes.

    Args:
        folder: where the files go.
        host: a server's name or address.
        port: of its REST interface.
        url: where the server is, instead of `host` and `port`.
        api_key: what it asks for.
        https: speak TLS; ``None`` leaves it to the client.
        grpc_port: of its gRPC interface.
        prefer_grpc: use that.
        on_disk: keep vectors on the disk instead of in memory.
        collection: begins the names of its collections.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        host: str | None = None,
        port: int = 6333,
        url: str | None = None,
        api_key: str | None = None,
        https: bool | None = None,
        grpc_port: int = 6334,
        prefer_grpc: bool = False,
        on_disk: bool = False,
        collection: str = "reme",
    ) -> None:
        if host is None and url is None:
            connection: dict[str, Any] = {"path": str(Path(folder) / "qdrant")}
        else:
            connection = {
                "host": host,
                "port": port,
                "url": url,
                "api_key": api_key,
                "https": https,
                "grpc_port": grpc_port,
                "prefer_grpc": prefer_grpc,
                # It would ask from a thread of its own, and warn when it gets no answer.
                "check_compatibility": False,
            }
        engine = QdrantEngine(connection, on_disk=on_disk)
        super().__init__(engine, collection, Path(folder))


class QdrantEngine(Engine):
    """Qdrant as records in collections.

    Args:
        connection: what its client is made with.
        on_disk: keep vectors on the disk.
    """

    name: ClassVar = "Qdrant"
    faults: ClassVar = (ApiException, RpcError, OSError, RuntimeError, ValueError)

    def __init__(self, connection: dict[str, Any], *, on_disk: bool = False) -> None:
        self._connection: Final = connection
        self._on_disk: Final = on_disk
        self._client: QdrantClient | None = None
        # The engine inside this process is always exact, and warns when it is told to be.
        self._is_inside: Final = "host" not in connection
        self._exact: Final = None if self._is_inside else models.SearchParams(exact=True)

    def open(self) -> None:
        """Connect."""
        if self._client is None:
            self._client = QdrantClient(**self._connection)

    def close(self) -> None:
        """Let go."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def ensure(self, collection: str, width: int | None) -> None:
        """Make a collection and the indexes its filters use, when it is missing."""
        client = self._opened()
        if client.collection_exists(collection):
            return
        shape: Any = {}
        if width is not None:
            cosine = models.Distance.COSINE
            shape = models.VectorParams(size=width, distance=cosine, on_disk=self._on_disk)
        client.create_collection(collection, vectors_config=shape)
        if not self._is_inside:  # that engine has no indexes
            for name in ("t_memory_target", "t_memory_type"):
                client.create_payload_index(
                    collection, f"{_ATTRIBUTES}.{name}", models.PayloadSchemaType.KEYWORD
                )

    def drop(self, collection: str) -> None:
        """Remove a collection."""
        if self._opened().collection_exists(collection):
            self._opened().delete_collection(collection)

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Store records whole."""
        points = [
            models.PointStruct(
                id=str(UUID(record.key)),
                payload={_BODY: record.body, _ATTRIBUTES: record.attributes},
                vector={} if record.vector is None else record.vector.tolist(),
            )
            for record in records
        ]
        self._opened().upsert(collection, points, wait=True)

    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        """Set one attribute of records."""
        points: Any = [str(UUID(key)) for key in keys]
        self._opened().set_payload(
            collection, {name: value}, points=points, key=_ATTRIBUTES, wait=True
        )

    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> dict[str, Record]:
        """The records with these keys."""
        found = self._opened().retrieve(
            collection, [str(UUID(key)) for key in keys], with_vectors=with_vectors
        )
        return {record.key: record for record in map(_record, found)}

    def delete(self, collection: str, keys: Sequence[str]) -> None:
        """Remove records."""
        points: Any = [str(UUID(key)) for key in keys]
        self._opened().delete(collection, models.PointIdsList(points=points), wait=True)

    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        """The next records, in the order of their keys."""
        found, behind = self._opened().scroll(
            collection, scroll_filter=_filter(conditions), limit=size, offset=after
        )
        return Page([_record(point) for point in found], behind)

    def count(self, collection: str, conditions: Sequence[Condition]) -> int:
        """How many records there are."""
        return self._opened().count(collection, _filter(conditions), exact=True).count

    def nearest(
        self, collection: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> list[Near]:
        """The nearest, exactly: a person's memories are few, and an approximation may lack some."""
        found = self._opened().query_points(
            collection,
            query=vector.tolist(),
            query_filter=_filter(conditions),
            limit=limit,
            search_params=self._exact,
        )
        return [Near(UUID(str(p.id)).hex, (p.payload or {})[_BODY], p.score) for p in found.points]

    def _opened(self) -> QdrantClient:
        if self._client is None:
            raise not_open(self.name)
        return self._client


def _record(point: Any) -> Record:
    vector = np.asarray(point.vector, np.float32) if isinstance(point.vector, list) else None
    payload = point.payload
    return Record(UUID(str(point.id)).hex, payload[_BODY], payload[_ATTRIBUTES], vector)


def _filter(conditions: Sequence[Condition]) -> models.Filter:
    must: list[Any] = []
    must_not: list[Any] = []
    for condition in conditions:
        name = f"{_ATTRIBUTES}.{condition.name}"
        match condition:
            case AnyOf(values=values):
                options: list[Any] = [_is(name, value) for value in values]
                must.append(options[0] if len(options) == 1 else models.Filter(should=options))
            case NoneOf():
                must_not.append(_is(name, True))
            case Within(lowest=lowest, highest=highest):
                must.append(
                    models.FieldCondition(key=name, range=models.Range(gte=lowest, lte=highest))
                )
    return models.Filter(must=must, must_not=must_not)


def _is(name: str, value: str | bool) -> models.FieldCondition:
    return models.FieldCondition(key=name, match=models.MatchValue(value=value))
