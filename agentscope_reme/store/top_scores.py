"""The best of many scores, most of which are zero."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.postings import Floats

Numbers = NDArray[np.intp]

_FEW_CANDIDATES: Final = 512
_SPARSE: Final = 4
"""Up to a quarter of all documents it is quicker to look at those than at all."""


def best_of(scores: Floats, docs: Numbers, limit: int, sample: Numbers) -> tuple[Numbers, Floats]:
    """Ascending numbers and values of the `limit` best scores, and of all tied with the last.

    Args:
        scores: the score of every document.
        docs: documents among which all positive scores are, in any order and repeatedly.
        limit: how many are wanted.
        sample: documents, each once, whose scores bound the answer from below.
    """
    floor = nth_best(scores.take(sample), limit) if len(sample) >= limit else np.float32(0)
    candidates = _reaching(scores, docs, floor)
    return top_values(candidates, scores.take(candidates), limit)


def top_values(numbers: Numbers, values: Floats, limit: int) -> tuple[Numbers, Floats]:
    """The `limit` best of these and all tied with the last."""
    if len(values) <= limit:
        return numbers, values
    kept = values >= nth_best(values, limit)
    return numbers[kept], values[kept]


def nth_best(values: Floats, n: int) -> np.float32:
    """The n-th largest value."""
    if len(values) > _FEW_CANDIDATES:
        # Partitioning the negated values is far quicker when most of them are equal.
        return np.float32(-np.partition(-values, n - 1)[n - 1])
    return np.float32(np.sort(values)[-n])


def _reaching(scores: Floats, docs: Numbers, floor: np.float32) -> Numbers:
    """Ascending numbers of the positive scores that are not below a floor."""
    if len(docs) * _SPARSE > len(scores):
        return (scores >= floor if floor > 0 else scores > 0).nonzero()[0]
    values = scores.take(docs)
    reaching = docs.take((values >= floor if floor > 0 else values > 0).nonzero()[0])
    reaching.sort()
    is_new = np.ones(len(reaching), np.bool_)
    np.not_equal(reaching[1:], reaching[:-1], out=is_new[1:])
    return reaching[is_new]
