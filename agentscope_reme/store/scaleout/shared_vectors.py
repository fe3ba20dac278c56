"""The vectors of one workspace in a shared engine: by space and text hash, never mixed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from agentscope_reme.store.scaleout.engine import Engine, FoundChunk, Space
from agentscope_reme.store.scaleout.local_vectors import LocalVectors
from agentscope_reme.store.scaleout.ranking import Ranked
from agentscope_reme.store.scaleout.restricting import Plan
from agentscope_reme.store.scaleout.warm_up import WarmUp
from agentscope_reme.store.vectors import Floats, Vector, hash_bytes, normalised

EXACT_UP_TO: Final = 10_000
"""Chunks of a workspace up to which all of its vectors are compared: 384 numbers wide that takes
some 10 ms in seekdb, finds every one, and needs no index in memory."""
_PER_HIT: Final = 4
_WIDER: Final = 8
_MOST_BY_INDEX: Final = 2000
"""More neighbours than this are not asked of an approximate index, which gets worse and slower."""
_LOOKED_UP_AT_ONCE: Final = 1024
_KEPT_SPACES: Final = 2


class SharedVectors:
    """Finds, stores and counts vectors of one workspace. Thread-safe.

    Args:
        engine: where they are.
        workspace: whose.
        local: what a local index of the workspace was given, and need not be paid for again.
    """

    def __init__(self, engine: Engine, workspace: str, local: LocalVectors) -> None:
        self._engine: Final = engine
        self._workspace: Final = workspace
        self._local: Final = local
        self._guard = threading.Lock()
        self._waiting: dict[str, dict[str, str]] = {}
        self._revision = -1
        self._warm_up = WarmUp(engine, workspace)

    def open(self) -> None:
        """Let the engine load its index in the background, where it is large."""
        self._warm_up.start(EXACT_UP_TO)

    def close(self) -> None:
        """Wait for what runs in the background."""
        self._warm_up.stop()

    def best(self, vector: Sequence[float], limit: int, plan: Plan, space_id: str | None) -> Ranked:
        """The nearest chunks with their cosines, best first; ties by path and position.

        Raises:
            BadInput: the vector has another width than the stored ones.
        """
        space = self._space(space_id)
        if space is None:
            return []
        asked = normalised(vector, space.width)
        if limit < 1:
            return []
        most = self._engine.head(self._workspace).answers
        exact = most <= EXACT_UP_TO or not self._warm_up.is_done
        pool = _PER_HIT * limit
        while True:
            exact = exact or pool > _MOST_BY_INDEX
            near = dict(self._engine.nearest(self._workspace, space, asked, pool, exact=exact))
            found = self._engine.with_texts(self._workspace, list(near), plan.of_texts)
            passing = [one for one in found if plan.passes(one)]
            if len(passing) >= limit or len(near) < pool:
                break
            pool *= _WIDER
        scored = [(near[one.chunk.text_hash], one) for one in passing]
        return sorted(scored, key=_order)[:limit]

    def missing(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector, as ``(text hash, text)``; a thousand are looked up at once."""
        revision = self._engine.head(self._workspace).revision
        with self._guard:
            if revision != self._revision:
                self._waiting.clear()
                self._revision = revision
            waiting = self._waiting.get(space_id)
        if not waiting or len(waiting) < min(limit, _LOOKED_UP_AT_ONCE):
            most = max(limit, _LOOKED_UP_AT_ONCE)
            rows = self._engine.missing(self._workspace, self._space_named(space_id), most)
            waiting = {key: text.decode("utf-8", "surrogatepass") for key, text in rows}
            with self._guard:
                self._waiting[space_id] = waiting
        with self._guard:
            return list(waiting.items())[:limit]

    def put(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of texts some file has.

        Raises:
            BadInput: a key is no text hash, or the vectors are not all of one width.
        """
        space = self._space_named(space_id)
        width = None if space is None else space.width
        ready: dict[str, Floats] = {}
        for key, vector in vectors.items():
            ready[hash_bytes(key).hex()] = array = normalised(vector, width)
            width = len(array)
        known = self._engine.known_texts(self._workspace, list(ready))
        if known and width is not None:
            kept = {key: ready[key] for key in ready if key in known}
            self._engine.put_vectors(self._workspace, space_id, kept, width)
        with self._guard:
            for key in ready:
                self._waiting.get(space_id, {}).pop(key, None)

    def names(self) -> list[str]:
        """The spaces with vectors, the newest first, and those of an earlier local index."""
        stored = [space.name for space in self._engine.spaces(self._workspace)]
        return list(dict.fromkeys([*stored, *self._local.spaces()]))

    def kept(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors a local index was given for some texts."""
        return self._local.get(space_id, text_hashes)

    def count(self, space_id: str) -> tuple[int, int]:
        """Texts with a vector in a space, and texts without."""
        return self._engine.count_texts(self._workspace, self._space_named(space_id))

    def prune(self) -> None:
        """Forget vectors of texts that are gone, and of spaces before the last two."""
        spaces = self._engine.spaces(self._workspace)[:_KEPT_SPACES]
        self._engine.prune(self._workspace, [space.name for space in spaces])

    def erase_kept(self) -> None:
        """Forget what an earlier local index was given for texts that are gone.

        Raises:
            StorageFailed: its file could not be written.
        """
        if self._local.spaces():
            self._local.forget_others(self._engine.all_texts(self._workspace))

    def _space(self, space_id: str | None) -> Space | None:
        if space_id is not None:
            return self._space_named(space_id)
        return next(iter(self._engine.spaces(self._workspace)), None)

    def _space_named(self, space_id: str) -> Space | None:
        spaces = self._engine.spaces(self._workspace)
        return next((space for space in spaces if space.name == space_id), None)


def _order(scored: tuple[float, FoundChunk]) -> tuple[float, str, int]:
    score, one = scored
    return -round(score, 5), one.path, one.chunk.position
