"""Vectors of one space in memory, with whose they are, so that a search reads only those rows.

All rows lie in one array: one product serves a search of everything. A removed row is filled with
the last one, so adding, replacing and removing cost the same however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.ranking import ROUNDING

Numbers = NDArray[np.int64]
Rows = NDArray[np.intp]

_FEWEST_ROWS: Final = 64
_GROWTH: Final = 1.25
_GATHERED_SHARE: Final = 0.2
"""From this share of the rows on, gathering them costs as much as the product with all of them
(measured at width 1,024)."""


class NodeMatrix:
    """Normalised vectors, each of a node known by its number.

    Args:
        width: numbers per vector.
        expected: how many vectors there will be soon.
    """

    def __init__(self, width: int, expected: int = 0) -> None:
        self.width: Final = width
        self._rows: dict[int, int] = {}
        rows = max(_FEWEST_ROWS, int(expected * _GROWTH))
        self._matrix: Floats = np.empty((rows, width), np.float32)
        self._nodes: Numbers = np.empty(rows, np.int64)
        self._types: Numbers = np.empty(rows, np.int64)
        self._targets: Numbers = np.empty(rows, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, node: int, memory_type: int, target: int, vector: Floats) -> None:
        """Add or replace the vector of a node."""
        row = self._rows.setdefault(node, len(self._rows))
        if row == len(self._nodes):
            self._grow(int(row * _GROWTH))
        self._nodes[row], self._types[row], self._targets[row] = node, memory_type, target
        self._matrix[row] = vector

    def remove(self, node: int) -> None:
        """Drop the vector of a node, if it has one."""
        row = self._rows.pop(node, None)
        if row is None:
            return
        last = len(self._rows)
        if row < last:
            for column in (self._matrix, self._nodes, self._types, self._targets):
                column[row] = column[last]
            self._rows[int(self._nodes[row])] = row

    def nearest(
        self,
        vector: Floats,
        limit: int,
        *,
        types: Iterable[int] | None,
        targets: Iterable[int] | None,
        nodes: Numbers | None,
    ) -> tuple[Numbers, Floats]:
        """The `limit` nearest nodes and all that are as near as the last, in no order.

        Args:
            vector: normalised.
            limit: at least one.
            types: only nodes of these types.
            targets: only nodes of these targets.
            nodes: only these nodes.

        Returns:
            Node numbers and cosines.
        """
        rows = self._selected(types, targets, nodes)
        scores = self._products(vector, rows)
        if len(scores) > limit:
            last = -np.partition(-scores, limit - 1)[limit - 1]
            best = np.flatnonzero(scores >= last - np.float32(ROUNDING))
            scores = scores[best]
            rows = best if rows is None else rows[best]
        count = len(self._rows)
        return (self._nodes[:count] if rows is None else self._nodes[rows]), scores

    def _selected(
        self, types: Iterable[int] | None, targets: Iterable[int] | None, nodes: Numbers | None
    ) -> Rows | None:
        count = len(self._rows)
        keep: NDArray[np.bool_] | None = None
        columns = ((self._targets, targets), (self._types, types), (self._nodes, nodes))
        for column, wanted in columns:
            if wanted is None:
                continue
            values = wanted if isinstance(wanted, np.ndarray) else np.array([*wanted], np.int64)
            some = column[:count]
            found = some == values[0] if len(values) == 1 else np.isin(some, values)
            keep = found if keep is None else keep & found
        return None if keep is None else np.flatnonzero(keep)

    def _products(self, vector: Floats, rows: Rows | None) -> Floats:
        count = len(self._rows)
        if rows is None:
            scores: Floats = self._matrix[:count] @ vector
        elif len(rows) < _GATHERED_SHARE * count:
            scores = self._matrix.take(rows, axis=0) @ vector
        else:
            scores = (self._matrix[:count] @ vector)[rows]
        return scores

    def _grow(self, rows: int) -> None:
        # Copied, not resized in place: only a new array gets the large pages that a product of all
        # rows wants (a tenth faster at 400 MB on Linux).
        count = len(self._nodes)
        matrix = np.empty((rows, self.width), np.float32)
        matrix[:count] = self._matrix
        self._matrix = matrix
        more = np.empty(rows - count, np.int64)
        self._nodes = np.concatenate([self._nodes, more])
        self._types = np.concatenate([self._types, more])
        self._targets = np.concatenate([self._targets, more])
