"""A passage is worth more when the passages around it answer, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agentscope_reme.store.postings import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Neighbours:
    """By passage number, the passages directly before and after in the same file; -1 for none.

    Taken from scores that end with a zero, -1 gives that zero.

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
            best: passage numbers, at least one.
            scores: the plain score of every passage, and a last zero, which stands for none.
            owners: the file number of every passage.
            neighbours: which passages stand next to each other.
        """
        plain = scores.take(best)
        around = scores.take(neighbours.before.take(best))
        around += scores.take(neighbours.after.take(best))
        around *= np.float32(self.neighbours)
        of_files = best_of_groups(plain, owners.take(best))
        of_files *= np.float32(self.file)
        rescored: Floats = plain + around + of_files
        return rescored


def best_of_groups(values: Floats, groups: Ints) -> Floats:
    """For each value the largest one of its group."""
    order = groups.argsort()
    in_order = groups.take(order)
    is_first = np.ones(len(groups), np.bool_)
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    largest = np.maximum.reduceat(values.take(order), is_first.nonzero()[0])
    best = np.empty_like(values)
    best[order] = largest.take(is_first.cumsum() - 1)
    return best
