"""The contract, written down as a dictionary and a loop: what every store is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.store.vectors import Floats, Vector
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, NodeFilter, Scalar
from agentscope_reme.typed.stores.base import EVERY_NODE, BaseVectorStore, Missing, Nodes


class ReferenceStore(BaseVectorStore):
    def __init__(self) -> None:
        self.nodes: dict[str, MemoryNode] = {}
        self.kept: dict[str, dict[str, Floats]] = {}

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def changing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def put(
        self,
        nodes: Sequence[MemoryNode],
        *,
        space_id: str = "",
        vectors: Mapping[str, Vector] | None = None,
    ) -> None:
        ready = self._checked(space_id, vectors or {})
        for node in nodes:
            old = self.nodes.get(node.memory_id)
            if old is not None and text(old) != text(node):
                self._drop(node.memory_id)
            self.nodes[node.memory_id] = node
        if ready:
            self._newest(space_id).update(ready)

    def delete(self, memory_ids: Sequence[str]) -> list[str]:
        found = [key for key in dict.fromkeys(memory_ids) if key in self.nodes]
        for key in found:
            del self.nodes[key]
            self._drop(key)
        return found

    def get(self, memory_ids: Sequence[str]) -> list[MemoryNode]:
        return [self.nodes[key] for key in memory_ids if key in self.nodes]

    def search(
        self, vector: Vector, *, space_id: str, limit: int, where: NodeFilter
    ) -> list[FoundNode]:
        query = unit(vector)
        rows = self.kept.get(space_id, {})
        if rows and len(next(iter(rows.values()))) != len(query):
            raise BadInput(len(query), "another width", "")
        scored = [
            (-round(float(row @ query), 5), key)
            for key, row in rows.items()
            if is_meant(self.nodes[key], where)
        ]
        best = sorted(scored)[: max(limit, 0)]
        return [FoundNode(self.nodes[key], -score) for score, key in best]

    def list(
        self,
        where: NodeFilter,
        *,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        found = [node for node in self.nodes.values() if is_meant(node, where)]
        found.sort(key=lambda node: node.memory_id)
        key = sort_key or "time_created"
        there = [node for node in found if known(node, key) not in (None, "")]
        lacking = [node for node in found if known(node, key) in (None, "")]
        there.sort(key=lambda node: rank(known(node, key)), reverse=reverse)
        return [*there, *lacking][: None if limit is None else max(limit, 0)]

    def count(self, where: NodeFilter) -> int:
        return len(self.list(where))

    def clear(self, where: NodeFilter) -> int:
        return len(self.delete([node.memory_id for node in self.list(where)]))

    def missing_vectors(self, space_id: str, limit: int, where: NodeFilter = EVERY_NODE) -> Missing:
        there = self.kept.get(space_id, {})
        meant = {key: node for key, node in self.nodes.items() if is_meant(node, where)}
        lacking = [(key, text(node)) for key, node in meant.items() if key not in there]
        return lacking[: max(limit, 0)]

    def put_vectors(self, space_id: str, texts: Mapping[str, tuple[str, Vector]]) -> None:
        ready = self._checked(space_id, {key: vector for key, (_, vector) in texts.items()})
        same = [
            k for k, (said, _) in texts.items() if k in self.nodes and text(self.nodes[k]) == said
        ]
        if same:
            self._newest(space_id).update({key: ready[key] for key in same})

    def vectors(self, space_id: str, memory_ids: Sequence[str]) -> dict[str, Floats]:
        rows = self.kept.get(space_id, {})
        return {key: rows[key] for key in memory_ids if key in rows}

    def pages(self, size: int = 500) -> Iterator[Nodes]:
        nodes = [*self.nodes.values()]
        for start in range(0, len(nodes), size):
            yield nodes[start : start + size]

    def spaces(self) -> dict[str, int]:
        return {space: len(rows) for space, rows in reversed(self.kept.items()) if rows}

    def _newest(self, space_id: str) -> dict[str, Floats]:
        rows = self.kept[space_id] = self.kept.pop(space_id, {})
        for old in [*self.kept][:-2]:
            del self.kept[old]
        return rows

    def _checked(self, space_id: str, vectors: Mapping[str, Vector]) -> dict[str, Floats]:
        ready = {key: unit(vector) for key, vector in vectors.items()}
        widths = {len(row) for row in (*ready.values(), *self.kept.get(space_id, {}).values())}
        if len(widths) > 1:
            raise BadInput(widths, "more than one width", "")
        return ready

    def _drop(self, key: str) -> None:
        for rows in self.kept.values():
            rows.pop(key, None)


def text(node: MemoryNode) -> str:
    return node.when_to_use or node.content


def unit(vector: Vector) -> Floats:
    row = np.asarray(vector, np.float64)
    if not np.isfinite(row).all() or not row.any():
        raise BadInput(vector, "no direction", "")
    return (row / np.linalg.norm(row)).astype(np.float32)


def known(node: MemoryNode, key: str) -> Scalar | None:
    fields = {**node.metadata, **node.model_dump(mode="json", exclude={"metadata"})}
    value: Scalar | None = fields.get(key)
    return value


def rank(value: Scalar | None) -> tuple[int, Scalar]:
    kinds = (bool, (int, float), str)
    assert value is not None
    return next(place for place, kind in enumerate(kinds) if isinstance(value, kind)), value


def is_meant(node: MemoryNode, where: NodeFilter) -> bool:
    if where.types is not None and node.memory_type not in where.types:
        return False
    if where.targets is not None and node.memory_target not in where.targets:
        return False
    for key, wanted in where.equal.items():
        value = known(node, key)
        if value is None or rank(value) != rank(wanted):
            return False
    for key, (low, high) in where.between.items():
        value = known(node, key)
        if value is None or rank(value)[0] != rank(low)[0] or not low <= value <= high:  # type: ignore[operator]
            return False
    return True
