"""Keyword search over plain texts, in memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.store.inverted_index import LARGEST_TAIL, InvertedIndex
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.postings import Bools, Document
from agentscope_reme.store.term_keys import TermCounts, term_key
from agentscope_reme.store.tokenizers import MemoryTokenizer, Tokenizer


class BM25Index:
    """An inverted index with BM25 scores; the document id is the chunk id.

    ``score = idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length))`` with
    ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``. Deleted documents leave the answers at once and
    the memory with `optimize_index`. Thread-safe.

    Args:
        k1: how soon repeating a term stops paying, at least 0.
        b: how much long documents are held back, 0 to 1.
        tokenizer: turns texts and queries into terms; default `MemoryTokenizer`.

    Raises:
        BadInput: `k1` or `b` is out of range.
    """

    def __init__(
        self, k1: float = 1.5, b: float = 0.75, tokenizer: Tokenizer | None = None
    ) -> None:
        if k1 < 0:
            raise BadInput(k1, "k1 is negative", "Pass 0 or more; 1.5 is usual.")
        if not 0 <= b <= 1:
            raise BadInput(b, "b is outside 0 to 1", "Pass a number from 0 to 1; 0.75 is usual.")
        self.tokenizer: Final[Tokenizer] = tokenizer or MemoryTokenizer()
        self._index = InvertedIndex(k1, b)
        self._slots: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        self._next_slot = 0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._slots

    def add_docs(self, docs: Mapping[str, str]) -> None:
        """Add texts by id, replacing earlier versions; a text without terms is only removed."""
        self._add({doc_id: self._count(text) for doc_id, text in docs.items()})

    def add_counts(self, docs: Mapping[str, Mapping[str, int]]) -> None:
        """As `add_docs`, for texts that are already terms with (weighted) counts."""
        self._add(
            {
                doc_id: TermCounts.of_mapping({term_key(t): n for t, n in counts.items()})
                for doc_id, counts in docs.items()
            }
        )

    def _count(self, text: str) -> TermCounts:
        if isinstance(self.tokenizer, MemoryTokenizer):
            return TermCounts.of(self.tokenizer.keys(text))
        return TermCounts.of_mapping(Counter(map(term_key, self.tokenizer.terms(text))))

    def _add(self, docs: Mapping[str, TermCounts]) -> None:
        with self._lock:
            self.delete_docs(docs)
            documents = []
            for doc_id, counts in docs.items():
                if len(counts):
                    documents.append(self._document(counts))
                    self._slots[doc_id] = documents[-1].slot
                    self._ids[documents[-1].slot] = doc_id
            for start in range(0, len(documents), LARGEST_TAIL):
                self._index.add(documents[start : start + LARGEST_TAIL])
                if len(self._index.tail) >= LARGEST_TAIL:
                    self._index.settle(self._index.sealed())

    def delete_docs(self, ids: Iterable[str]) -> None:
        """Forget documents; unknown ids are ignored."""
        with self._lock:
            gone = [self._slots.pop(i) for i in ids if i in self._slots]
            for slot in gone:
                del self._ids[slot]
            self._index.delete(gone)

    def retrieve(
        self, query: str, limit: int, *, only: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """The best documents with their scores, best first; ties in the order they were added.

        Args:
            query: words in any script.
            limit: at most so many; 0 or less answers nothing.
            only: answer from these ids; statistics stay those of all documents.
        """
        wanted = KeywordQuery.of(self.tokenizer, query)
        with self._lock:
            found = self._index.search(wanted, limit, self._allowed(only))
            found.sort(key=lambda hit: (-hit[0], hit[2]))
            return [(self._ids[slot], score) for score, _owner, slot in found[: max(limit, 0)]]

    def optimize_index(self) -> None:
        """Drop deleted documents from memory and merge the lists; answers stay the same."""
        with self._lock:
            self._index.settle(self._index.compacted())

    def _document(self, counts: TermCounts) -> Document:
        slot = self._next_slot
        self._next_slot += 1
        return Document.of(slot, slot, counts, counts.total())

    def _allowed(self, only: Collection[str] | None) -> Bools | None:
        if only is None:
            return None
        allowed = np.zeros(self._next_slot, np.bool_)
        allowed[[self._slots[i] for i in only if i in self._slots]] = True
        return allowed
