"""Two ways to keep many vectors in memory, and to find the nearest among some of them.

`ExactRows` compares with all of them in single precision. `CompressedRows` looks at one bit per
number, then compares exactly with the most promising: half the memory, and less time the more
there are. Both give the same scores; the second may miss one, see `CompressedRows`.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.vectors import Floats, Halves, best_rows, cosines, widened

Rows = NDArray[np.int64]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]

T = TypeVar("T", bound=np.generic)

_ROUNDING: Final = 1e-5
"""More than two ways of summing up to some thousand products at length 1 differ by."""
_FEW: Final = 4
"""Up to a quarter of all rows it is quicker to copy those than to compare with all."""
_COMPARED_NUMBERS: Final = 1_000_000
"""Numbers compared exactly for one query, behind the sketch: 2,600 vectors of 384, 1,000 of 1,024,
about 2 ms."""
_PER_HIT: Final = 8
"""At least so many vectors are compared exactly for each one that is wanted."""
_PLANES: Final = 4
"""Bits of each number of a query, against one bit of each number that is kept."""
_BLOCK: Final = 1 << 14
"""Vectors looked at in one go: their bits stay in the cache of a core."""
_GROWTH: Final = 4
"""The mean of some vectors is not that of many more."""
_SAMPLED: Final = 16
_ROOM: Final = 64


class VectorRows(Protocol):
    """Vectors by row number; a row once given is replaced, never removed."""

    def put(self, first: int, halves: Halves) -> None:
        """Write consecutive rows from `first` on, at most one behind the last; in order."""

    def nearest(self, vector: Floats, rows: Rows, limit: int) -> tuple[Places, Floats]:
        """Among some rows the nearest to a vector of length 1.

        Args:
            vector: what to compare with.
            rows: the rows that count; a number may stand there more than once.
            limit: how many are wanted; all tied with the last come as well.

        Returns:
            Places within `rows`, in no order, and their cosines.
        """


class ExactRows:
    """Every vector in single precision."""

    def __init__(self) -> None:
        self._rows: Floats = np.empty((0, 0), np.float32)
        self.count = 0

    def halves(self) -> Halves:
        """The rows there are, in half precision."""
        return self._rows[: self.count].astype(np.float16)

    def put(self, first: int, halves: Halves) -> None:
        """See `VectorRows.put`."""
        end = first + len(halves)
        self._rows = _with_room(self._rows, end, halves.shape[1])
        for start in range(0, len(halves), _BLOCK):
            block = widened(halves[start : start + _BLOCK])
            self._rows[first + start : first + start + len(block)] = block
        self.count = max(self.count, end)

    def nearest(self, vector: Floats, rows: Rows, limit: int) -> tuple[Places, Floats]:
        """See `VectorRows.nearest`."""
        if len(rows) * _FEW < self.count:
            rough = self._rows[rows] @ vector
        else:
            rough = (self._rows[: self.count] @ vector).take(rows)
        near = _reaching(rough, limit, _ROUNDING)
        scores = cosines(self._rows[rows[near]], vector)
        best = best_rows(scores, limit)
        return near[best], scores[best]


class CompressedRows:
    """Vectors in half precision, and of each the signs of its numbers around their mean.

    The signs estimate the cosine (Gao and Long, "RaBitQ", SIGMOD 2024, without the rotation: one
    bit per number, four bits per number of the query); what they find is compared exactly. Of the
    best ten it misses less than one in a hundred where vectors have any structure, and one in eight
    where they have none (`benchmarks/vectors.py`, 200,000 of 384 and 100,000 of 1,024 numbers). A
    plain comparison of signs, with as many compared exactly, misses ten times as many.
    """

    def __init__(self) -> None:
        self._halves: Halves = np.empty((0, 0), np.float16)
        self._signs: Words = np.empty((0, 0), np.uint64)
        self._scale: Floats = np.empty(0, np.float32)
        self._base: Floats = np.empty(0, np.float32)
        self._positive: Floats = np.empty(0, np.float32)
        self._centre: Floats | None = None
        self._centred = 0
        self._count = 0

    def put(self, first: int, halves: Halves) -> None:
        """See `VectorRows.put`; the mean is taken anew whenever there are four times as many."""
        end = first + len(halves)
        self._make_room(end, halves.shape[1])
        self._halves[first:end] = halves
        self._count = max(self._count, end)
        if self._centre is None or self._count > _GROWTH * self._centred:
            self._centre, self._centred = _mean(self._halves[: self._count]), self._count
            first, end = 0, self._count
        for start in range(first, end, _BLOCK):
            block = widened(self._halves[start : min(start + _BLOCK, end)])
            self._sketch(start, block - self._centre, self._centre)

    def nearest(self, vector: Floats, rows: Rows, limit: int) -> tuple[Places, Floats]:
        """See `VectorRows.nearest`."""
        compared = max(_COMPARED_NUMBERS // max(1, len(vector)), _PER_HIT * limit)
        near: Places = np.arange(len(rows))
        if len(rows) > compared:
            near = _reaching(self._estimates(vector).take(rows), compared)
        scores = cosines(widened(self._halves[rows[near]]), vector)
        best = best_rows(scores, limit)
        return near[best], scores[best]

    def _make_room(self, count: int, width: int) -> None:
        self._halves = _with_room(self._halves, count, width)
        self._scale, self._base, self._positive = (
            _with_room(column[:, None], count, 1)[:, 0]
            for column in (self._scale, self._base, self._positive)
        )
        if self._signs.shape[1] < len(self._halves):
            signs = np.zeros((-(-width // 64), len(self._halves)), np.uint64)
            signs[: len(self._signs), : self._count] = self._signs[:, : self._count]
            self._signs = signs

    def _sketch(self, first: int, offsets: Floats, centre: Floats) -> None:
        """Write the signs of some rows, and what turns a sum over them into a cosine."""
        end = first + len(offsets)
        positive = offsets > 0
        self._signs[:, first:end] = _as_words(positive).T
        self._positive[first:end] = positive.sum(axis=1)
        lengths = np.abs(offsets).sum(axis=1)
        squares = np.einsum("ij,ij->i", offsets, offsets)
        self._scale[first:end] = np.divide(
            squares, lengths, out=np.zeros_like(squares), where=lengths > 0
        )
        self._base[first:end] = offsets @ centre

    def _estimates(self, vector: Floats) -> Floats:
        """About the cosine of a vector with every row, but for a number that is the same for all.

        A number of the query is ``low + step * u`` with `u` of four bits, so its products with
        signs are counts of bits.
        """
        centre = self._centre if self._centre is not None else vector
        query = vector - centre
        low = float(query.min())
        step = (float(query.max()) - low) / (2**_PLANES - 1) or 1.0
        levels = np.rint((query - low) / step).astype(np.uint8)
        planes = [_as_words(((levels >> p) & 1)[None] > 0)[0] for p in reversed(range(_PLANES))]
        estimates = np.empty(self._count, np.float32)
        for start in range(0, self._count, _BLOCK):
            end = min(start + _BLOCK, self._count)
            estimates[start:end] = _weighted_bits(self._signs[:, start:end], planes)
        estimates *= np.float32(2 * step)
        estimates += np.float32(2 * low) * self._positive[: self._count]
        estimates -= np.float32(query.sum())
        estimates *= self._scale[: self._count]
        estimates += self._base[: self._count]
        return estimates


def _weighted_bits(signs: Words, planes: list[Words]) -> NDArray[np.uint32]:
    """By vector, the sum of a query's levels over its positive numbers; the highest plane first."""
    count = signs.shape[1]
    total, both = np.zeros(count, np.uint32), np.empty(count, np.uint64)
    ones = np.empty(count, np.uint8)
    for plane in planes:
        total += total
        for word, mask in zip(signs, plane, strict=True):
            np.bitwise_and(word, mask, out=both)
            np.bitwise_count(both, out=ones)
            total += ones
    return total


