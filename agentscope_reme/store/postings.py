"""Inverted lists: immutable numpy segments, a small mutable tail, and how they are merged.

A *part* (segment or tail) numbers its documents from 0. ``slots`` gives each document the number
its owner knows it by, ascending over all parts; ``owners`` the number of the file it belongs to.
Deleted documents stay in the lists and are masked until a merge drops them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Found = tuple[NDArray[np.intp], NDArray[np.uint8]]
"""One term's documents in one part, ascending, and how often each contains the term."""

LARGEST_SEGMENT: Final = 1 << 16
"""Documents per segment, so that a document number fits 16 bits."""
LARGEST_COUNT: Final = 255
_MERGE_SLAB: Final = 1 << 19
_NOTHING: Final[Found] = (np.empty(0, np.intp), np.empty(0, np.uint8))


@dataclass(frozen=True, slots=True)
class Document:
    """One document to be indexed: its distinct term keys, and how often it contains each.

    Arrays, because thousands of documents wait in the tail and a dictionary takes ten times the
    memory.
    """

    slot: int
    owner: int
    keys: Ints
    counts: NDArray[np.uint8]
    length: int

    @classmethod
    def of(cls, slot: int, owner: int, counts: Mapping[int, int], length: int) -> Document:
        """A document from counted term keys; counts above `LARGEST_COUNT` are cut."""
        size = len(counts)
        numbers = np.fromiter(counts.values(), np.int64, size)
        return cls(
            slot,
            owner,
            np.fromiter(counts, np.int64, size),
            np.minimum(numbers, LARGEST_COUNT).astype(np.uint8),
            length,
        )


class Part:
    """What segments and the tail share: their documents, and which of them are alive."""

    slots: Ints
    owners: Ints
    lengths: NDArray[np.int32]
    alive: Bools
    dead: int = 0

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def live(self) -> int:
        """Documents not deleted."""
        return len(self) - self.dead

    def find(self, keys: Ints) -> list[Found]:
        """The inverted list of each key; empty for unknown ones."""
        raise NotImplementedError

    def frequency(self, docs: NDArray[np.intp]) -> int:
        """How many of these documents are alive."""
        return len(docs) if not self.dead else int(np.count_nonzero(self.alive[docs]))

    def delete(self, slots: Ints) -> tuple[int, int]:
        """Mark documents as deleted; returns how many were alive, and their total length."""
        at = np.searchsorted(self.slots, slots)
        at = at[at < len(self)]
        at = at[np.isin(self.slots[at], slots)]
        at = at[self.alive[at]]
        self.alive[at] = False
        self.dead += len(at)
        return len(at), int(self.lengths[at].sum())


class Segment(Part):
    """Inverted lists in sparse rows: list ``i`` is ``docs[offsets[i]:offsets[i + 1]]``."""

    def __init__(
        self,
        *,
        slots: Ints,
        owners: Ints,
        lengths: NDArray[np.int32],
        keys: Ints,
        offsets: NDArray[np.int32],
        docs: NDArray[np.uint16],
        counts: NDArray[np.uint8],
    ) -> None:
        self.slots = slots
        self.owners = owners
        self.lengths = lengths
        self.keys = keys
        self.offsets = offsets
        self.docs = docs
        self.counts = counts
        self.alive = np.ones(len(slots), np.bool_)
        self.dead = 0

    def find(self, keys: Ints) -> list[Found]:
        """The inverted list of each key; empty for unknown ones."""
        if not len(self.keys):
            return [_NOTHING] * len(keys)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = (self.keys[at] == keys).tolist()
        first, last = self.offsets[at].tolist(), self.offsets[at + 1].tolist()
        return [
            (self.docs[a:b].astype(np.intp), self.counts[a:b]) if here else _NOTHING
            for here, a, b in zip(known, first, last, strict=True)
        ]


class Tail(Part):
    """The newest documents, in a dictionary that takes single additions at once.

    They are inverted when first asked for, so that a bulk load, which goes on to build a segment,
    never pays for the dictionary.
    """

    def __init__(self) -> None:
        self._documents: list[Document] = []
        self._inverted = 0
        self._lists: dict[int, int | list[int]] = {}
        self._refresh_arrays()

    def add(self, documents: Sequence[Document]) -> None:
        """Append documents; their slots are larger than all present ones."""
        alive = self.alive
        self._documents.extend(documents)
        self._refresh_arrays()
        self.alive[: len(alive)] = alive

    def find(self, keys: Ints) -> list[Found]:
        """The inverted list of each key; empty for unknown ones."""
        if self._inverted < len(self._documents):
            self._invert()
        return [_unpacked(self._lists.get(key)) for key in keys.tolist()]

    def live_documents(self) -> list[Document]:
        """The documents not deleted, in order."""
        return [d for d, alive in zip(self._documents, self.alive, strict=True) if alive]

    def _invert(self) -> None:
        """Enter new documents: ``number << 8 | count``, in a list from the second document on."""
        lists = self._lists
        for number in range(self._inverted, len(self._documents)):
            document = self._documents[number]
            base = number << 8
            for key, count in zip(document.keys.tolist(), document.counts.tolist(), strict=True):
                packed = base | count
                entry = lists.setdefault(key, packed)
                if entry == packed:
                    continue  # the first document with this term
                if isinstance(entry, list):
                    entry.append(packed)
                else:
                    lists[key] = [entry, packed]
        self._inverted = len(self._documents)

    def _refresh_arrays(self) -> None:
        documents = self._documents
        self.slots = np.array([d.slot for d in documents], np.int64)
        self.owners = np.array([d.owner for d in documents], np.int64)
        self.lengths = np.array([d.length for d in documents], np.int32)
        self.alive = np.ones(len(documents), np.bool_)


