"""Memory nodes in Elasticsearch."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from elastic_transport import TransportError
from elasticsearch import ApiError, BadRequestError, Elasticsearch

from agentscope_reme.errors import BadInput
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import AnyOf, Condition, NoneOf, Within
from agentscope_reme.typed.stores.checks import not_open
from agentscope_reme.typed.stores.engine import Engine, Near, Page, Record
from agentscope_reme.typed.stores.engine_store import EngineStore

_SETTINGS: Final = {
    "mapping.total_fields.limit": 10_000,  # each metadata key is a field or two
    "max_result_window": 1_000_000,  # a filter that lets little through is asked for more and more
}
_TYPES: Final = {
    "t_*": "keyword",
    "n_*": "double",
    "p_*": "double",
    "f_*": "boolean",
    "v_*": "boolean",
}
_KEPT: Final = {"type": "text", "index": False}
_HEAVY: Final = ["vector", "row"]
_COSINE: Final = "cosineSimilarity(params.query, 'vector') + 1.0"
_NOT_FOUND: Final = 404


class ElasticsearchVectorStore(EngineStore):
    """A store in Elasticsearch 8 or 9; the installed client must be of the server's major version.

    Args:
        folder: where processes on this machine wait for each other; a server keeps everything.
        hosts: addresses such as ``http://127.0.0.1:9200``; needed unless `cloud_id` is given.
        cloud_id: names a deployment in the vendor's cloud.
        basic_auth: user and password.
        api_key: instead of a user.
        verify_certs: whether certificates must be sound; ``None`` leaves it to the client.
        headers: sent with every request.
        collection: begins the names of its indexes.

    Raises:
        BadInput: it is not said where the server is.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        hosts: str | Sequence[str] | None = None,
        cloud_id: str | None = None,
        basic_auth: tuple[str, str] | None = None,
        api_key: str | None = None,
        verify_certs: bool | None = None,
        headers: Mapping[str, str] | None = None,
        collection: str = "reme",
    ) -> None:
        if hosts is None and cloud_id is None:
            raise BadInput(hosts, "Elasticsearch is a server", "Pass `hosts` or `cloud_id`.")
        given = {
            "hosts": [hosts] if isinstance(hosts, str) else hosts,
            "cloud_id": cloud_id,
            "basic_auth": None if basic_auth is None else tuple(basic_auth),
            "api_key": api_key,
            "verify_certs": verify_certs,
            "headers": headers,
        }
        connection = {name: value for name, value in given.items() if value is not None}
        super().__init__(ElasticsearchEngine(connection), collection, Path(folder))


