"""What a shared store needs of a database, and the rows that go in and out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentscope_reme.schema import FileLink
from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.vectors import Floats


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file.

    Attributes:
        path: in the workspace.
        stamp: which version of it is indexed.
        rules: what names the way it was cut and its terms were counted.
        record: front matter, links and tags, packed; see `rows`.
        tags: its tags.
        links: the links written in it, in order.
        answers: how many of its chunks can be found.
        length: their terms, in all.
    """

    path: str
    stamp: FileStamp
    rules: str
    record: bytes
    tags: tuple[str, ...] = ()
    links: tuple[FileLink, ...] = ()
    answers: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk.

    Attributes:
        chunk_id: unique in its workspace.
        position: its place among the chunks of its file, from 0.
        answer: its place among those that can be found; -1 when it cannot.
        start_line: 1-based.
        end_line: inclusive.
        length: in terms.
        text_hash: what its vectors are known by.
        text: UTF-8, with surrogates.
        details: headings and metadata, packed; see `rows`.
        terms: what is searched, of `OpaqueTerms`; empty when it cannot be found.
    """

    chunk_id: str
    position: int
    answer: int
    start_line: int
    end_line: int
    length: int
    text_hash: str
    text: bytes
    details: bytes
    terms: str


@dataclass(frozen=True, slots=True)
class ChunkOutline:
    """As much of a stored chunk as decides what of it can stay."""

    chunk_id: str
    position: int
    answer: int
    start_line: int
    length: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it is to be from now on.

    Attributes:
        file: its row.
        chunks: its chunks; of a file that grew, those from `keep_below` on.
        chunk_count: how many it has in all.
        keep_below: stored chunks that begin before this line stay as they are.
        base: what has to be stored for that.
    """

    file: FileRow
    chunks: tuple[ChunkRow, ...]
    chunk_count: int
    keep_below: int = 0
    base: FileStamp | None = None


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A stored chunk and what is known of its file."""

    path: str
    chunk: ChunkRow
    record: bytes


@dataclass(frozen=True, slots=True)
class Restriction:
    """What an engine itself leaves out of an answer. Every given condition holds.

    Attributes:
        layers: only files of these layers.
        prefix: only files whose path starts like this.
        paths: only these files; a few hundred at most.
        raw: only raw files, or only others.
    """

    layers: Collection[str] | None = None
    prefix: str = ""
    paths: Collection[str] | None = None
    raw: bool | None = None


OPEN = Restriction()


@dataclass(frozen=True, slots=True)
class Head:
    """What is kept for a workspace as a whole.

    Attributes:
        owner: the id of the workspace whose index it is; empty before the first.
        revision: grows with every change.
        settled: whether all files were compared with it once.
        answers: how many chunks can be found.
        length: their terms, in all.
    """

    owner: str = ""
    revision: int = 0
    settled: bool = False
    answers: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class Space:
    """An embedding space with vectors of a workspace: its name, its table and their width."""

    name: str
    table: int
    width: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of one workspace; files by tag."""

    files: int
    chunks: int
    links: int
    tags: Mapping[str, int]


class Engine(Protocol):
    """A database that many workers share. Safe to call from several threads.

    Everything names the workspace it is about, and never tells anything of another one. A file is
    replaced all or nothing. What was committed is found by the next call, of whichever worker.

    Every call may raise `StorageFailed`; nothing was changed then, or it can be done again.
    """

    def open(self) -> None:
        """Connect and make what tables are missing; once for each `close`."""

    def close(self) -> None:
        """Let go of the connections when the last user closed."""

    def head(self, workspace: str) -> Head:
        """What is kept for the workspace."""

    def claim(self, workspace: str, owner: str) -> str:
        """Make it the index of a workspace unless it is another's; returns whose it is."""

    def settle(self, workspace: str) -> None:
        """Note that all files were compared with it."""

    def commit(
        self, workspace: str, changes: Sequence[FileChange], gone: Sequence[str] = ()
    ) -> bool:
        """Replace files and forget others.

        Returns:
            False, and nothing is changed, when a `base` is not what is stored.
        """

    def clear(self, workspace: str) -> None:
        """Forget every file; vectors stay."""

    def file(self, workspace: str, path: str) -> FileRow | None:
        """One file."""

    def files(self, workspace: str, prefix: str = "") -> list[FileRow]:
        """The files whose path starts with a prefix, sorted by path."""

    def stamps(self, workspace: str) -> dict[str, tuple[FileStamp, str]]:
        """Stamp and rules of every file."""

    def outlines(self, workspace: str, prefix: str) -> dict[str, list[ChunkOutline]]:
        """The chunks of the files whose path starts with a prefix, in order."""

    def outline(self, workspace: str, path: str) -> list[ChunkOutline]:
        """The chunks of one file, in order."""

    def chunks(self, workspace: str, path: str) -> list[ChunkRow]:
        """The chunks of one file in full, in order, without their terms."""

    def linking(self, workspace: str, target: str) -> list[FileRow]:
        """The files with a link to a path, sorted by path."""

    def totals(self, workspace: str) -> Totals:
        """Counts."""

    def sample(self, workspace: str, size: int) -> list[str]:
        """The terms of so many chunks that can be found, by chance; of all if there are less."""

    def matching(
        self, workspace: str, words: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """Chunks with at least one of the words, the best by BM25, or by what the engine has."""

    def containing(
        self, workspace: str, characters: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """Chunks that can be found with at least one of these characters in their text; slow."""

    def spaces(self, workspace: str) -> list[Space]:
        """The spaces with vectors, the one that was written last first."""

    def put_vectors(
        self, workspace: str, name: str, vectors: Mapping[str, Floats], width: int
    ) -> None:
        """Store vectors of length 1 by text hash; their space is then the newest."""

    def nearest(
        self, workspace: str, space: Space, vector: Floats, limit: int, *, exact: bool
    ) -> list[tuple[str, float]]:
        """Text hashes with their cosine, best first."""

    def with_texts(
        self, workspace: str, text_hashes: Sequence[str], only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """The chunks that can be found and have one of these texts; terms may be left out."""

    def known_texts(self, workspace: str, text_hashes: Sequence[str]) -> set[str]:
        """Those of some text hashes that a chunk has."""

    def all_texts(self, workspace: str) -> set[str]:
        """The text hash of every chunk."""

    def missing(self, workspace: str, space: Space | None, limit: int) -> list[tuple[str, bytes]]:
        """Texts of chunks that can be found without a vector in a space: text hash and text."""

    def count_texts(self, workspace: str, space: Space | None) -> tuple[int, int]:
        """How many texts that can be found have a vector in a space, and how many have none."""

    def prune(self, workspace: str, spaces: Collection[str]) -> None:
        """Forget vectors of texts no chunk has and of other spaces than these, and leftovers."""
