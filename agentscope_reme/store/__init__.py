"""Derived data: the search index, links, tags and vectors. All of it can be rebuilt from files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentscope_reme.store.base import (
        BaseFileStore,
        FileStamp,
        IndexedFile,
        SearchFilter,
        StoreStats,
    )
    from agentscope_reme.store.bm25 import BM25Index
    from agentscope_reme.store.catalog import FileCatalog
    from agentscope_reme.store.graph import FileGraph
    from agentscope_reme.store.indexer import FileIndexer
    from agentscope_reme.store.local_store import LocalFileStore
    from agentscope_reme.store.watcher import WorkspaceWatcher

__all__ = [
    "BM25Index",
    "BaseFileStore",
    "FileCatalog",
    "FileGraph",
    "FileIndexer",
    "FileStamp",
    "IndexedFile",
    "LocalFileStore",
    "SearchFilter",
    "StoreStats",
    "WorkspaceWatcher",
]

_HOMES: Final = {
    "BM25Index": "bm25",
    "FileCatalog": "catalog",
    "FileGraph": "graph",
    "FileIndexer": "indexer",
    "LocalFileStore": "local_store",
    "WorkspaceWatcher": "watcher",
}


def __getattr__(name: str) -> Any:
    # Late, so that importing the contract loads neither numpy nor YAML.
    if name in __all__:
        module = import_module(f"{__name__}.{_HOMES.get(name, 'base')}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
