"""The contract of derived storage: what every file store promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index sees it: its node and its chunks, in file order."""

    node: FileNode
    chunks: tuple[FileChunk, ...]


@dataclass(frozen=True, slots=True)
class FileStamp:
    """How the index knows a file has not changed: quick check first, hash when in doubt."""

    mtime_ns: int
    size: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which files a search may answer from. Every given condition must hold.

    Dates are ``YYYY-MM-DD`` and inclusive, compared with the date in a path
    (``daily/2026-06-20/…``, ``daily/2026-06-20.md``, ``memory/2026-06-20.md``); a file without a
    date passes. ``tags`` is a union: any of them is enough. ``fields`` compares front matter.
    """

    path_prefix: str | None = None
    layers: tuple[str, ...] | None = None
    exclude_layers: tuple[str, ...] = ()
    start_date: str | None = None
    end_date: str | None = None
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    paths: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts of one store."""

    files: int = 0
    chunks: int = 0
    links: int = 0
    tags: int = 0
    vectors: int = 0
    vectors_pending: int = 0
    revision: int = 0
    bytes_on_disk: int = 0
    notices: tuple[str, ...] = ()


class BaseFileStore(ABC):
    """Keeps what files say in a form that answers quickly. Everything in it can be rebuilt.

    Synchronous and safe to call from several threads. `apply` is one transaction: when it
    returns, keyword search, links and tags show the change, in this process at once and in
    others after their next `refresh`.
    """

    @abstractmethod
    def open(self) -> None:
        """Load or create the store; foreign or damaged data is set aside, never trusted."""

    @abstractmethod
    def close(self) -> None:
        """Release files; the store can be opened again."""

    @abstractmethod
    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        """Replace the given files and forget the deleted paths, all or nothing.

        Vectors are kept for every chunk whose text is already known. Unknown deletes are ignored.

        Raises:
            StorageFailed: nothing was changed.
        """

    @abstractmethod
    def refresh(self) -> None:
        """Catch up with other processes; cheap when nothing happened. Searches do it themselves."""

    @abstractmethod
    def clear(self) -> None:
        """Forget every file; vectors may be kept by text."""

    @abstractmethod
    def node(self, path: str) -> FileNode | None:
        """The indexed file at `path`."""

    @abstractmethod
    def nodes(self, prefix: str = "") -> list[FileNode]:
        """Indexed files whose path starts with `prefix`, sorted by path."""

    @abstractmethod
    def chunks(self, path: str) -> list[FileChunk]:
        """The chunks of one file, in file order; empty when it is not indexed."""

    @abstractmethod
    def stamps(self) -> dict[str, FileStamp]:
        """The stamp of every indexed file, for comparing with the disk."""

    @abstractmethod
    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        """BM25 over the indexed text, best first; ties in a fixed order."""

    @abstractmethod
    def vector_search(
        self, vector: Sequence[float], *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        """Cosine similarity over the stored vectors, best first; empty without vectors."""

    @abstractmethod
    def outlinks(self, path: str) -> list[FileLink]:
        """Links written in `path`, in order."""

    @abstractmethod
    def inlinks(self, path: str) -> list[FileLink]:
        """Links to `path` from other files, sorted by source path."""

    @abstractmethod
    def tags(self) -> dict[str, int]:
        """Every tag and how many files carry it."""

    @abstractmethod
    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector in this space, as ``(text hash, text)``."""

    @abstractmethod
    def put_vectors(self, space_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Store vectors by text hash. A new `space_id` drops those of the old one.

        Raises:
            BadInput: the vectors are not all of one width.
        """

    @abstractmethod
    def optimize(self) -> None:
        """Reclaim what lazy deletion left behind."""

    @abstractmethod
    def stats(self) -> StoreStats:
        """Counts, for `status()`."""
