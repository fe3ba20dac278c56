"""Making segments: from documents, and from other segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.postings import DocumentColumns, Ints, Segment

MERGE_SLAB: Final = 1 << 18
"""Postings merged at once: that takes a few megabytes besides the result."""


def build_segment(documents: DocumentColumns) -> Segment:
    """Invert up to `LARGEST_SEGMENT` documents."""
    terms = documents.terms
    sizes = [len(keys) for keys, _counts in terms]
    total = sum(sizes)
    keys = _joined([np.empty(0, np.int64), *(keys for keys, _counts in terms)])
    counts = _joined([np.empty(0, np.uint8), *(counts for _keys, counts in terms)])
    order = np.argsort(keys, kind="stable")  # merges the sorted keys of the documents
    keys = keys[order]
    first = _changes(keys)
    return Segment(
        slots=documents.slots,
        owners=documents.owners,
        lengths=documents.lengths,
        keys=keys[first],
        offsets=np.append(first, total).astype(np.int32),
        docs=np.repeat(np.arange(len(terms), dtype=np.uint16), sizes)[order],
        counts=counts[order],
    )


def merge_segments(segments: Sequence[Segment], *, slab: int = MERGE_SLAB) -> Segment:
    """One segment with the live documents of several, given in slot order.

    Args:
        segments: at least one; together at most `LARGEST_SEGMENT` live documents.
        slab: postings merged at once, about.
    """
    total = sum(int(np.count_nonzero(s.alive[s.docs])) if s.dead else len(s.docs) for s in segments)
    docs, counts = np.empty(total, np.uint16), np.empty(total, np.uint8)
    keys, sizes = [np.empty(0, np.int64)], [np.zeros(1, np.int32)]
    filled = 0
    for lists in _slabs(segments, slab):
        merged = lists.in_key_order()
        end = filled + len(merged.docs)
        docs[filled:end], counts[filled:end] = merged.docs, merged.counts
        filled = end
        keys.append(merged.keys)
        sizes.append(merged.sizes)
    return Segment(
        slots=_joined(s.slots[s.alive] for s in segments),
        owners=_joined(s.owners[s.alive] for s in segments),
        lengths=_joined(s.lengths[s.alive] for s in segments),
        keys=_joined(keys),
        offsets=np.cumsum(_joined(sizes), dtype=np.int32),
        docs=docs,
        counts=counts,
    )


@dataclass(frozen=True, slots=True)
class _Lists:
    """Inverted lists one after the other; a key may have several, in document order."""

    keys: Ints
    sizes: NDArray[np.int32]
    docs: NDArray[np.uint16]
    counts: NDArray[np.uint8]

    def in_key_order(self) -> _Lists:
        """The same with one list a key, keys ascending, and no empty lists."""
        order = np.argsort(self.keys, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        sizes = self.sizes[order]
        places = np.arange(len(self.docs))
        places += np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
        keys = self.keys[order]
        first = _changes(keys)
        keys, sizes = keys[first], np.add.reduceat(sizes, first) if len(first) else sizes
        used = sizes > 0
        return _Lists(keys[used], sizes[used], self.docs[places], self.counts[places])


def _slabs(segments: Sequence[Segment], slab: int) -> Iterator[_Lists]:
    """All lists of some segments, a range of keys at a time, so that merging takes little room."""
    largest = max(segments, key=lambda s: len(s.docs))
    cuts = np.searchsorted(largest.offsets, np.arange(slab, len(largest.docs), slab))
    borders = largest.keys[cuts[cuts < len(largest.keys)]]
    bounds = [[0, *np.searchsorted(s.keys, borders).tolist(), len(s.keys)] for s in segments]
    for index in range(len(borders) + 1):
        base, parts = 0, []
        for segment, bound in zip(segments, bounds, strict=True):
            parts.append(_live_lists(segment, bound[index], bound[index + 1], base))
            base += segment.live
        yield _Lists(
            _joined(part.keys for part in parts),
            _joined(part.sizes for part in parts),
            _joined(part.docs for part in parts),
            _joined(part.counts for part in parts),
        )


def _live_lists(segment: Segment, low: int, high: int, base: int) -> _Lists:
    """Some lists without dead documents, those left numbered from `base`."""
    offsets = segment.offsets[low : high + 1]
    docs = segment.docs[offsets[0] : offsets[-1]]
    counts = segment.counts[offsets[0] : offsets[-1]]
    keys = segment.keys[low:high]
    if not segment.dead:
        return _Lists(keys, np.diff(offsets), docs + np.uint16(base), counts)
    keep = segment.alive[docs]
    running = np.concatenate((np.zeros(1, np.int32), np.cumsum(keep, dtype=np.int32)))
    numbers = (np.cumsum(segment.alive) + (base - 1)).astype(np.uint16)
    sizes = np.diff(running[offsets - offsets[0]])
    return _Lists(keys, sizes, numbers[docs[keep]], counts[keep])


def _changes(values: Ints) -> NDArray[np.intp]:
    """Where a sorted array takes a new value."""
    return np.flatnonzero(
        np.concatenate((np.ones(min(len(values), 1), np.bool_), values[1:] != values[:-1]))
    )


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
