"""How far estimates are from what a provider counts, learnt from what it reports."""

from __future__ import annotations

from typing import Final

LOWEST: Final = 0.8
HIGHEST: Final = 2.0
"""The bounds of the correction. An estimate may be raised further than it may be lowered: too low
a size costs the reply, too high a one an early compaction."""

_PLAUSIBLE: Final = (0.4, 4.0)
"""Reports outside of this ratio are not about the prompt: caches left out, or no count at all."""

_LEAST_TOKENS: Final = 1_000
"""Below this, what others add to a prompt (recalled passages, hints) outweighs the estimate."""

_WEIGHT: Final = 0.3
"""How much the newest report counts against all before it (exponential smoothing)."""


class Calibration:
    """The correction factor of one model.

    Attributes:
        factor: what to multiply estimates with; 1 until something was reported.
        reports: how many reports it was learnt from.
    """

    def __init__(self) -> None:
        self.factor = 1.0
        self.reports = 0

    def learn(self, estimated: int, reported: int) -> None:
        """Take in one report; small prompts and implausible reports teach nothing.

        Args:
            estimated: the uncorrected estimate of a whole prompt, in tokens.
            reported: the input tokens the provider counted for it.
        """
        if estimated < _LEAST_TOKENS or reported <= 0:
            return
        ratio = reported / estimated
        if not _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1]:
            return
        weight = _WEIGHT if self.reports else 1.0
        learnt = self.factor + weight * (ratio - self.factor)
        self.factor = min(HIGHEST, max(LOWEST, learnt))
        self.reports += 1

    def corrected(self, estimated: int) -> int:
        """An estimate as the provider would probably count it."""
        return round(estimated * self.factor)
