"""Terms as words no engine can misread: letters and digits, other ones for every workspace.

An engine's own analyser would split, stem or drop what our tokenizer took care to keep. What it
gets to see are numbers in disguise, parted by blanks: any analyser that cuts at blanks does, and
Chinese, identifiers and emoji behave alike everywhere.

The disguise depends on the workspace and on whether a file is raw, so that a search finds nothing
of another workspace even before the workspace is compared, and long lists of one user's common
words never slow down another's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.term_keys import Keys, TermCounts

MOST_REPEATS: Final = 255
"""A term stands at most so often among the words of a chunk: what a local index counts up to."""
GROUPS: Final = (False, True)
"""Distilled files and raw ones: what nearly every search asks for apart."""

_ALPHABET: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)
_LETTERS: Final = 8
"""Five bits each: among a hundred thousand terms of a workspace two coincide with a chance of half
a percent, and cost a hit that ranks a little wrong."""
_PLACES: Final = np.arange(0, 5 * _LETTERS, 5, dtype=np.uint64)

Numbers = NDArray[np.uint64]


class OpaqueTerms:
    """The words of one workspace.

    Args:
        workspace: whose words.
    """

    def __init__(self, workspace: str) -> None:
        self._salts: Final = {raw: _salt(workspace, raw) for raw in GROUPS}

    def field(self, counts: TermCounts, *, raw: bool) -> str:
        """What an engine searches for a chunk: each term as often as it counts, blanks between."""
        repeats = np.minimum(counts.counts, MOST_REPEATS)
        return _read(self._letters(counts.keys, raw=raw).repeat(repeats, axis=0))

    def words(self, keys: Sequence[int] | Keys, *, raw: bool) -> list[str]:
        """The word of each term key."""
        return _read(self._letters(keys, raw=raw)).split()

    def _letters(self, keys: Sequence[int] | Keys, *, raw: bool) -> NDArray[np.uint8]:
        """A row for each word, with a blank at its end."""
        mixed = _mixed(np.asarray(keys, np.int64).astype(np.uint64) ^ self._salts[raw])
        letters = np.full((len(mixed), _LETTERS + 2), ord(" "), np.uint8)
        letters[:, 0] = ord("t")  # never a number, which some analysers treat in their own way
        letters[:, 1:-1] = _ALPHABET[
            (mixed[:, np.newaxis] >> _PLACES & np.uint64(31)).view(np.intp)
        ]
        return letters


def _read(letters: NDArray[np.uint8]) -> str:
    return letters.tobytes().decode("ascii").rstrip()


def _salt(workspace: str, raw: bool) -> np.uint64:
    name = f"{'raw' if raw else 'distilled'}\0{workspace}".encode("utf-8", "surrogatepass")
    return np.uint64(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little"))


def _mixed(numbers: Numbers) -> Numbers:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014): every bit depends on every bit."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
