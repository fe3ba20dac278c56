"""Terms as 64-bit numbers, so that postings need no vocabulary table."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

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


def pair_keys(lines: str) -> list[int]:
    """`term_key` of every pair of neighbouring characters, none across a newline."""
    codes = np.frombuffer(lines.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    first, second = codes[:-1], codes[1:]
    within = (first != ord("\n")) & (second != ord("\n"))
    keys: list[int] = (first[within] << _CODE_BITS | second[within] | _PAIR).tolist()
    return keys


class TermKeys(dict[str, int]):
    """`term_key` with a bounded memory."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _CACHED_KEYS:
            self.clear()
        key = term_key(term)
        self[term] = key
        return key
