"""A passage is worth more when the passages around it answer, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agentscope_reme.store.postings import Floats, Ints


@dataclass(frozen=True, slots=True)
class PassageContext:
    """Re-ranks the best passages by what stands next to them in the same file.

    Small passages often hold the answer while the words of the question stand one passage
    earlier. ``score + neighbours · (score before + score after) + file · best score of the file``.

    Args:
        neighbours: share of the scores directly before and after.
        file: share of the best score in the same file.
        pool: how many of the best passages are looked at.
    """

    neighbours: float
    file: float
    pool: int = 200

    def rescored(self, best: Ints, scores: Floats, owners: Ints) -> Floats:
        """New scores of the passages numbered `best`.

        Args:
            best: ascending passage numbers.
            scores: the plain score of every passage.
            owners: the file number of every passage; a file's passages stand side by side.
        """
        plain = scores.take(best)
        own = owners.take(best)
        around = np.zeros_like(plain)
        for step in (-1, 1):
            beside = best + step
            same_file = owners.take(beside, mode="clip") == own
            same_file &= (beside >= 0) & (beside < len(scores))
            around += scores.take(beside, mode="clip") * same_file
        starts = np.concatenate(([True], own[1:] != own[:-1]))
        of_file = np.maximum.reduceat(plain, np.flatnonzero(starts))[np.cumsum(starts) - 1]
        rescored: Floats = (
            plain + np.float32(self.neighbours) * around + np.float32(self.file) * of_file
        )
        return rescored
