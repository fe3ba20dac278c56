"""Where a shared index is: what `ReMe` takes as `file_store`."""

from __future__ import annotations

from typing import Final

from agentscope_reme.settings import Settings
from agentscope_reme.store.scaleout.engine import Engine
from agentscope_reme.store.scaleout.identity import name_in
from agentscope_reme.store.scaleout.shared_store import SharedFileStore
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.workspace import Workspace


class SharedIndex:
    """Makes the stores of any number of workspaces over one engine.

    Args:
        engine: the database; its connections are shared by all of them.
        namespace: of the application in that database.
        tokenizer: default `MemoryTokenizer`.

    Raises:
        BadInput: the namespace is empty or has a slash.
    """

    def __init__(
        self, engine: Engine, namespace: str, *, tokenizer: MemoryTokenizer | None = None
    ) -> None:
        self.engine: Final = engine
        self._namespace: Final = namespace
        self._tokenizer: Final = tokenizer

    def __call__(self, workspace: Workspace, settings: Settings) -> SharedFileStore:
        """The store of one workspace."""
        return SharedFileStore(
            workspace,
            self.engine,
            name=name_in(self._namespace, workspace),
            settings=settings,
            tokenizer=self._tokenizer,
        )


def seekdb_index(
    *,
    namespace: str,
    host: str = "127.0.0.1",
    port: int = 2881,
    user: str = "root",
    password: str = "",
    database: str = "agentscope_reme",
    shards: int = 1,
    connect_seconds: float = 5.0,
    answer_seconds: float = 60.0,
    tokenizer: MemoryTokenizer | None = None,
) -> SharedIndex:
    """A shared index in seekdb or OceanBase; needs ``agentscope-reme[seekdb]``.

    Args:
        namespace: of the application in the database.
        host: of the server or of OceanBase's proxy.
        port: of the MySQL protocol.
        user: with OceanBase ``user@tenant``; may create tables.
        password: of the user.
        database: created when missing.
        shards: sets of tables over which workspaces are spread, fixed for a database: 1 for one
            server, several dozens for a cluster.
        connect_seconds: how long a connection may take.
        answer_seconds: how long an answer may take.
        tokenizer: default `MemoryTokenizer`.

    Raises:
        BadInput: the client is not installed, or an argument is out of range.
    """
    from agentscope_reme.store.scaleout.seekdb_connections import SeekdbAddress
    from agentscope_reme.store.scaleout.seekdb_engine import SeekdbEngine

    address = SeekdbAddress(host, port, user, password, database, connect_seconds, answer_seconds)
    return SharedIndex(SeekdbEngine(address, shards=shards), namespace, tokenizer=tokenizer)


def milvus_index(
    *,
    namespace: str,
    uri: str = "http://127.0.0.1:19530",
    token: str = "",
    database: str = "",
    prefix: str = "agentscope_reme",
    answer_seconds: float = 60.0,
    tokenizer: MemoryTokenizer | None = None,
) -> SharedIndex:
    """A shared index in Milvus; needs ``agentscope-reme[milvus]``.

    Args:
        namespace: of the application in the database.
        uri: of the server.
        token: ``user:password`` or an API key, where the server wants one.
        database: an existing one; the server's default without it.
        prefix: of the names of the collections.
        answer_seconds: how long an answer may take.
        tokenizer: default `MemoryTokenizer`.

    Raises:
        BadInput: the client is not installed.
    """
    from agentscope_reme.store.scaleout.milvus_collections import MilvusAddress
    from agentscope_reme.store.scaleout.milvus_engine import MilvusEngine

    address = MilvusAddress(uri, token, database, prefix, answer_seconds)
    return SharedIndex(MilvusEngine(address), namespace, tokenizer=tokenizer)
