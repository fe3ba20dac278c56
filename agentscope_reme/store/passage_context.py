"""A passage is worth more when the passages around it answer, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agentscope_reme.store.postings import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What stands around each passage, by passage number.

    A file that grew has its passages in order, but others may stand between them.

    Attributes:
        beside: the passages directly before and after in the same file, in two columns; -1 for
            none. Taken from scores that end with a zero, -1 gives that zero.
        first: the first passage of the same file; 0 for deleted ones.
    """

    beside: Ints
    first: Ints

    @classmethod
    def of(cls, owners: Ints, alive: Bools) -> Neighbours:
        """The neighbours among all passages that are not deleted.

        Args:
            owners: the file number of every passage; ascending within a file.
            alive: which passages are not deleted.
        """
        beside = np.full((len(owners), 2), -1, np.int64)
        first = np.zeros(len(owners), np.int64)
        living = np.flatnonzero(alive)
        living = living[np.argsort(owners[living], kind="stable")]  # quick on sorted runs
        begins = np.ones(len(living), np.bool_)
        np.not_equal(owners[living[1:]], owners[living[:-1]], out=begins[1:])
        same_file = np.flatnonzero(~begins[1:])
        beside[living[same_file + 1], 0] = living[same_file]
        beside[living[same_file], 1] = living[same_file + 1]
        first[living] = living[begins][begins.cumsum() - 1]
        return cls(beside, first)


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

    def rescored(
        self, best: Ints, plain: Floats, scores: Floats, neighbours: Neighbours, zeros: Floats
    ) -> Floats:
        """New scores of the passages numbered `best`.

        Args:
            best: passage numbers, at least one.
            plain: their scores.
            scores: the plain score of every passage, and a last zero, which stands for none.
            neighbours: which passages stand next to each other.
            zeros: as many as there are passages, to write on; they are zeros again afterwards.
        """
        beside = scores.take(neighbours.beside.take(best, axis=0))
        rescored: Floats = beside[:, 0] + beside[:, 1]
        rescored *= np.float32(self.neighbours)
        rescored += plain
        of_files = best_of_groups(plain, neighbours.first.take(best), zeros)
        of_files *= np.float32(self.file)
        rescored += of_files
        return rescored


def best_of_groups(values: Floats, groups: Ints, zeros: Floats) -> Floats:
    """For each value, none negative, the largest one of its group.

    Args:
        values: in any order.
        groups: the number of each one's group.
        zeros: more than the largest of these numbers; they are zeros again afterwards.
    """
    np.maximum.at(zeros, groups, values)
    largest = zeros.take(groups)
    zeros[groups] = 0
    return largest
