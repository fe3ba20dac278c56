"""Terms as 64-bit numbers, so that postings need no vocabulary table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]

_CACHED_KEYS: Final = 1 << 16
_EXACT_BYTES: Final = 7
_PAIR: Final = 1 << 62
_CODE_BITS: Final = 21
_HASHED: Final = -(1 << 63)


def term_key(term: str) -> int:
    """A signed 64-bit number for a term, the same in every process.

    A pair of characters and up to seven UTF-8 bytes are kept exactly. Longer terms are hashed into
    the negative half (BLAKE2b, 63 bits), where ten million of them collide with a chance of
    about five in a million.
    """
    if len(term) == 2:
        return _PAIR | ord(term[0]) << _CODE_BITS | ord(term[1])
    encoded = term.encode("utf-8", "surrogatepass")
    if len(encoded) <= _EXACT_BYTES:
        return int.from_bytes(encoded, "little")
    digest = hashlib.blake2b(encoded, digest_size=8).digest()
    return int.from_bytes(digest, "little") | _HASHED


def pair_keys(lines: str) -> Keys:
    """`term_key` of every pair of neighbouring characters, none across a newline."""
    codes = np.frombuffer(lines.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    inside = codes != ord("\n")
    keys = codes[:-1] << _CODE_BITS
    keys |= codes[1:]
    keys |= _PAIR
    within: Keys = keys[inside[:-1] & inside[1:]]
    return within


def keys_with(character: str, keys: Keys) -> Keys:
    """Those of some ascending term keys that stand for a character, or a pair with it."""
    code = ord(character)
    pairs = keys[np.searchsorted(keys, _PAIR) :]
    low, high = np.searchsorted(
        pairs, (_PAIR | code << _CODE_BITS, _PAIR | (code + 1) << _CODE_BITS)
    )
    second = pairs[(pairs & ((1 << _CODE_BITS) - 1)) == code]
    itself = np.array([term_key(character)], np.int64)
    return np.unique(np.concatenate((itself, pairs[low:high], second)))


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The distinct term keys of a text, ascending, and how often each occurs."""

    keys: Keys
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Keys) -> TermCounts:
        """Count keys, which come as often as their terms occur, in any order."""
        keys = np.sort(keys)
        is_new = np.ones(len(keys) + 1, np.bool_)  # the last one marks the end
        np.not_equal(keys[1:], keys[:-1], out=is_new[1:-1])
        starts = is_new.nonzero()[0]
        return cls(keys[starts[:-1]], starts[1:] - starts[:-1])

    @classmethod
    def of_mapping(cls, counts: Mapping[int, int]) -> TermCounts:
        """From counts by key."""
        keys = sorted(counts)
        return cls(np.array(keys, np.int64), np.array([counts[k] for k in keys], np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def total(self) -> int:
        """The occurrences of all terms."""
        return int(self.counts.sum())


class TermKeys(dict[str, int]):
    """`term_key` with a bounded memory."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _CACHED_KEYS:
            self.clear()
        key = term_key(term)
        self[term] = key
        return key
