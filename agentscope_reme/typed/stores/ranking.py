"""The order of what a search found, alike in every store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_DECIMALS: Final = 6
ROUNDING: Final = 10.0**-_DECIMALS
"""Two products of the same float32 vectors differ by less, whatever engine or row they are of."""


def ranked(found: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    """The best by cosine, ties by id.

    Args:
        found: ids and cosines.
        limit: how many are wanted.

    Returns:
        Ids and rounded cosines between -1 and 1.
    """
    scored = ((key, min(1.0, max(-1.0, round(cosine, _DECIMALS)))) for key, cosine in found)
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]
