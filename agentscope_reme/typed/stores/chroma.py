"""Memory nodes in Chroma: its engine inside this process, or a server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

import chromadb
import numpy as np
from chromadb.config import Settings as ChromaSettings
from chromadb.errors import ChromaError, NotFoundError

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import AnyOf, Condition, NoneOf, Within
from agentscope_reme.typed.stores.checks import not_open
from agentscope_reme.typed.stores.engine import Engine, Near, Page, Record
from agentscope_reme.typed.stores.engine_store import EngineStore

_COSINE: Final = {"hnsw": {"space": "cosine"}}


class ChromaVectorStore(EngineStore):
    """A store in Chroma.

    Without `host`, Chroma runs inside this process on files in `folder`.

    Args:
        folder: where the files go.
        host: a server's name or address.
        port: of the server.
        api_key: sent as ``x-chroma-token``.
        ssl: speak TLS.
        tenant: whose database it is.
        database: its name.
        collection: begins the names of its collections.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        host: str | None = None,
        port: int = 8000,
        api_key: str | None = None,
        ssl: bool = False,
        tenant: str = chromadb.DEFAULT_TENANT,
        database: str = chromadb.DEFAULT_DATABASE,
        collection: str = "reme",
    ) -> None:
        where: dict[str, Any] = {"tenant": tenant, "database": database}
        if host is None:
            where["path"] = str(Path(folder) / "chroma")
        else:
            headers = {} if api_key is None else {"x-chroma-token": api_key}
            where.update(host=host, port=port, ssl=ssl, headers=headers)
        super().__init__(ChromaEngine(where), collection, Path(folder))


class ChromaEngine(Engine):
    """Chroma as records in collections.

    It keeps no record without a vector, so those that need none get one that says nothing.

    Args:
        connection: what its client is made with.
    """

    name: ClassVar = "Chroma"
    faults: ClassVar = (ChromaError, OSError, RuntimeError, ValueError, TypeError)

    def __init__(self, connection: dict[str, Any]) -> None:
        self._connection: Final = connection
        self._client: Any = None
        self._collections: Final[dict[str, Any]] = {}

    def open(self) -> None:
        """Connect."""
        if self._client is None:
            make = chromadb.PersistentClient if "path" in self._connection else chromadb.HttpClient
            quiet = ChromaSettings(anonymized_telemetry=False)
            self._client = make(**self._connection, settings=quiet)

    def close(self) -> None:
        """Let go."""
        self._client = None
        self._collections.clear()

    def ensure(self, collection: str, width: int | None) -> None:
        """Make a collection when it is missing; its first vector decides the width."""
        self._collections[collection] = self._opened().get_or_create_collection(
            collection, embedding_function=None, configuration=_COSINE
        )

    def drop(self, collection: str) -> None:
        """Remove a collection."""
        self._collections.pop(collection, None)
        with suppress(NotFoundError):
            self._opened().delete_collection(collection)

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Store records whole."""
        there = self._found(collection, [record.key for record in records])
        self._in(collection).upsert(
            ids=[record.key for record in records],
            documents=[record.body for record in records],
            metadatas=[_instead_of(there.get(record.key), record) for record in records],
            embeddings=[
                _nothing(record.key) if record.vector is None else record.vector
                for record in records
            ],
        )

    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        """Set one attribute of records."""
        self._in(collection).update(ids=list(keys), metadatas=[{name: value}] * len(keys))

    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> dict[str, Record]:
        """The records with these keys."""
        return self._found(collection, keys, with_vectors=with_vectors)

    def delete(self, collection: str, keys: Sequence[str]) -> None:
        """Remove records."""
        there = [*self._found(collection, keys)]
        if there:
            self._in(collection).delete(ids=there)

    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        """The next records, in the order they came."""
        start = after or 0
        found = self._in(collection).get(
            where=_where(conditions), limit=size, offset=start, include=["documents", "metadatas"]
        )
        records = _records(found)
        return Page(records, start + size if len(records) == size else None)

    def count(self, collection: str, conditions: Sequence[Condition]) -> int:
        """How many records there are."""
        if not conditions:
            return int(self._in(collection).count())
        return len(self._in(collection).get(where=_where(conditions), include=[])["ids"])

    def nearest(
        self, collection: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> list[Near]:
        """The nearest, with their exact cosines."""
        found = self._in(collection).query(
            query_embeddings=[vector],
            n_results=limit,
            where=_where(conditions),
            include=["documents", "embeddings"],
        )
        rows = np.asarray(found["embeddings"][0], np.float32).reshape(-1, len(vector))
        hits = zip(found["ids"][0], found["documents"][0], (rows @ vector).tolist(), strict=True)
        return sorted((Near(*hit) for hit in hits), key=lambda hit: -hit.cosine)

    def _found(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> dict[str, Record]:
        include = ["documents", "metadatas", *(["embeddings"] if with_vectors else [])]
        found = self._in(collection).get(ids=list(keys), include=include)
        return {record.key: record for record in _records(found)}

    def _in(self, collection: str) -> Any:
        if collection not in self._collections:
            self.ensure(collection, None)
        return self._collections[collection]

    def _opened(self) -> Any:
        if self._client is None:
            raise not_open(self.name)
        return self._client


def _records(found: Any) -> list[Record]:
    vectors = found.get("embeddings")
    rows: Sequence[Any] = [None] * len(found["ids"]) if vectors is None else vectors
    columns = zip(found["ids"], found["documents"], found["metadatas"], rows, strict=True)
    return [
        Record(key, body, attributes, None if row is None else np.asarray(row, np.float32))
        for key, body, attributes, row in columns
    ]


def _instead_of(old: Record | None, record: Record) -> dict[str, Any]:
    """Attributes that leave nothing of the old ones, with which Chroma mixes new ones."""
    gone: dict[str, Any] = dict.fromkeys(old.attributes if old else ())
    return {**gone, **record.attributes}


def _nothing(key: str) -> list[float]:
    """A direction as good as any, another one for each key: equal ones slow its graph down."""
    angle = int(key[:8], 16) / 2**32 * 2 * math.pi
    return [math.cos(angle), math.sin(angle)]


def _where(conditions: Sequence[Condition]) -> dict[str, Any] | None:
    asks: list[dict[str, Any]] = []
    for condition in conditions:
        match condition:
            case AnyOf(name, values):
                asks.append({name: {"$in": list(values)}})
            case NoneOf(name):
                asks.append({name: {"$ne": True}})
            case Within(name, lowest, highest):
                asks += [{name: {"$gte": lowest}}, {name: {"$lte": highest}}]
    if len(asks) < 2:
        return asks[0] if asks else None
    return {"$and": asks}
