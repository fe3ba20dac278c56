"""The vectors of one embedding space, in memory, by the text they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from agentscope_reme.store.vector_rows import CompressedRows, ExactRows, Places, Rows, VectorRows
from agentscope_reme.store.vectors import Floats, Halves, packed, unpacked

Kind = Literal["auto", "exact", "compressed"]

EXACT_NUMBERS: Final = 128_000_000
"""Up to so many numbers every vector is compared exactly: 333,000 vectors of 384, 125,000 of 1,024,
which take 512 MB and about 10 ms a query."""


class VectorIndex:
    """Finds the nearest vectors; texts are known by the bytes of their hash.

    A vector that is put again replaces the one before; there is no way to remove one: whoever
    searches says which rows count.

    Args:
        kind: ``exact``, ``compressed``, or by size: see `EXACT_NUMBERS`.
    """

    def __init__(self, kind: Kind = "auto") -> None:
        self._kind: Final = kind
        self._row_of: dict[bytes, int] = {}
        self._kept: VectorRows = CompressedRows() if kind == "compressed" else ExactRows()
        self.width = 0

    def __len__(self) -> int:
        return len(self._row_of)

    def row(self, key: bytes) -> int:
        """The row of a text's vector; -1 when it has none."""
        return self._row_of.get(key, -1)

    def load(self, keys: Sequence[bytes], halves: Halves) -> None:
        """Take over many vectors, each text once, into an empty index."""
        self._row_of = {key: row for row, key in enumerate(keys)}
        self._write(0, halves)

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Add or replace vectors of length 1, all of the index's width."""
        for key, vector in vectors.items():
            row = self._row_of.setdefault(key, len(self._row_of))
            self._write(row, unpacked([packed(vector)]))

    def nearest(self, vector: Floats, rows: Rows, limit: int) -> tuple[Places, Floats]:
        """See `VectorRows.nearest`."""
        return self._kept.nearest(vector, rows, limit)

    def _write(self, first: int, halves: Halves) -> None:
        self.width = halves.shape[1]
        too_many = (first + len(halves)) * self.width > EXACT_NUMBERS
        if self._kind == "auto" and too_many and isinstance(self._kept, ExactRows):
            compressed = CompressedRows()
            if self._kept.count:
                compressed.put(0, self._kept.halves())
            self._kept = compressed
        self._kept.put(first, halves)
