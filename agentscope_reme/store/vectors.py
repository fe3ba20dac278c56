"""Exact cosine search over the vectors of one embedding space, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.errors import BadInput

Floats = NDArray[np.float32]
Vector = Sequence[float] | Floats


class VectorIndex:
    """Vectors by text hash, as rows of one normalised float32 matrix."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._matrix: Floats = np.empty((0, 0), np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def width(self) -> int:
        """Numbers per vector; 0 while there are none."""
        return int(self._matrix.shape[1])

    def row(self, text_hash: str) -> int:
        """The row of a text's vector; -1 when it has none."""
        return self._rows.get(text_hash, -1)

    def put(self, vectors: Mapping[str, Floats]) -> None:
        """Add or replace normalised vectors, all of the index's width."""
        for text_hash, vector in vectors.items():
            row = self._rows.setdefault(text_hash, len(self._rows))
            if row >= len(self._matrix):
                grown = np.zeros((max(64, 2 * row), len(vector)), np.float32)
                grown[: len(self._matrix), : self.width] = self._matrix
                self._matrix = grown
            self._matrix[row] = vector

    def similarities(self, vector: Floats) -> Floats:
        """The cosine of a normalised vector with every row."""
        similarities: Floats = self._matrix[: len(self._rows)] @ vector
        return similarities


def normalised(vector: Sequence[float] | NDArray[Any], width: int | None = None) -> Floats:
    """A vector of length 1, as float32.

    Raises:
        BadInput: it is empty, not finite, all zero, or not of the wanted width.
    """
    array = np.asarray(vector, np.float64)
    if array.ndim != 1 or not array.size:
        raise BadInput(array.shape, "a vector is one row of numbers", "Pass a list of floats.")
    if width is not None and len(array) != width:
        raise BadInput(len(array), f"vectors here have {width} numbers", "Use one embedding model.")
    length = float(np.linalg.norm(array))
    if not np.isfinite(length) or length == 0:
        raise BadInput(length, "the vector has no direction", "Pass finite numbers, not all zero.")
    return (array / length).astype(np.float32)


def best_rows(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Numbers of the `limit` best scores and of all tied with the last, in no order."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    last = -np.partition(-scores, limit - 1)[limit - 1]
    return np.flatnonzero(scores >= last)


def from_bytes(rows: Iterable[tuple[bytes, bytes]]) -> dict[str, Floats]:
    """Stored rows of ``(text hash, float32 bytes)`` as vectors."""
    return {key.hex(): np.frombuffer(blob, np.float32) for key, blob in rows}
