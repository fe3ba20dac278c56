"""Terms as 64-bit numbers, so that postings need no vocabulary table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]

_CACHED_KEYS: Final = 1 << 16
_EXACT_BYTES: Final = 7
_PAIR: Final = 1 << 62
_CODE_BITS: Final = 21
_HASHED: Final = -(1 << 63)
_HAN: Final = "\u3400\ua000"
"""The first Han character of the common planes, and what follows the last one."""


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


def hold_han(keys: Keys) -> bool:
    """Whether some ascending term keys stand for pairs of Han characters."""
    first, behind = (_PAIR | ord(character) << _CODE_BITS for character in _HAN)
    low, high = np.searchsorted(keys, (first, behind))
    return bool(low < high)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The distinct term keys of a text, ascending, and how often each occurs."""

    keys: Keys
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Keys) -> TermCounts:
        """Count keys, which come as often as their terms occur, in any order."""
        keys = keys.copy()
        keys.sort()
        is_new = np.empty(len(keys) + 1, np.bool_)
        is_new[0] = is_new[-1] = True  # the last one marks the end
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


class KnownKeys:
    """The term keys of words, each computed once; bounded.

    Words with one key stand in a plain dictionary of numbers: the garbage collector passes over
    it, where it would walk through a hundred thousand entries of any other at every full
    collection, and hold up the whole process.

    Args:
        compute: the keys of a word that is met for the first time.
    """

    def __init__(self, compute: Callable[[str], tuple[int, ...]]) -> None:
        self._compute: Final = compute
        self._single: dict[str, int] = {}
        self._several: dict[str, tuple[int, ...]] = {}

    def of(self, words: Sequence[str]) -> list[int]:
        """The keys of all words, as often as they occur, in no order."""
        found = list(map(self._single.get, words))
        if all(found):  # `None not in found` would compare every number with it
            return cast("list[int]", found)
        keys = [key for key in found if key is not None]
        for word in [word for word, key in zip(words, found, strict=True) if key is None]:
            keys += self._others(word)
        return keys

    def _others(self, word: str) -> tuple[int, ...]:
        keys = self._several.get(word)
        if keys is not None:
            return keys
        key = self._single.get(word)  # new to this text, and not for the first time in it
        if key is not None:
            return (key,)
        if len(self._single) + len(self._several) >= _CACHED_KEYS:
            self._single.clear()
            self._several.clear()
        keys = self._compute(word)
        if len(keys) == 1:
            self._single[word] = keys[0]
        else:
            self._several[word] = keys
        return keys
