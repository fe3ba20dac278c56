"""Memory nodes with their vectors: written at once, found by meaning and by words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from agentscope_reme.clock import Clock
from agentscope_reme.messages import whole_characters
from agentscope_reme.ports import EmbeddingPort
from agentscope_reme.runtime.embedder import Embedder
from agentscope_reme.settings import Settings
from agentscope_reme.store.vectors import Vector
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, NodeFilter
from agentscope_reme.typed.stores.base import BaseVectorStore
from agentscope_reme.typed.stores.conditions import matches
from agentscope_reme.typed.words import WordSearch

_RANK: Final = 60
"""Reciprocal rank fusion, Cormack and others, 2009: the constant of the paper."""

_MANY: Final = 64
"""More nodes than this are embedded in the background, in batches of that size."""


_LOOKED_AT: Final = 2000
"""Nodes without a vector that a search compares by their words; usually there are none."""

T = TypeVar("T")

LastLook = Callable[[], Sequence[MemoryNode]]
"""Reads the store again, and says what is to be stored."""


class NodeIndex:
    """A store and an embedding model together.

    Nodes are stored with their vectors when the model answers in time, else without: a background
    run makes what is missing, also after a change of the model or of its width. Until then, and
    without a model, nodes are found by their words.

    Args:
        store: where nodes are kept.
        model: makes vectors; without one everything is found by its words.
        clock: for the pauses after a failure.
        settings: ``embedding_deadline_ms`` and ``close_drain_seconds``.
        on_failure: called with a place and an exception; must not raise.
    """

    def __init__(
        self,
        store: BaseVectorStore,
        model: EmbeddingPort | None,
        *,
        clock: Clock,
        settings: Settings,
        on_failure: Callable[[str, BaseException], None],
    ) -> None:
        self.store: Final = store
        self._words: Final = WordSearch()
        self._seconds: Final = settings.embedding_deadline_ms / 1000
        self._drain_seconds: Final = settings.close_drain_seconds
        self._embedder: Final = (
            None
            if model is None
            else Embedder(model, _Texts(store), clock=clock, on_failure=on_failure)
        )

    async def open(self) -> None:
        """Open the store and begin to make the vectors that are missing.

        Raises:
            StorageFailed: the store cannot be opened.
        """
        await asyncio.to_thread(self.store.open)
        if self._embedder is not None:
            self._embedder.open()
            self._embedder.fill_soon()

    async def close(self) -> None:
        """Finish within ``close_drain_seconds``, or let the next start make the rest."""
        try:
            if self._embedder is not None:
                await self._embedder.drain(self._drain_seconds)
                await self._embedder.close()
        finally:
            await asyncio.to_thread(self.store.close)

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait for the vectors in the making; ``False`` when the deadline came first."""
        return self._embedder is None or await self._embedder.drain(deadline_seconds)

    async def vectors_pending(self) -> int:
        """How many nodes have no vector of the model in use; 0 without a model."""
        if self._embedder is None:
            return 0
        return await asyncio.to_thread(self._embedder.vectors_pending)

    async def some_lack_vectors(self, where: NodeFilter) -> bool:
        """Whether one of these nodes has no vector of the model in use; not without a model."""
        if self._embedder is None:
            return False
        space = await asyncio.to_thread(self._embedder.known_space)
        return bool(await asyncio.to_thread(self.store.missing_vectors, space, 1, where))

    async def change(self, work: Callable[[], T]) -> T:
        """Run what reads nodes and writes or deletes them; nobody else changes one meanwhile.

        Raises:
            StorageFailed: nothing was changed.
        """

        def alone() -> T:
            with self.store.changing():
                return work()

        return await asyncio.to_thread(alone)

    async def put(
        self,
        nodes: Sequence[MemoryNode],
        *,
        as_before: Sequence[MemoryNode] = (),
        at_once: bool = True,
        last_look: LastLook | None = None,
    ) -> None:
        """Store nodes durably, all or none.

        Args:
            nodes: what is stored.
            as_before: stored along with them; what they are found by has not changed.
            at_once: ask for the vectors first; else they are made in the background.
            last_look: called when the vectors are there, while no thread and no other process
                changes or deletes a node; what it returns is stored instead. For nodes that were
                read before: the model may take seconds, in which people change and delete them.

        Raises:
            StorageFailed: nothing was stored.
        """
        space, known = await self._vectors(nodes) if at_once and len(nodes) <= _MANY else ("", {})

        def write() -> None:
            every = [*nodes, *as_before] if last_look is None else last_look()
            by_id = {
                node.memory_id: known[node.embedded_text]
                for node in every
                if node.embedded_text in known
            }
            self.store.put(every, space_id=space, vectors=by_id)

        await self.change(write)
        self.fill_soon()

    async def delete(self, memory_ids: Sequence[str]) -> list[str]:
        """Forget nodes; the ids that were there."""
        return await asyncio.to_thread(self.store.delete, memory_ids)

    async def clear(self) -> int:
        """Forget every node; how many there were."""
        return await asyncio.to_thread(self.store.clear, NodeFilter())

    def fill_soon(self) -> None:
        """Make the vectors that are missing, in the background."""
        if self._embedder is not None:
            self._embedder.fill_soon()

    async def search(
        self,
        queries: Sequence[str],
        where: NodeFilter,
        *,
        limit: int,
        seconds: float | None = None,
    ) -> list[FoundNode]:
        """The best nodes for any of the queries, best first; it never changes a node.

        Nodes without a vector yet, or all when there is no vector of a query, are found by words;
        their similarity is 0.

        Args:
            queries: what to look for; empty ones are left out.
            where: which nodes are meant.
            limit: how many at most.
            seconds: how long to wait for the vectors; ``embedding_deadline_ms`` without it.
        """
        said = (whole_characters(query).strip() for query in queries)
        asked = list(dict.fromkeys(query for query in said if query))
        patience = self._seconds if seconds is None else seconds
        vectors = await asyncio.gather(*(self._of_query(query, patience) for query in asked))
        spaces = [self._space(vector) for vector in vectors]
        found, some_lack = await asyncio.to_thread(
            self._found, asked, vectors, spaces, where, limit
        )
        if some_lack:
            self.fill_soon()
        return found

    def _found(
        self,
        queries: Sequence[str],
        vectors: Sequence[list[float] | None],
        spaces: Sequence[str],
        where: NodeFilter,
        limit: int,
    ) -> tuple[list[FoundNode], bool]:
        """What vectors find, and words among nodes without one; whether there are such nodes."""
        if any(vector is None for vector in vectors):
            near = self._near(vectors, spaces, where, limit)
            worded = self._words.best(queries, self.store.words(where), where, limit)
            return _merged(near, _unlike(self.store.get(worded)))[:limit], False
        lacking = [
            memory_id
            for space in sorted(set(spaces))
            for memory_id, _ in self.store.missing_vectors(space, _LOOKED_AT, where)
        ]
        apart = {node.memory_id: node for node in self.store.get(lacking) if matches(node, where)}
        near = self._near(vectors, spaces, where, limit)  # after: vectors come in meanwhile
        words = {key: node.words for key, node in apart.items()}  # few, and others each time
        worded = WordSearch().best(queries, words, where, limit)
        return _merged(near, _unlike([apart[key] for key in worded]))[:limit], bool(lacking)

    def _near(
        self,
        vectors: Sequence[list[float] | None],
        spaces: Sequence[str],
        where: NodeFilter,
        limit: int,
    ) -> list[FoundNode]:
        """The nodes nearest to any of the vectors, each as near as it is to one of them."""
        best: dict[str, FoundNode] = {}
        for vector, space in zip(vectors, spaces, strict=True):
            if vector is None:
                continue
            for found in self.store.search(vector, space_id=space, limit=limit, where=where):
                known = best.get(found.node.memory_id)
                if known is None or known.similarity < found.similarity:
                    best[found.node.memory_id] = found
        return sorted(best.values(), key=lambda found: (-found.similarity, found.node.memory_id))

    async def _of_query(self, text: str, seconds: float) -> list[float] | None:
        if self._embedder is None:
            return None
        return await self._embedder.of_query(text, deadline_seconds=seconds)

    def _space(self, vector: Sequence[float] | None) -> str:
        if vector is None or self._embedder is None:
            return ""
        return self._embedder.space_of(vector)

    async def _vectors(self, nodes: Sequence[MemoryNode]) -> tuple[str, dict[str, Vector]]:
        """A space, and vectors in it by text; none when the model is down or late."""
        if self._embedder is None:
            return "", {}
        texts = list(dict.fromkeys(node.embedded_text for node in nodes if node.embedded_text))
        made = await self._embedder.of_passages(texts, deadline_seconds=self._seconds)
        if not made:
            return "", {}
        return self._embedder.space_of(made[0]), dict(zip(texts, made, strict=True))


