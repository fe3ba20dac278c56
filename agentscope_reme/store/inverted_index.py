"""BM25 over inverted lists: what `BM25Index` and the file store both stand on.

Every query scores all of its terms' lists exhaustively (Robertson and Zaragoza 2009, "The
Probabilistic Relevance Framework"): in numpy looking into long lists for a few documents costs
more. Upper bounds spare it looking for the best among documents that cannot be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from agentscope_reme.store.columns import Columns, FoundTerms
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.passage_context import PassageContext
from agentscope_reme.store.postings import (
    LARGEST_SEGMENT,
    Bools,
    Document,
    Floats,
    Found,
    Part,
    Segment,
    Tail,
)
from agentscope_reme.store.segment_building import build_segment, merge_segments
from agentscope_reme.store.term_keys import hold_han
from agentscope_reme.store.top_scores import Numbers, nth_best, reaching, top_values
from agentscope_reme.store.zeros import Zeros

LARGEST_TAIL: Final = 2000
"""Documents kept in dictionaries before they become a segment."""
_INVERTED_AT_ONCE: Final = 4 * LARGEST_TAIL
_GROWTH: Final = 3
"""A segment is merged into its elder once it has a third of its documents."""


class InvertedIndex:
    """Inverted lists with lazy deletion. Not thread-safe: its owner holds a lock.

    Args:
        k1: how soon repeating a term stops paying.
        b: how much long documents are held back, 0 to 1.
        context: lets a document profit from its neighbours; not at all when ``None``.
    """

    def __init__(
        self, k1: float = 1.5, b: float = 0.75, context: PassageContext | None = None
    ) -> None:
        self.k1: Final = k1
        self.b: Final = b
        self.context: Final = context
        self.segments: list[Segment] = []
        self.tail = Tail()
        self.live = 0
        self.total_length = 0
        self._zeros = Zeros()
        self._spare = Zeros()
        self._columns: Columns | None = None
        self._asked: tuple[KeywordQuery, FoundTerms, Floats] | None = None

    def add(self, documents: Sequence[Document]) -> None:
        """Append documents in ascending slots, all larger than those present.

        Documents go to the tail; call `seal` when it is full.
        """
        self.tail.add(documents)
        self.live += len(documents)
        self.total_length += sum(d.length for d in documents)
        self._changed()

    def adopt(self, segments: Iterable[Segment]) -> None:
        """Replace all segments; the tail stays. Used when stored ones are loaded or merged."""
        self.segments = list(segments)
        self.live = sum(part.live for part in self.parts)
        self.total_length = sum(int(part.lengths[part.alive].sum()) for part in self.parts)
        self._changed()

    def delete(self, slots: Sequence[int]) -> None:
        """Mark documents as deleted; unknown slots are ignored."""
        wanted = np.array(sorted(slots), np.int64)
        for part in self.parts:
            if not len(part) or not len(wanted):
                continue
            low, high = np.searchsorted(wanted, (part.slots[0], part.slots[-1] + 1))
            if low < high:
                count, length = part.delete(wanted[low:high])
                self.live -= count
                self.total_length -= length
        self._changed()

    def delete_of(self, owner: int, first: int, last: int) -> None:
        """Mark the documents of one owner in slots from `first` to `last` as deleted."""
        for part in self.parts:
            if len(part) and part.slots[0] <= last and part.slots[-1] >= first:
                count, length = part.delete_of(owner, first, last)
                self.live -= count
                self.total_length -= length
        self._changed()

    def sealed(self) -> list[Segment]:
        """The segments there would be with the tail inverted and small segments merged.

        Nothing changes yet; hand the result to `settle` once it is stored.
        """
        segments = [segment for segment in self.segments if segment.live]
        living = self.tail.alive.nonzero()[0].tolist()
        for start in range(0, len(living), _INVERTED_AT_ONCE):
            part = self.tail.columns_of(living[start : start + _INVERTED_AT_ONCE])
            segments.append(build_segment(part))
            segments = _merge_small(segments)
        return segments

    def settle(self, segments: Sequence[Segment]) -> None:
        """Take over the result of `sealed` and empty the tail."""
        self.tail = Tail()
        self.adopt(segments)

    def compacted(self) -> list[Segment]:
        """As `sealed`, with every deleted document dropped and segments as large as can be."""
        segments = [segment for segment in self.sealed() if segment.live]
        packed: list[Segment] = []
        group: list[Segment] = []
        for segment in segments:
            if group and sum(s.live for s in group) + segment.live > LARGEST_SEGMENT:
                packed.append(_packed(group))
                group = []
            group.append(segment)
        return [*packed, _packed(group)] if group else packed

    def search(
        self, query: KeywordQuery, limit: int, allowed: Bools | None = None
    ) -> list[tuple[float, int, int]]:
        """The best documents as ``(score, owner, slot)``, in no order.

        All documents tied with the last of the best are returned, so that the caller's own order
        decides between them.

        Args:
            query: what is looked for.
            limit: how many documents are wanted.
            allowed: by owner number, whether its documents may be answered.
        """
        if limit < 1 or not (query.keys or query.characters) or not self.live:
            return []
        columns = self._known()
        found, gains = self._gains(columns, query)
        if not len(found.docs):
            return []
        if allowed is not None:
            gains = gains * allowed.take(columns.owners.take(found.docs))
        best, values = self._best(columns, found, gains, limit)
        owners, slots = columns.owners.take(best), columns.slots.take(best)
        return list(zip(values.tolist(), owners.tolist(), slots.tolist(), strict=True))

    def holds_han(self) -> bool:
        """Whether a text with Chinese words is among the documents, deleted ones included."""
        return any(hold_han(part.known_keys()) for part in self.parts)

    @property
    def parts(self) -> list[Part]:
        """The segments and the tail, in slot order."""
        return [*self.segments, self.tail]

    def _best(
        self, columns: Columns, found: FoundTerms, gains: Floats, limit: int
    ) -> tuple[Numbers, Floats]:
        """Numbers and scores of the best documents and of all tied with the last."""
        scores = self._zeros.borrow(len(columns.owners) + 1)  # the last one stands for none
        np.add.at(scores, found.docs, gains)
        pool = limit if self.context is None else max(limit, self.context.pool)
        floor = nth_best(scores.take(found.sample(pool)), pool)
        candidates = reaching(scores, found.essential(gains, floor), floor)
        best, values = top_values(candidates, scores.take(candidates), pool)
        if self.context is not None:
            around, spare = columns.neighbours, self._spare.borrow(len(scores))
            values = self.context.rescored(best, values, scores, around, spare)
            self._spare.give_back(spare)
            best, values = top_values(best, values, limit)
        self._zeros.give_back(scores, found.docs)
        return best, values

    def _gains(self, columns: Columns, query: KeywordQuery) -> tuple[FoundTerms, Floats]:
        """What is found, and what each find is worth.

        Remembered until the next query or change: the same is asked of one kind of files and then
        of another.
        """
        if self._asked is None or self._asked[0] is not query:
            found = self._found(columns, query)
            self._asked = (query, found, columns.gains(found))
        return self._asked[1:]

    def _found(self, columns: Columns, query: KeywordQuery) -> FoundTerms:
        """The lists of all terms of a query that occur, and what one occurrence is worth."""
        wanted = np.array(query.keys, np.int64)
        lists = [
            [*part.find(wanted), *(part.find_character(c) for c in query.characters)]
            for part in columns.parts
        ]
        worth = (*query.weights, *(1.0 for _ in query.characters))
        return columns.join(lists, self._weights(columns.parts, lists, worth))

    def _weights(
        self, parts: Sequence[Part], lists: list[list[Found]], worth: Sequence[float]
    ) -> list[tuple[int, float]]:
        """``(term number, worth · idf · (k1 + 1))`` of the terms that occur, commonest first."""
        frequencies = [0] * len(worth)
        for part, found in zip(parts, lists, strict=True):
            for term, (docs, _counts) in enumerate(found):
                frequencies[term] += part.frequency(docs) if part.dead else len(docs)
        weights = [(df, term) for term, df in enumerate(frequencies) if df]
        weights.sort(key=lambda pair: (-pair[0], pair[1]))
        scale = self.k1 + 1
        return [
            (term, worth[term] * scale * math.log1p((self.live - df + 0.5) / (df + 0.5)))
            for df, term in weights
        ]

    def _known(self) -> Columns:
        if self._columns is None:
            parts = [part for part in self.parts if part.live]
            average = max(self.total_length, 1) / self.live
            self._columns = Columns.of(parts, self.k1, self.b, average)
        return self._columns

    def _changed(self) -> None:
        self._columns = self._asked = None


def _merge_small(segments: list[Segment]) -> list[Segment]:
    while len(segments) > 1:
        elder, younger = segments[-2:]
        if elder.live >= _GROWTH * younger.live or elder.live + younger.live > LARGEST_SEGMENT:
            break
        segments = [*segments[:-2], merge_segments((elder, younger))]
    return segments


def _packed(group: list[Segment]) -> Segment:
    if len(group) == 1 and not group[0].dead:
        return group[0]
    return merge_segments(group)
