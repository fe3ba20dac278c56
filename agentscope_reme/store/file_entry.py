"""A file of the store: where its chunks stand, and how a new version is handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentscope_reme.schema import FileChunk, FileLink, FileNode
from agentscope_reme.store.indexed_text import ChunkWords
from agentscope_reme.store.postings import Document


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Where a file's chunks stand: in slots from `first_slot` to `last_slot`, in file order.

    Slots are given out once and in order. A file that was replaced as a whole has all of them; one
    of which a part was kept shares the range with others.
    """

    id: int
    path: str
    first_slot: int
    last_slot: int
    chunk_count: int

    @property
    def has_all(self) -> bool:
        """Whether every slot of the range is its own."""
        return self.last_slot - self.first_slot + 1 == self.chunk_count

    def grown(self, kept: KeptChunks, added: int, next_slot: int) -> FileEntry:
        """The entry once the first chunks were kept and others added from `next_slot` on."""
        last = next_slot + added - 1 if added else kept.last_slot
        return FileEntry(self.id, self.path, self.first_slot, last, kept.count + added)


@dataclass(frozen=True, slots=True)
class KeptChunks:
    """The first chunks of a stored file, which its new version begins with as well.

    Attributes:
        entry: the stored file.
        count: how many chunks stay, at least one.
        last_slot: where the last of them stands.
    """

    entry: FileEntry
    count: int
    last_slot: int


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A new version of a stored file, with the terms of the chunks behind those that stay."""

    node: FileNode
    chunks: tuple[FileChunk, ...]
    words: list[ChunkWords | None]
    kept: KeptChunks

    @property
    def path(self) -> str:
        """The workspace path."""
        return self.node.path

    @property
    def new_chunks(self) -> tuple[FileChunk, ...]:
        """The chunks that are not stored yet."""
        return self.chunks[self.kept.count :]

    @property
    def added(self) -> int:
        """How many chunks are new."""
        return len(self.words)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the file."""
        return self.node.tags

    @property
    def front_matter(self) -> Mapping[str, Any]:
        """The whole front matter, as filters compare it."""
        return front_matter_of(self.node)

    @property
    def links(self) -> tuple[FileLink, ...]:
        """The links written in the file."""
        return self.node.links

    def documents(self, file_id: int, first_slot: int) -> list[Document]:
        """What the inverted index takes of the chunks that are new."""
        return documents_of(file_id, first_slot, self.words)


def documents_of(
    file_id: int, first_slot: int, words: Sequence[ChunkWords | None]
) -> list[Document]:
    """What the inverted index takes of chunks that stand one behind the other."""
    return [
        Document.of(slot, file_id, terms.counts, terms.length)
        for slot, terms in enumerate(words, first_slot)
        if terms is not None
    ]


def front_matter_of(node: FileNode) -> dict[str, Any]:
    """A file's whole front matter, as filters compare it."""
    front = node.front_matter
    return {**front.extra, "name": front.name, "description": front.description}