class _Texts:
    """The texts of a store's nodes, as the embedder asks for them."""

    def __init__(self, store: BaseVectorStore) -> None:
        self._store = store
        self._asked: dict[str, str] = {}

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        rows = self._store.missing_vectors(space_id, limit)
        self._asked = dict(rows)
        return rows

    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        made = {key: (self._asked[key], v) for key, v in vectors.items() if key in self._asked}
        self._store.put_vectors(space_id, made)

    def vector_spaces(self) -> list[str]:
        return list(self._store.spaces())

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        return {}

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        done = self._store.spaces().get(space_id, 0)
        return done, max(0, self._store.count(NodeFilter()) - done)


def _unlike(nodes: Sequence[MemoryNode]) -> list[FoundNode]:
    """Nodes that were found by their words."""
    return [FoundNode(node, 0.0) for node in nodes]


def _merged(near: Sequence[FoundNode], worded: Sequence[FoundNode]) -> list[FoundNode]:
    """Two rankings as one, by reciprocal rank."""
    scores: dict[str, float] = {}
    nodes = {found.node.memory_id: found for found in (*worded, *near)}
    for ranking in (near, worded):
        for rank, found in enumerate(ranking, 1):
            scores[found.node.memory_id] = scores.get(found.node.memory_id, 0) + 1 / (_RANK + rank)
    return [nodes[key] for key in sorted(scores, key=lambda key: (-scores[key], key))]
