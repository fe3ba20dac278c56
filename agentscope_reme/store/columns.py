"""What a search needs of all documents of an index at once, whichever part they stand in.

A query costs as many numpy calls as there are kinds of work, not as there are parts or terms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.passage_context import Neighbours
from agentscope_reme.store.postings import Floats, Found, Ints, Part

Numbers = NDArray[np.intp]
_NONE: Numbers = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class FoundTerms:
    """The inverted lists of a query's terms, part by part, in each the commonest term first.

    Attributes:
        docs: document numbers, ascending within each list.
        counts: how often each contains the term.
        sizes: the length of each list.
        ends: where each list ends.
        weights: what each list's term is worth; as many for every part.
    """

    docs: Numbers
    counts: Floats
    sizes: list[int]
    ends: list[int]
    weights: list[float]

    def sample(self, enough: int) -> Numbers:
        """Documents of the rarest term with enough of them: their best bound the answer below."""
        terms = len(self.weights)
        for term in range(terms - 1, -1, -1):
            if sum(self.sizes[term::terms]) >= enough:
                return self._between(term, term)
        return _NONE

    def essential(self, gains: Floats, floor: float) -> Numbers:
        """Documents among which all are whose score reaches a floor.

        Those are the documents of the rarer terms: the commonest ones, as long as the best gains
        of all of them together are below the floor, cannot lift a document by themselves (MaxScore:
        Turtle and Flood 1995, "Query evaluation: strategies and optimizations").

        However many terms there are, rounding is no matter. A score is the float32 sum of gains in
        the order of the terms, a bound that of the best gains in the same order, and a sum that is
        rounded after each step does not shrink when its parts grow.

        Args:
            gains: what each entry of the lists adds to the score of its document.
            floor: a score some document has, or 0; scores are gains added up in this order.
        """
        terms = len(self.weights)
        starts = [0, *self.ends[:-1]]
        begun = bisect_left(starts, self.ends[-1])  # all but the empty lists at the end
        best = np.zeros(len(starts), np.float32)
        # For an empty list this is a gain of another one: too much, which does no harm.
        best[:begun] = np.maximum.reduceat(gains, starts[:begun])
        # `sum` would add in pairs, and so round otherwise.
        reached = np.add.accumulate(best.reshape(-1, terms).max(axis=0), dtype=np.float32)
        term = min(int(reached.searchsorted(np.float32(floor))), terms - 1)
        return self._between(term, terms - 1) if term else self.docs

    def _between(self, first: int, last: int) -> Numbers:
        """The documents of some terms, those of one part behind those of another."""
        terms = len(self.weights)
        return np.concatenate(
            [
                self.docs[self.ends[at + first] - self.sizes[at + first] : self.ends[at + last]]
                for at in range(0, len(self.sizes), terms)
            ]
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The documents of all parts, numbered one behind the other.

    Attributes:
        parts: those with living documents, in slot order.
        norms: ``k1 · (1 - b + b · length / average)`` of each; infinite for deleted ones.
        owners: the file number of each.
        slots: the number its owner knows it by.
        neighbours: which of them stand next to each other.
    """

    parts: tuple[Part, ...]
    norms: Floats
    owners: Ints
    slots: Ints
    neighbours: Neighbours

    @classmethod
    def of(cls, parts: Sequence[Part], k1: float, b: float, average: float) -> Columns:
        """Look at all documents.

        Args:
            parts: at least one.
            k1: how soon repeating a term stops paying.
            b: how much long documents are held back.
            average: the average length.
        """
        alive = np.concatenate([part.alive for part in parts])
        owners = np.concatenate([part.owners for part in parts])
        norms = np.concatenate([part.lengths for part in parts], dtype=np.float32)
        norms *= np.float32(k1 * b / average)
        norms += np.float32(k1 * (1 - b))
        norms[~alive] = np.inf
        slots = np.concatenate([part.slots for part in parts])
        return cls(tuple(parts), norms, owners, slots, Neighbours.of(owners, alive))

    def join(
        self, lists: Sequence[Sequence[Found]], weights: Sequence[tuple[int, float]]
    ) -> FoundTerms:
        """One behind the other the lists that are worth something.

        Args:
            lists: by part and term.
            weights: ``(term, weight)``, the commonest first.
        """
        chosen = [found[term] for found in lists for term, _weight in weights]
        if not chosen:
            return FoundTerms(_NONE, np.empty(0, np.float32), [], [], [])
        docs = np.concatenate([docs for docs, _counts in chosen], dtype=np.intp)
        counts = np.concatenate([counts for _docs, counts in chosen], dtype=np.float32)
        sizes = [len(docs) for docs, _counts in chosen]
        ends = list(accumulate(sizes))
        start = begin = 0
        for part, end in zip(self.parts, ends[len(weights) - 1 :: len(weights)], strict=True):
            if start and end > begin:
                docs[begin:end] += start
            start, begin = start + len(part), end
        return FoundTerms(docs, counts, sizes, ends, [weight for _term, weight in weights])

    def gains(self, found: FoundTerms) -> Floats:
        """What each entry of the lists adds to the score of its document."""
        gains: Floats = self.norms.take(found.docs)
        gains += found.counts
        np.divide(found.counts, gains, out=gains)
        factors = np.array(found.weights * len(self.parts), np.float32)
        gains *= factors.repeat(found.sizes)
        return gains
