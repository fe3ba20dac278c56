"""The best of many scores, most of which are zero."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.postings import Floats

Numbers = NDArray[np.intp]

_FEW_CANDIDATES: Final = 512
_SPARSE: Final = 10
"""Comparing a score in its place takes this many times less than fetching it and sorting."""


def top_values(numbers: Numbers, values: Floats, limit: int) -> tuple[Numbers, Floats]:
    """The `limit` best of these and all tied with the last."""
    if len(values) <= limit:
        return numbers, values
    kept = (values >= nth_best(values, limit)).nonzero()[0]
    return numbers.take(kept), values.take(kept)


def nth_best(values: Floats, n: int) -> float:
    """The n-th largest value; 0 when there are fewer."""
    if len(values) < n:
        return 0.0
    if len(values) > _FEW_CANDIDATES:
        # Partitioning the negated values is far quicker when most of them are equal.
        return -float(np.partition(-values, n - 1)[n - 1])
    return float(np.sort(values)[-n])


def reaching(scores: Floats, docs: Numbers, floor: float) -> Numbers:
    """Ascending numbers of the positive scores that are not below a floor.

    Args:
        scores: the score of every document.
        docs: documents among which all of these are, in any order and repeatedly.
        floor: a score, or 0.
    """
    least = np.float32(floor)
    if len(docs) * _SPARSE > len(scores):
        return (scores >= least if floor > 0 else scores > 0).nonzero()[0]
    values = scores.take(docs)
    found = docs.take((values >= least if floor > 0 else values > 0).nonzero()[0])
    found.sort()
    is_new = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_new[1:])
    return found[is_new]
