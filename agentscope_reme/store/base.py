"""The contract of derived storage: what every file store promises."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit
from agentscope_reme.store.bulk_reader import BulkReader
from agentscope_reme.store.records import (
    FileGrowth,
    FileStamp,
    IndexedFile,
    SearchFilter,
    StoreCondition,
    StoreStats,
)
from agentscope_reme.store.vectors import Vector


class ShadowIndex(ABC):
    """An index that is built beside the one in use, and then takes its place.

    Attributes:
        store: the new index; nobody reads it yet.
    """

    store: BaseFileStore

    @abstractmethod
    def missed(self) -> list[str] | None:
        """Paths that changed in the index in use since the last call, or since the shadow was made.

        ``None`` when that cannot be told: every file has to be looked at again.
        """

    @abstractmethod
    def ready(self) -> None:
        """Write down what is in memory, so that the change of places is quick."""

    @abstractmethod
    def take_over(self, catch_up: Callable[[list[str]], object]) -> bool:
        """Replace the index in use, in every process.

        Args:
            catch_up: brings into the shadow what was missed, while nobody can write.

        Returns:
            False when it cannot be told what was missed; then nothing happened.

        Raises:
            StorageFailed: the index in use stays.
        """

    @abstractmethod
    def close(self) -> None:
        """Leave it as it is; the next `BaseFileStore.shadow` goes on with it."""


class BaseFileStore(ABC):
    """Keeps what files say in a form that answers quickly. Everything in it can be rebuilt.

    Synchronous and safe to call from several threads. `apply` is one transaction: when it
    returns, keyword search, links and tags show the change, in this process at once and in
    others after their next `refresh`.

    Attributes:
        on_lost: called, from any thread, when the index in use turns out to be damaged and starts
            empty; must not block or raise.
    """

    on_lost: Callable[[], None] | None = None
    keeps_pictures: ClassVar[bool] = False
    """Whether the pictures of a model that embeds them have a place here."""

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

    def grow(self, growth: FileGrowth) -> bool:
        """Bring a file that was appended to up to date; a store may do so without reading it all.

        Returns:
            False when the index holds another version of it; nothing was changed then.

        Raises:
            StorageFailed: nothing was changed.
        """
        node = self.node(growth.path)
        if node is None or not growth.continues(node.size, node.content_hash):
            return False
        kept = [c for c in self.chunks(growth.path) if c.start_line < growth.first_line]
        chunks = (*kept, *growth.chunks)
        update = {
            "st_mtime_ns": growth.stamp.mtime_ns,
            "size": growth.stamp.size,
            "content_hash": growth.stamp.content_hash,
            "chunk_ids": tuple(chunk.id for chunk in chunks),
        }
        self.apply([IndexedFile(node.model_copy(update=update), chunks)])
        return True

    def warm(self) -> None:
        """Load what the first search would load; asked of a process that stays."""
        return

    @abstractmethod
    def refresh(self) -> None:
        """Catch up with other processes; cheap when nothing happened. Searches do it themselves."""

    def bulk_reader(self) -> BulkReader | None:
        """Reads many new files at once as `FileIndexer` would; ``None`` where there is none."""
        return None

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
    def stamps(self) -> Mapping[str, FileStamp]:
        """The stamp of every indexed file, for comparing with the disk."""

    @abstractmethod
    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        """BM25 over the indexed text, best first; ties in a fixed order."""

    @abstractmethod
    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        """Cosine similarity over the stored vectors, best first; empty without vectors.

        Args:
            vector: what to compare with.
            limit: how many hits at most.
            where: which files may answer.
            space_id: the embedding space of `vector`; vectors of any other space give no hits.
                ``None``: the caller knows that it is the one that was written last.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """

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
    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors by text hash. A store may drop those of older spaces, and never mixes two.

        Raises:
            BadInput: the vectors are not all of one width.
        """

    def missing_pictures(self, space_id: str, limit: int) -> list[tuple[str, str, str]]:
        """Pictures without a vector in this space, as ``(text hash, path, content hash)``."""
        return []

    def picture_counts(self, space_id: str) -> tuple[int, int]:
        """How many pictures have a vector in a space, and how many have none."""
        return 0, 0

    def vector_spaces(self) -> list[str]:
        """The names of the spaces with vectors, the one that was written last first, if known."""
        return []

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors of some texts that were stored once and need not be paid for again."""
        return {}

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        """How many texts have a vector in a space, and how many have none."""
        missing = len(self.missing_vectors(space_id, sys.maxsize))
        return max(0, self.stats().chunks - missing), missing

    @abstractmethod
    def optimize(self) -> None:
        """Reclaim what lazy deletion left behind."""

    def erase(self) -> None:
        """Leave nothing on the disk of what was deleted: more than `optimize`, and slower.

        Raises:
            StorageFailed: another process kept it from that; what is searched is right anyway.
        """
        self.optimize()

    @abstractmethod
    def stats(self) -> StoreStats:
        """Counts, for `status()`."""

    def is_empty(self) -> bool:
        """Whether no chunk is there; asked by every search that finds nothing."""
        return not self.stats().chunks

    def condition(self) -> StoreCondition:
        """What the index needs before it can be relied on."""
        return StoreCondition()

    def settle(self, seen: StoreCondition) -> None:
        """Know that every file was compared with the index and brought in.

        Args:
            seen: the condition before that; nothing happens when the index is another one now.
        """
        return

    def shadow(self) -> ShadowIndex | None:
        """Begin or go on with an index beside this one; ``None`` where there is no such thing."""
        return None

    def audit(self) -> dict[str, str]:
        """By path, how what is searched in memory differs from what is kept on the disk."""
        return {}

    def reload(self) -> None:
        """Read everything in memory anew from the disk."""
        return
