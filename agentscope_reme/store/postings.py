"""Inverted lists: immutable numpy segments and a small mutable tail.

A *part* (segment or tail) numbers its documents from 0. ``slots`` gives each document the number
its owner knows it by, ascending over all parts; ``owners`` the number of the file it belongs to.
Deleted documents stay in the lists and are masked until a merge drops them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.term_keys import TermCounts, keys_with

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Found = tuple[NDArray[Any], NDArray[np.uint8]]
"""One term's documents in one part, ascending, and how often each contains the term."""

Terms = tuple[Ints, NDArray[np.uint8]]
"""The distinct term keys of one document, ascending, and how often each occurs."""

LARGEST_SEGMENT: Final = 1 << 16
"""Documents per segment, so that a document number fits 16 bits."""
LARGEST_COUNT: Final = 255
_SMALLEST_ROOM: Final = 64
_ONE: Final = struct.Struct("<q")
_PAIR: Final = struct.Struct("<2q")
_NOTHING: Final[Found] = (np.empty(0, np.uint16), np.empty(0, np.uint8))


class Document(NamedTuple):
    """One document to be indexed: its distinct term keys, ascending, and how often each occurs.

    Arrays, because thousands of documents wait in the tail and a dictionary takes ten times the
    memory.
    """

    slot: int
    owner: int
    keys: Ints
    counts: NDArray[np.uint8]
    length: int

    @classmethod
    def of(cls, slot: int, owner: int, terms: TermCounts, length: int) -> Document:
        """A document from counted terms; counts above `LARGEST_COUNT` are cut."""
        counts = np.minimum(terms.counts, LARGEST_COUNT).astype(np.uint8)
        return cls(slot, owner, terms.keys, counts, length)


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """Documents as columns, in slot order.

    The terms of each are a plain tuple of arrays: the garbage collector looks at such a tuple
    once, where it would walk through thousands of `Document` again and again.
    """

    slots: Ints
    owners: Ints
    lengths: NDArray[np.int32]
    terms: list[Terms]


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

    def known_keys(self) -> Ints:
        """The keys that have a list, ascending."""
        raise NotImplementedError

    def find_character(self, character: str) -> Found:
        """Where a character of a script without spaces stands, in words or alone."""
        lists = self.find(keys_with(character, self.known_keys()))
        docs, place = np.unique(np.concatenate([docs for docs, _ in lists]), return_inverse=True)
        counts = np.concatenate([counts for _, counts in lists])
        often = np.bincount(place, counts, len(docs))  # within a word it is part of two pairs
        return docs, np.minimum((often + 1) // 2, LARGEST_COUNT).astype(np.uint8)

    def frequency(self, docs: NDArray[Any]) -> int:
        """How many of these documents are alive."""
        return len(docs) if not self.dead else int(np.count_nonzero(self.alive[docs]))

    def delete(self, slots: Ints) -> tuple[int, int]:
        """Mark documents as deleted; returns how many were alive, and their total length."""
        at = np.searchsorted(self.slots, slots)
        at = at[at < len(self)]
        return self._delete_at(at[np.isin(self.slots[at], slots)])

    def delete_of(self, owner: int, first: int, last: int) -> tuple[int, int]:
        """As `delete`, for all documents of one owner in slots from `first` to `last`."""
        low, high = np.searchsorted(self.slots, (first, last + 1))
        return self._delete_at(low + np.flatnonzero(self.owners[low:high] == owner))

    def _delete_at(self, at: NDArray[np.intp]) -> tuple[int, int]:
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
        self._keys = keys.data  # single items of an array are far slower to get at
        self._offsets = offsets.data

    def find(self, keys: Ints) -> list[Found]:
        """The inverted list of each key; empty for unknown ones."""
        known, offsets, size = self._keys, self._offsets, len(self.keys)
        found = []
        for at, key in zip(self.keys.searchsorted(keys).tolist(), keys.tolist(), strict=True):
            if at < size and known[at] == key:
                part = slice(offsets[at], offsets[at + 1])
                found.append((self.docs[part], self.counts[part]))
            else:
                found.append(_NOTHING)
        return found

    def known_keys(self) -> Ints:
        """The keys that have a list, ascending."""
        return self.keys


class Tail(Part):
    """The newest documents, in a dictionary that takes single additions at once.

    They are inverted when first asked for, so that a bulk load, which goes on to build a segment,
    never pays for the dictionary.
    """

    def __init__(self) -> None:
        self._terms: list[Terms] = []
        self._inverted = 0
        self._lists: dict[int, int | bytearray] = {}
        self._room = _Columns(_SMALLEST_ROOM)
        self._show(0)

    def add(self, documents: Sequence[Document]) -> None:
        """Append documents; their slots are larger than all present ones."""
        before = len(self._terms)
        self._terms += [(d.keys, d.counts) for d in documents]
        after = len(self._terms)
        if after > len(self._room.slots):
            self._room = _Columns(2 * after, self._room)
        self._room.slots[before:after] = [d.slot for d in documents]
        self._room.owners[before:after] = [d.owner for d in documents]
        self._room.lengths[before:after] = [d.length for d in documents]
        self._show(after)

    def find(self, keys: Ints) -> list[Found]:
        """The inverted list of each key; empty for unknown ones."""
        if self._inverted < len(self._terms):
            self._invert()
        return [_unpacked(self._lists.get(key)) for key in keys.tolist()]

    def known_keys(self) -> Ints:
        """The keys that have a list, ascending."""
        if self._inverted < len(self._terms):
            self._invert()
        return np.sort(np.fromiter(self._lists, np.int64, len(self._lists)))

    def live_documents(self) -> list[Document]:
        """The documents not deleted, in order."""
        return [
            Document(int(self.slots[i]), int(self.owners[i]), *self._terms[i], int(self.lengths[i]))
            for i in self.alive.nonzero()[0].tolist()
        ]

    def columns_of(self, numbers: Sequence[int]) -> DocumentColumns:
        """Some of the documents as a segment is built of them."""
        at = np.array(numbers, np.intp)
        terms = [self._terms[number] for number in numbers]
        return DocumentColumns(self.slots[at], self.owners[at], self.lengths[at], terms)

    def _invert(self) -> None:
        """Enter new documents: ``number << 8 | count``, in bytes from the second document on.

        Bytes, for the garbage collector would look into ten thousand lists.
        """
        lists = self._lists
        for number in range(self._inverted, len(self._terms)):
            keys, counts = self._terms[number]
            base = number << 8
            for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
                packed = base | count
                entry = lists.setdefault(key, packed)
                if entry == packed:
                    continue  # the first document with this term
                if isinstance(entry, int):
                    lists[key] = bytearray(_PAIR.pack(entry, packed))
                else:
                    entry += _ONE.pack(packed)
        self._inverted = len(self._terms)

    def _show(self, size: int) -> None:
        room = self._room
        self.slots, self.owners = room.slots[:size], room.owners[:size]
        self.lengths, self.alive = room.lengths[:size], room.alive[:size]


class _Columns:
    """Space for what is known of each document of a tail, to grow into."""

    def __init__(self, size: int, filled: _Columns | None = None) -> None:
        self.slots: Ints = np.zeros(size, np.int64)
        self.owners: Ints = np.zeros(size, np.int64)
        self.lengths: NDArray[np.int32] = np.zeros(size, np.int32)
        self.alive: Bools = np.ones(size, np.bool_)
        if filled is not None:
            used = len(filled.slots)
            self.slots[:used] = filled.slots
            self.owners[:used] = filled.owners
            self.lengths[:used] = filled.lengths
            self.alive[:used] = filled.alive


def _unpacked(entry: int | bytearray | None) -> Found:
    if entry is None:
        return _NOTHING
    packed = np.frombuffer(_ONE.pack(entry) if isinstance(entry, int) else bytes(entry), "<i8")
    return packed >> 8, (packed & LARGEST_COUNT).astype(np.uint8)