class ElasticsearchEngine(Engine):
    """Elasticsearch as records in collections.

    Every write refreshes its index, so that the next search sees it. Searches compare all vectors
    the filter lets through, exactly.

    Args:
        connection: what its client is made with.
    """

    name: ClassVar = "Elasticsearch"
    faults: ClassVar = (ApiError, TransportError, OSError, ValueError)

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection: Final = connection
        self._client: Elasticsearch | None = None

    def open(self) -> None:
        """Connect."""
        if self._client is None:
            self._client = Elasticsearch(**self._connection)

    def close(self) -> None:
        """Let go."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def ensure(self, collection: str, width: int | None) -> None:
        """Make an index when it is missing."""
        indices = self._opened().indices
        if indices.exists(index=collection):
            return
        try:
            indices.create(index=collection, settings=_SETTINGS, mappings=_mappings(width))
        except BadRequestError as error:
            if error.error != "resource_already_exists_exception":  # another process was quicker
                raise

    def drop(self, collection: str) -> None:
        """Remove an index."""
        self._opened().indices.delete(index=collection, ignore_unavailable=True)

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Store records whole."""
        operations: list[dict[str, Any]] = []
        for record in records:
            operations += [{"index": {"_id": record.key}}, _document(record)]
        self._write(collection, operations)

    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        """Set one attribute of records."""
        operations: list[dict[str, Any]] = []
        for key in keys:
            operations += [{"update": {"_id": key}}, {"doc": {"attributes": {name: value}}}]
        self._write(collection, operations)

    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> dict[str, Record]:
        """The records with these keys."""
        left_out = _HEAVY[:1] if with_vectors else _HEAVY
        found = self._opened().mget(index=collection, ids=list(keys), source_excludes=left_out)
        return {row["_id"]: _record(row) for row in found["docs"] if row.get("found")}

    def delete(self, collection: str, keys: Sequence[str]) -> None:
        """Remove records."""
        self._write(collection, [{"delete": {"_id": key}} for key in keys])

    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        """The next records, in the order of their keys."""
        rows = self._opened().search(
            index=collection,
            query=_query(conditions),
            size=size,
            sort=[{"key": "asc"}],
            search_after=None if after is None else [after],
            source_excludes=_HEAVY,
        )["hits"]["hits"]
        return Page(list(map(_record, rows)), rows[-1]["_id"] if len(rows) == size else None)

    def count(self, collection: str, conditions: Sequence[Condition]) -> int:
        """How many records there are."""
        return int(self._opened().count(index=collection, query=_query(conditions))["count"])

    def nearest(
        self, collection: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> list[Near]:
        """The nearest, exactly."""
        script = {"source": _COSINE, "params": {"query": vector.tolist()}}
        rows = self._opened().search(
            index=collection,
            query={"script_score": {"query": _query(conditions), "script": script}},
            size=limit,
            source_includes=["body"],
        )["hits"]["hits"]
        return [Near(row["_id"], row["_source"]["body"], row["_score"] - 1.0) for row in rows]

    def _write(self, collection: str, operations: Sequence[dict[str, Any]]) -> None:
        answer = self._opened().bulk(index=collection, operations=operations, refresh=True)
        refused = [*_refusals(answer["items"])]
        if refused:
            raise ValueError(refused[0])

    def _opened(self) -> Elasticsearch:
        if self._client is None:
            raise not_open(self.name)
        return self._client


def _mappings(width: int | None) -> dict[str, Any]:
    vector: dict[str, Any] = {}
    if width is not None:
        vector = {
            "vector": {"type": "dense_vector", "dims": width, "index": False},
            # Newer servers leave vectors out of what they give back.
            "row": {"type": "binary"},
        }
    kinds = [
        {pattern[0]: {"match": pattern, "mapping": {"type": kind}}}
        for pattern, kind in _TYPES.items()
    ]
    attributes = {"type": "object", "dynamic": True}
    properties = {"key": {"type": "keyword"}, "body": _KEPT, "attributes": attributes, **vector}
    return {"dynamic": "strict", "dynamic_templates": kinds, "properties": properties}


def _document(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": record.key,
        "body": record.body,
        "attributes": record.attributes,
    }
    if record.vector is not None:
        packed = base64.b64encode(record.vector.astype("<f4").tobytes()).decode("ascii")
        found |= {"vector": record.vector.tolist(), "row": packed}
    return found


def _record(row: Mapping[str, Any]) -> Record:
    source = row["_source"]
    vector = None
    if "row" in source:
        packed = base64.b64decode(source["row"])
        vector = np.frombuffer(packed, "<f4").astype(np.float32)
    return Record(row["_id"], source["body"], source["attributes"], vector)


def _refusals(items: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Why operations of a bulk failed, apart from those on records that are gone."""
    for item in items:
        for action, told in item.items():
            if "error" in told and told.get("status") != _NOT_FOUND:
                yield f"{action} of {told.get('_id')}: {told['error']}"


def _query(conditions: Sequence[Condition]) -> dict[str, Any]:
    asks: list[dict[str, Any]] = []
    never: list[dict[str, Any]] = []
    for condition in conditions:
        name = f"attributes.{condition.name}"
        match condition:
            case AnyOf(values=values):
                asks.append({"terms": {name: list(values)}})
            case NoneOf():
                never.append({"term": {name: True}})
            case Within(lowest=lowest, highest=highest):
                asks.append({"range": {name: {"gte": lowest, "lte": highest}}})
    return {"bool": {"filter": asks, "must_not": never}}
