"""Derived data: the search index, links, tags and vectors. All of it can be rebuilt from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.store.base import BaseFileStore
    from agentscope_reme.store.bm25 import BM25Index
    from agentscope_reme.store.catalog import FileCatalog
    from agentscope_reme.store.graph import FileGraph
    from agentscope_reme.store.indexer import FileIndexer
    from agentscope_reme.store.local_store import LocalFileStore
    from agentscope_reme.store.records import FileStamp, IndexedFile, SearchFilter, StoreStats
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

# Late, so that importing the contract loads neither numpy nor YAML.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "base": "BaseFileStore",
        "bm25": "BM25Index",
        "catalog": "FileCatalog",
        "graph": "FileGraph",
        "indexer": "FileIndexer",
        "local_store": "LocalFileStore",
        "records": "FileStamp IndexedFile SearchFilter StoreStats",
        "watcher": "WorkspaceWatcher",
    },
)
