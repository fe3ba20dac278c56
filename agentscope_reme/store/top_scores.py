"""The best of many scores, most of which are zero."""

from __future__ import annotations

from typing import Final

import numpy as np

from agentscope_reme.store.postings import Floats, Ints

_FEW_CANDIDATES: Final = 512


def best_numbers(scores: Floats, limit: int, sample: Ints) -> Ints:
    """Ascending numbers of the `limit` best positive scores, and of all tied with the last."""
    floor = np.float32(0)
    if len(sample) >= limit:
        floor = nth_best(scores[sample], limit)
    candidates = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
    if len(candidates) <= limit:
        return candidates
    values = scores[candidates]
    return candidates[values >= nth_best(values, limit)]


def top_values(numbers: Ints, values: Floats, limit: int) -> tuple[Ints, Floats]:
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
