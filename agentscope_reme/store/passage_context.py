"""A passage is worth more when the passages around it answer, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agentscope_reme.store.postings import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Neighbours:
    """By passage number, the passages directly before and after in the same file; -1 for none.

    A file that grew has its passages in order, but others may stand between them.
    """

    before: Ints
    after: Ints

    @classmethod
    def of(cls, owners: Ints, alive: Bools) -> Neighbours:
        """The neighbours among all passages that are not deleted.

        Args:
            owners: the file number of every passage; ascending within a file.
            alive: which passages are not deleted.
        """
        before = np.full(len(owners), -1, np.int64)
        after = before.copy()
        living = np.flatnonzero(alive)
        living = living[np.argsort(owners[living], kind="stable")]  # quick on sorted runs
        same_file = np.flatnonzero(owners[living[1:]] == owners[living[:-1]])
        before[living[same_file + 1]] = living[same_file]
        after[living[same_file]] = living[same_file + 1]
        return cls(before, after)


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

    def rescored(self, best: Ints, scores: Floats, owners: Ints, neighbours: Neighbours) -> Floats:
        """New scores of the passages numbered `best`.

        Args:
            best: passage numbers.
            scores: the plain score of every passage.
            owners: the file number of every passage.
            neighbours: which passages stand next to each other.
        """
        plain = scores.take(best)
        around = np.zeros_like(plain)
        for beside in (neighbours.before.take(best), neighbours.after.take(best)):
            around += scores.take(beside, mode="clip") * (beside >= 0)
        _, file = np.unique(owners.take(best), return_inverse=True)
        of_files = np.zeros(len(best), plain.dtype)
        np.maximum.at(of_files, file, plain)
        rescored: Floats = (
            plain + np.float32(self.neighbours) * around + np.float32(self.file) * of_files[file]
        )
        return rescored