def _unpacked(entry: int | list[int] | None) -> Found:
    if entry is None:
        return _NOTHING
    packed = np.array([entry] if isinstance(entry, int) else entry, np.int64)
    return packed >> 8, (packed & LARGEST_COUNT).astype(np.uint8)


def build_segment(documents: Sequence[Document]) -> Segment:
    """Invert up to `LARGEST_SEGMENT` documents, given in slot order."""
    sizes = [len(d.keys) for d in documents]
    total = sum(sizes)
    keys = _joined([np.empty(0, np.int64), *(d.keys for d in documents)])
    counts = _joined([np.empty(0, np.uint8), *(d.counts for d in documents)])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = _changes(keys)
    return Segment(
        slots=np.array([d.slot for d in documents], np.int64),
        owners=np.array([d.owner for d in documents], np.int64),
        lengths=np.array([d.length for d in documents], np.int32),
        keys=keys[first],
        offsets=np.append(first, total).astype(np.int32),
        docs=np.repeat(np.arange(len(documents), dtype=np.uint16), sizes)[order],
        counts=counts[order],
    )


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """One segment with the live documents of several, given in slot order."""
    kept = [_without_dead(segment) for segment in segments]
    keys = np.sort(np.concatenate([s.keys for s in kept]), kind="stable")  # merges sorted runs
    keys = keys[_changes(keys)]
    sizes = np.zeros(len(keys), np.int64)
    for segment in kept:
        sizes[np.searchsorted(keys, segment.keys)] += np.diff(segment.offsets)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    docs = np.empty(offsets[-1], np.uint16)
    counts = np.empty(offsets[-1], np.uint8)
    cursor = offsets[:-1].copy()
    base = 0
    for segment in kept:
        rows = np.searchsorted(keys, segment.keys)
        _scatter(segment, cursor[rows], base, docs, counts)
        cursor[rows] += np.diff(segment.offsets)
        base += len(segment)
    return Segment(
        slots=_joined(s.slots for s in kept),
        owners=_joined(s.owners for s in kept),
        lengths=_joined(s.lengths for s in kept),
        keys=keys,
        offsets=offsets.astype(np.int32),
        docs=docs,
        counts=counts,
    )


def _scatter(
    segment: Segment,
    starts: Ints,
    base: int,
    docs: NDArray[np.uint16],
    counts: NDArray[np.uint8],
) -> None:
    """Copy a segment's lists to their places in the merged arrays, some at a time."""
    total = len(segment.docs)
    cuts = np.searchsorted(segment.offsets, np.arange(0, total, _MERGE_SLAB), "left")
    bounds = np.unique(np.append(cuts, len(segment.keys))).tolist()
    for low, high in pairwise(bounds):
        a, b = int(segment.offsets[low]), int(segment.offsets[high])
        sizes = np.diff(segment.offsets[low : high + 1])
        to = np.repeat(starts[low:high] - segment.offsets[low:high], sizes) + np.arange(a, b)
        docs[to] = segment.docs[a:b] + np.uint16(base)
        counts[to] = segment.counts[a:b]


def _without_dead(segment: Segment) -> Segment:
    if not segment.dead:
        return segment
    alive = segment.alive
    keep = alive[segment.docs]
    renumbered = (np.cumsum(alive) - 1).astype(np.uint16)
    running = np.concatenate((np.zeros(1, np.int32), np.cumsum(keep, dtype=np.int32)))
    offsets = running[segment.offsets]
    used = np.flatnonzero(np.diff(offsets))
    return Segment(
        slots=segment.slots[alive],
        owners=segment.owners[alive],
        lengths=segment.lengths[alive],
        keys=segment.keys[used],
        offsets=np.append(offsets[:-1][used], offsets[-1]).astype(np.int32),
        docs=renumbered[segment.docs[keep]],
        counts=segment.counts[keep],
    )


def _changes(values: Ints) -> NDArray[np.intp]:
    """Where a sorted array takes a new value."""
    return np.flatnonzero(
        np.concatenate((np.ones(min(len(values), 1), np.bool_), values[1:] != values[:-1]))
    )


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
