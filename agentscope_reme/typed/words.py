"""Nodes found by their words; what was read for one question is not read anew for the next."""

from __future__ import annotations

import heapq
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentscope_reme.store.bm25 import BM25Index
from agentscope_reme.typed.nodes import MemoryType, NodeFilter

_WORTH_KEEPING: Final = 500
"""Nodes from which on counting their words takes longer than finding out what has changed."""
_MOST_KEPT: Final = 8
"""Targets whose words are kept, those asked about last."""

_Whose = tuple[frozenset[MemoryType] | None, frozenset[str] | None]


@dataclass(slots=True)
class _Words:
    """The words of the nodes of a target, and a number for each text that was counted."""

    index: BM25Index = field(default_factory=BM25Index)
    counted: dict[str, int] = field(default_factory=dict)
    dropped: int = 0

    def follow(self, texts: Mapping[str, str]) -> None:
        """Count what is new or changed, and forget what is gone."""
        numbers = {key: hash(text) for key, text in texts.items()}
        gone = self.counted.keys() - numbers.keys()
        changed = {key: texts[key] for key, n in numbers.items() if self.counted.get(key) != n}
        self.index.delete_docs(gone)
        self.index.add_docs(changed)
        self.dropped += len(gone) + len(changed.keys() & self.counted.keys())
        self.counted = numbers
        if self.dropped > len(numbers):
            self.index.optimize_index()
            self.dropped = 0


class WordSearch:
    """BM25 over the words of nodes. Thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._kept: Final[OrderedDict[_Whose, _Words]] = OrderedDict()

    def best(
        self, queries: Sequence[str], texts: Mapping[str, str], where: NodeFilter, limit: int
    ) -> list[str]:
        """The ids of the nodes with the words of the queries, best first, ties as they are given.

        Args:
            queries: searched for together.
            texts: the words of all nodes that are meant, by id.
            where: how they were asked for.
            limit: how many at most.
        """
        query = "\n".join(queries)
        if len(texts) < _WORTH_KEEPING or where.equal or where.between:
            words = _Words()
            words.follow(texts)
            found = words.index.retrieve(query, len(texts))
        else:
            with self._lock:
                words = self._of((where.types, where.targets))
                words.follow(texts)
                found = words.index.retrieve(query, len(texts))
        places = {key: place for place, key in enumerate(texts)}
        best = heapq.nsmallest(limit, found, key=lambda hit: (-hit[1], places[hit[0]]))
        return [key for key, _ in best]

    def _of(self, whose: _Whose) -> _Words:
        words = self._kept.setdefault(whose, _Words())
        self._kept.move_to_end(whose)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return words
