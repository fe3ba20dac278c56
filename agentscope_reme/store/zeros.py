"""Zeros to add scores up in, without making or clearing them at every query."""

from __future__ import annotations

from typing import Final

import numpy as np

from agentscope_reme.store.postings import Floats
from agentscope_reme.store.top_scores import Numbers

_SPARSE: Final = 12
"""Clearing a run of numbers takes this many times less a number than clearing single ones."""


class Zeros:
    """An array of zeros that is lent, and has to be given back.

    What a lender is stopped over is not given back, and made anew for the next one.
    """

    def __init__(self) -> None:
        self._kept: Floats | None = None

    def borrow(self, size: int) -> Floats:
        """So many zeros."""
        kept, self._kept = self._kept, None
        return kept if kept is not None and len(kept) == size else np.zeros(size, np.float32)

    def give_back(self, lent: Floats, touched: Numbers | None = None) -> None:
        """Take an array back, in which nothing but what was `touched` is not zero."""
        if touched is not None:
            if len(touched) * _SPARSE < len(lent):
                lent[touched] = 0
            else:
                lent.fill(0)
        self._kept = lent