def _as_words(bits: NDArray[np.bool_]) -> Words:
    """The bits of each row in words of 64, the last filled up with zeros."""
    packed = np.packbits(bits, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))).view(np.uint64)


def _mean(halves: Halves) -> Floats:
    sums = np.zeros(halves.shape[1], np.float64)
    for start in range(0, len(halves), _BLOCK):
        sums += widened(halves[start : start + _BLOCK]).sum(axis=0)
    return (sums / len(halves)).astype(np.float32)


def _reaching(values: Floats, limit: int, slack: float = 0.0) -> Places:
    """Places of the `limit` largest values and of all that are nearly as large as the last."""
    if len(values) <= limit:
        return np.arange(len(values))
    sample = values[::_SAMPLED]
    enough = 2 * limit // _SAMPLED + _SAMPLED
    if len(sample) > 2 * enough:  # what is below a sample's best need not be sorted
        large = values[values >= _nth(sample, enough)]
        values, rest = (large if len(large) >= limit else values), values
    else:
        rest = values
    return np.flatnonzero(rest >= _nth(values, limit) - np.float32(slack))


def _nth(values: Floats, n: int) -> np.float32:
    return np.float32(-np.partition(-values, n - 1)[n - 1])


def _with_room(rows: NDArray[T], count: int, width: int) -> NDArray[T]:
    """The same rows in an array with room for `count` of them; it at least doubles."""
    if count <= len(rows):
        return rows
    grown = np.zeros((max(_ROOM, count, 2 * len(rows)), width), rows.dtype)
    grown[: len(rows), : rows.shape[1]] = rows
    return grown
