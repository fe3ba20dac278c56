"""The contract every store of memory nodes keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

from agentscope_reme.store.vectors import Floats, Vector
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, NodeFilter
from agentscope_reme.typed.stores.set_aside import Salvage

Nodes = list[MemoryNode]
Missing = list[tuple[str, str]]
"""Ids of nodes and the texts their vectors are to be made of."""

EVERY_NODE: Final = NodeFilter()

KEPT_SPACES: Final = 2
"""Vector spaces a store keeps: as many as the index of the files does."""


class BaseVectorStore(ABC):
    """Keeps memory nodes and, per vector space, a vector of each.

    Synchronous and safe to call from several threads. What a call acknowledged by returning is
    durable and visible to the next call. Nodes are known by ``memory_id`` alone; a search never
    changes one. Vectors of two spaces are never compared; a node may have a vector in one space
    and none in another.

    The two spaces that were written last are kept. A third one takes the place of the one that was
    written longest ago, whose vectors are removed.
    """

    @abstractmethod
    def open(self) -> None:
        """Connect, create what is missing.

        Raises:
            StorageFailed: it cannot be reached or written.
        """

    @property
    def set_aside(self) -> Sequence[str]:
        """The names of damaged files of this store that wait for somebody; few stores have any."""
        return ()

    @property
    def salvaged(self) -> Mapping[str, Salvage]:
        """What became of the memories in those files, by their names."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Let go; it can be opened again."""

    @abstractmethod
    def changing(self) -> AbstractContextManager[None]:
        """Keep every other thread and process from changing anything while this is held.

        What is read inside is still so when something is written inside. For milliseconds: never
        across a model call. May be nested.

        Raises:
            StorageFailed: somebody else has held it for too long.
        """

    @abstractmethod
    def put(
        self,
        nodes: Sequence[MemoryNode],
        *,
        space_id: str = "",
        vectors: Mapping[str, Vector] | None = None,
    ) -> None:
        """Store nodes, new or in place of those with the same id, with the vectors at hand.

        A node whose `MemoryNode.embedded_text` changed loses its old vectors; one whose text
        stayed keeps them. All or nothing where the engine can, else repeatable.

        Args:
            nodes: what is stored.
            space_id: the space of `vectors`.
            vectors: by ``memory_id``; nodes without one are counted by `missing_vectors`.

        Raises:
            BadInput: a vector has another width than the others of its space.
            StorageFailed: nothing was acknowledged.
        """

    @abstractmethod
    def delete(self, memory_ids: Sequence[str]) -> list[str]:
        """Forget nodes; the ids that were there."""

    @abstractmethod
    def get(self, memory_ids: Sequence[str]) -> list[MemoryNode]:
        """The nodes with these ids, in this order; unknown ones are left out."""

    @abstractmethod
    def search(
        self, vector: Vector, *, space_id: str, limit: int, where: NodeFilter
    ) -> list[FoundNode]:
        """The nodes most similar by cosine, best first, ties by id; never from another space.

        Raises:
            BadInput: the vector has another width than those of its space.
        """

    @abstractmethod
    def list(
        self,
        where: NodeFilter,
        *,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        """Nodes by a field or metadata key; those without it come last, ties by id.

        Numbers are sorted as numbers. Without a key: by ``time_created``.
        """

    def words(self, where: NodeFilter) -> dict[str, str]:
        """`MemoryNode.words` by ``memory_id``, in the order of `list`.

        For searches that look at every node: a store that need not make nodes of its rows says so.
        """
        return {node.memory_id: node.words for node in self.list(where)}

    @abstractmethod
    def count(self, where: NodeFilter) -> int:
        """How many nodes there are."""

    @abstractmethod
    def clear(self, where: NodeFilter) -> int:
        """Forget every node that is meant; how many there were."""

    @abstractmethod
    def missing_vectors(self, space_id: str, limit: int, where: NodeFilter = EVERY_NODE) -> Missing:
        """Those of the nodes without a vector in this space, as ``(memory_id, embedded text)``."""

    @abstractmethod
    def put_vectors(self, space_id: str, texts: Mapping[str, tuple[str, Vector]]) -> None:
        """Give nodes their vectors: ``memory_id`` to the text it was made of, and the vector.

        A node that says something else by now, or is gone, is left alone.

        Raises:
            BadInput: the vectors are not all of the width of the space.
        """

    @abstractmethod
    def vectors(self, space_id: str, memory_ids: Sequence[str]) -> dict[str, Floats]:
        """The normalised vectors of nodes in a space; those without one are left out."""

    @abstractmethod
    def pages(self, size: int = 500) -> Iterator[Nodes]:
        """Every node, `size` at a time at most, in no order anybody may rely on.

        Nodes that are written meanwhile may be among them or not.
        """

    @abstractmethod
    def spaces(self) -> dict[str, int]:
        """How many vectors each space has, the space that was written last first."""
