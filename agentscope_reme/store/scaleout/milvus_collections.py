"""The collections of a shared index in Milvus, and the calls to them.

A filter of Milvus is a text that values are written into, so none of them is ever free: names,
paths and targets go in as hexadecimal digits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.store.scaleout.milvus_schema import FIELDS, Field, vector_fields

if TYPE_CHECKING:
    from pymilvus import MilvusClient

Record = dict[str, Any]

MOST_ASKED: Final = 16_384
"""Rows of an answer: Milvus' limit."""
AT_ONCE: Final = 500
_UNREACHABLE: Final = 2
"""The client's code for a connection that cannot be made."""
_NOT_LOADED: Final = 101
_UNUSED: Final = {"unused": [1.0, 0.0]}
"""A collection without a vector is refused."""


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where a server is, and how long it is waited for.

    Args:
        uri: of the server.
        token: ``user:password`` or an API key; never shown.
        database: an existing one; the default one without it.
        prefix: of the names of the collections.
        answer_seconds: how long an answer may take.
    """

    uri: str = "http://127.0.0.1:19530"
    token: str = field(default="", repr=False)
    database: str = ""
    prefix: str = "agentscope_reme"
    answer_seconds: float = 60.0


class MilvusCollections:
    """Rows of collections, as dictionaries. Thread-safe, as Milvus' client is.

    Args:
        address: where to connect.

    Raises:
        BadInput: the client is not installed.
    """

    def __init__(self, address: MilvusAddress) -> None:
        if find_spec("pymilvus") is None:
            raise BadInput(
                "milvus",
                "this store needs pymilvus, which is not installed",
                "pip install 'agentscope-reme[milvus]', or use the local store.",
            )
        self._address: Final = address
        self._client: MilvusClient | None = None
        self._vectors: set[str] = set()

    def open(self) -> None:
        """Connect and make what collections are missing.

        Raises:
            StorageFailed: the server cannot be reached or refused.
        """
        with self._translated():
            self._client = client = self._connected()
            self._load(client)
            for name, fields in FIELDS.items():
                self._make(name, fields)

    def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        self._vectors.clear()
        if client is not None:
            client.close()

    def make_vectors(self, name: str, width: int) -> None:
        """Make the collection of an embedding space, if it is missing."""
        if name not in self._vectors:
            with self._translated():
                self._make(name, vector_fields(width))
            self._vectors.add(name)

    def has(self, name: str) -> bool:
        """Whether there is such a collection."""
        return bool(
            self._call(lambda client, **limit: client.has_collection(self._full(name), **limit))
        )

    def put(self, name: str, rows: Sequence[Record]) -> None:
        """Add or replace rows by key."""
        extra = {} if "vectors" in name or name == "chunks" else _UNUSED
        for start in range(0, len(rows), AT_ONCE):
            some = [{**row, **extra} for row in rows[start : start + AT_ONCE]]
            self._call(
                lambda client, some=some, **limit: client.upsert(self._full(name), some, **limit)
            )

    def delete(self, name: str, where: str) -> None:
        """Remove the rows a filter selects."""
        self._call(lambda client, **limit: client.delete(self._full(name), filter=where, **limit))

    def select(
        self, name: str, where: str, fields: Sequence[str], limit: int = MOST_ASKED
    ) -> list[Record]:
        """The rows a filter selects, in no order."""
        if limit <= MOST_ASKED - 1:
            return list(self._ask(name, where, fields, max(limit, 1)))
        found = self._ask(name, where, fields, MOST_ASKED)
        return list(found) if len(found) < MOST_ASKED else self._all(name, where, fields)[:limit]

    def count(self, name: str, where: str) -> int:
        """How many rows a filter selects."""
        rows = self._call(
            lambda client, **limit: client.query(
                self._full(name), filter=where, output_fields=["count(*)"], **limit
            )
        )
        return int(rows[0]["count(*)"])

    def search(
        self, name: str, near: object, where: str, fields: Sequence[str], limit: int, **how: Any
    ) -> list[tuple[float, Record]]:
        """The best rows with what Milvus calls their distance."""
        found = self._call(
            lambda client, **given: client.search(
                self._full(name),
                data=[near],
                filter=where,
                limit=min(limit, MOST_ASKED),
                output_fields=list(fields),
                **how,
                **given,
            )
        )
        return [(float(hit["distance"]), hit["entity"]) for hit in found[0]]

    def _ask(self, name: str, where: str, fields: Sequence[str], limit: int) -> Sequence[Record]:
        rows: Sequence[Record] = self._call(
            lambda client, **given: client.query(
                self._full(name), filter=where, output_fields=list(fields), limit=limit, **given
            )
        )
        return rows

    def _all(self, name: str, where: str, fields: Sequence[str]) -> list[Record]:
        def read(client: MilvusClient, **given: Any) -> list[Record]:
            rows: list[Record] = []
            pages = client.query_iterator(
                self._full(name), filter=where, output_fields=list(fields), batch_size=AT_ONCE
            )
            while page := pages.next():
                rows += page
            pages.close()
            return rows

        found: list[Record] = self._call(read)
        return found

    def _call(self, work: Callable[..., Any]) -> Any:
        """Ask the server; over a new connection once more, when the old one is lost."""
        from pymilvus.exceptions import MilvusException

        client, limit = self._client, self._address.answer_seconds
        if client is None:
            raise StorageFailed(self._address.uri, "the engine is not open", "Call `open()`.")
        with self._translated():
            try:
                return work(client, timeout=limit)
            except MilvusException as error:
                if error.code not in (_UNREACHABLE, _NOT_LOADED):
                    raise
                if error.code == _UNREACHABLE:
                    self._client = client = self._connected()
                self._load(client)
                return work(client, timeout=limit)

    def _load(self, client: MilvusClient) -> None:
        """Take collections into the server's memory; after a restart none is there."""
        for name in client.list_collections():
            if name.startswith(self._full("")):
                client.load_collection(name)

    def _connected(self) -> MilvusClient:
        from pymilvus import MilvusClient

        address = self._address
        return MilvusClient(
            uri=address.uri,
            token=address.token,
            db_name=address.database,
            timeout=address.answer_seconds,
            # shared connections remember for a while that nobody listened
            dedicated=True,
            grpc_options={"grpc.use_local_subchannel_pool": 1},
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, OSError) as error:
            raise StorageFailed(
                self._address.uri,
                f"the database of the shared index failed: {error}",
                "Check that it runs; files are safe, and what was missed is indexed later.",
            ) from error

    def _make(self, name: str, fields: Sequence[Field]) -> None:
        client = self._client
        if client is None or client.has_collection(self._full(name)):
            return
        from pymilvus import DataType, Function, FunctionType

        schema, index = client.create_schema(), client.prepare_index_params()
        for one in fields:
            elements = {"element_type": DataType.VARCHAR} if one.kind == "ARRAY" else {}
            schema.add_field(one.name, getattr(DataType, one.kind), **one.options, **elements)
            if one.kind == "SPARSE_FLOAT_VECTOR":
                bm25 = Function("bm25", FunctionType.BM25, ["terms"], [one.name])
                schema.add_function(bm25)
                index.add_index(one.name, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
            elif one.kind == "FLOAT_VECTOR":
                index.add_index(one.name, index_type="AUTOINDEX", metric_type="COSINE")
        client.create_collection(
            self._full(name), schema=schema, index_params=index, consistency_level="Strong"
        )

    def _full(self, name: str) -> str:
        return f"{self._address.prefix}_{name}"


def hexed(name: str) -> str:
    """A name in digits that sort as its bytes do."""
    return name.encode("utf-8", "surrogatepass").hex()


def unhexed(digits: str) -> str:
    """The name `hexed` was given."""
    return bytes.fromhex(digits).decode("utf-8", "surrogatepass")


def key_of(*parts: str) -> str:
    """One key for several names."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def among(name: str, digits: Collection[str]) -> str:
    """A condition: a field of digits is one of these."""
    quoted = ", ".join(f'"{one}"' for one in digits)
    return f"{name} in [{quoted}]"
