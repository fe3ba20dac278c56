"""What goes into a store and comes out of it, as values: files, their stamps, filters, counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentscope_reme.schema import FileChunk, FileNode


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index sees it: its node and its chunks, in file order."""

    node: FileNode
    chunks: tuple[FileChunk, ...]

    @property
    def path(self) -> str:
        """The workspace path."""
        return self.node.path

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.node.size

    @property
    def chunk_count(self) -> int:
        """How many chunks it has."""
        return len(self.chunks)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """How the index knows a file has not changed: quick check first, hash when in doubt."""

    mtime_ns: int
    size: int
    content_hash: str


class FileStamps(Mapping[str, FileStamp]):
    """The stamps of many files.

    Kept as plain tuples, which the garbage collector looks at once; it would walk through
    thousands of `FileStamp` whenever it looks at everything.

    Args:
        rows: path, modification time in nanoseconds, size in bytes, and content hash.
    """

    def __init__(self, rows: Iterable[tuple[str, int, int, str]]) -> None:
        self._rows: Final = {row[0]: row[1:] for row in rows}

    def __getitem__(self, path: str) -> FileStamp:
        return FileStamp(*self._rows[path])

    def __contains__(self, path: object) -> bool:
        return path in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True)
class FileGrowth:
    """A file without front matter that went on: its finished chunks stay, the last ones change.

    Attributes:
        path: the file.
        base: what the index has to hold of it, for this to be a continuation.
        stamp: the file as it is now.
        first_line: chunks that begin before this line (1-based) stay; the others are replaced.
        chunks: what stands from `first_line` on, in file order.
    """

    path: str
    base: FileStamp
    stamp: FileStamp
    first_line: int
    chunks: tuple[FileChunk, ...]

    def continues(self, size: int, content_hash: str) -> bool:
        """Whether an indexed file is the one this goes on from."""
        return (size, content_hash) == (self.base.size, self.base.content_hash)


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which files a search may answer from. Every given condition must hold.

    Dates are ``YYYY-MM-DD`` and inclusive, compared with the date in a path
    (``daily/2026-06-20/…``, ``daily/2026-06-20.md``, ``memory/2026-06-20.md``), of what was said in
    a session with the days it was said on; what has no date passes. ``tags`` is a union: any of
    them is enough. ``fields`` compares front matter. ``pictures`` asks for picture files alone, or
    for everything else.
    """

    path_prefix: str | None = None
    layers: tuple[str, ...] | None = None
    exclude_layers: tuple[str, ...] = ()
    start_date: str | None = None
    end_date: str | None = None
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    paths: frozenset[str] | None = None
    pictures: bool | None = None


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
    pinned: int = 0


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """What an index needs before it can be relied on; nothing when all is false.

    Attributes:
        outdated: other rules made it; it answers, and is to be built anew.
        incomplete: it started empty, because there was none or it was damaged.
        unchecked: somebody did not close it; files are to be compared by content.
        half_built: building it anew was begun and not finished.
        generation: which index this was said of.
    """

    outdated: bool = False
    incomplete: bool = False
    unchecked: bool = False
    half_built: bool = False
    generation: str = ""
