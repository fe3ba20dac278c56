"""Which vector belongs to each passage, known without asking for all of them after every change."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from agentscope_reme.store.postings import Ints
from agentscope_reme.store.vector_index import VectorIndex

Living = Callable[[], tuple[Ints, Ints]]
"""The slots of all searchable chunks, ascending, and the number of the file each belongs to."""
Placed = tuple[Ints, Ints, Ints]
"""Slots, file numbers and rows of the chunks that have a vector."""

_NONE: Final = -1
_SPARE: Final = 1024


class PassageRows:
    """The row of each slot. A slot is given out once and never says anything else.

    So it is looked up once, when it is new; which slots are still in use is told by the inverted
    index, which knows it anyway.

    Args:
        index: knows the row of a text.
    """

    def __init__(self, index: VectorIndex) -> None:
        self._index: Final = index
        self._row_of_slot: Ints = np.empty(0, np.int64)
        self._next_slot = 0
        self._waiting: dict[bytes, list[int]] = {}
        self._placed: Placed | None = None

    def changed(self) -> None:
        """Chunks came or went."""
        self._placed = None

    def arrived(self, keys: Iterable[bytes]) -> None:
        """Texts have a vector now."""
        for key in keys:
            for slot in self._waiting.pop(key, ()):
                self._row_of_slot[slot] = self._index.row(key)
                self._placed = None

    def placed(self, connection: sqlite3.Connection, living: Living) -> Placed:
        """Where the passages with a vector stand."""
        if self._placed is None:
            slots, owners = living()
            if len(slots) and slots[-1] >= self._next_slot:
                self._look_up(connection, int(slots[-1]))
            rows = self._row_of_slot[slots]
            known = rows != _NONE
            self._placed = (slots[known], owners[known], rows[known])
        return self._placed

    def _look_up(self, connection: sqlite3.Connection, last: int) -> None:
        if last >= len(self._row_of_slot):
            grown = np.full(max(2 * len(self._row_of_slot), last + _SPARE), _NONE, np.int64)
            grown[: len(self._row_of_slot)] = self._row_of_slot
            self._row_of_slot = grown
        new = connection.execute(
            "SELECT slot, text_hash FROM chunks WHERE searchable AND slot BETWEEN ? AND ?",
            (self._next_slot, last),
        )
        for slot, key in new:
            row = self._row_of_slot[slot] = self._index.row(key)
            if row == _NONE:
                self._waiting.setdefault(key, []).append(slot)
        self._next_slot = last + 1
