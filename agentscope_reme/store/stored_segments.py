"""Segments of the inverted index as rows of the index database."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.store.file_table import FileTable, Owners
from agentscope_reme.store.index_schema import Foreign
from agentscope_reme.store.postings import Segment
from agentscope_reme.store.slots import load_slots

Blob = bytes | memoryview
_COLUMNS: Final = "checksum, slots, lengths, keys, sizes, long_sizes, docs, counts"
_LONG: Final = 255
"""Nearly all lists are shorter: their sizes take a byte each, those of the rest stand apart."""


class StoredSegments:
    """Which segments are in the database, under which row."""

    def __init__(self) -> None:
        self._rows: dict[int, Segment] = {}

    def save(
        self, connection: sqlite3.Connection, segments: Sequence[Segment]
    ) -> dict[int, Segment]:
        """Make the rows those of `segments`; hand the result to `settle` after the commit."""
        rows = {row: s for row, s in self._rows.items() if any(s is kept for kept in segments)}
        gone = [(row,) for row in self._rows if row not in rows]
        connection.executemany("DELETE FROM segments WHERE id = ?", gone)
        present = {id(segment) for segment in rows.values()}
        for segment in segments:
            if id(segment) not in present:
                rows[_insert(connection, segment)] = segment
        return rows

    def settle(self, rows: Mapping[int, Segment]) -> None:
        """Know these rows."""
        self._rows = dict(rows)

    def load(self, connection: sqlite3.Connection, files: FileTable) -> list[Segment]:
        """The stored segments in slot order; those already in memory are not read again.

        Raises:
            Foreign: a checksum does not fit, or slots are out of order.
        """
        ids = [row[0] for row in connection.execute("SELECT id FROM segments")]
        if any(i not in self._rows for i in ids):
            owners = files.owners(lambda file_id: load_slots(connection, file_id))
            self._rows |= {i: _read(connection, i, owners) for i in ids if i not in self._rows}
        self._rows = {i: self._rows[i] for i in ids}
        segments = sorted(self._rows.values(), key=lambda segment: int(segment.slots[0]))
        if any(a.slots[-1] >= b.slots[0] for a, b in pairwise(segments)):
            raise Foreign("the slots of two segments overlap")
        return segments


def _insert(connection: sqlite3.Connection, segment: Segment) -> int:
    sizes = np.diff(segment.offsets)
    blobs: list[Blob] = [
        _bytes(segment.slots, "<i8"),
        _bytes(segment.lengths, "<i4"),
        _bytes(segment.keys, "<i8"),
        _bytes(np.minimum(sizes, _LONG), "u1"),
        _bytes(sizes[sizes >= _LONG], "<i4"),
        _bytes(segment.docs, "<u2"),
        zlib.compress(_bytes(segment.counts, "u1"), 1),  # nearly all of them are 1
    ]
    cursor = connection.execute(
        f"INSERT INTO segments ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)",
        (_checksum(blobs), *blobs),
    )
    return int(cursor.lastrowid or 0)


def _read(connection: sqlite3.Connection, row_id: int, owners: Owners) -> Segment:
    row = connection.execute(f"SELECT {_COLUMNS} FROM segments WHERE id = ?", (row_id,)).fetchone()
    checksum, *blobs = row
    if _checksum(blobs) != checksum:
        raise Foreign(f"the checksum of segment {row_id} does not fit")
    slots = np.frombuffer(blobs[0], "<i8")
    segment = Segment(
        slots=slots,
        owners=owners(slots),
        lengths=np.frombuffer(blobs[1], "<i4"),
        keys=np.frombuffer(blobs[2], "<i8"),
        offsets=_offsets(np.frombuffer(blobs[3], "u1"), np.frombuffer(blobs[4], "<i4")),
        docs=np.frombuffer(blobs[5], "<u2"),
        counts=np.frombuffer(zlib.decompress(blobs[6]), np.uint8),
    )
    if np.any(slots[1:] <= slots[:-1]):
        raise Foreign(f"the slots of segment {row_id} are out of order")
    segment.delete(slots[segment.owners < 0])
    return segment


def _offsets(sizes: NDArray[np.uint8], long: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where each list begins, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    offsets[1:] = sizes
    offsets[1:][sizes == _LONG] = long
    return np.cumsum(offsets, dtype=np.int32, out=offsets)


def _bytes(array: NDArray[Any], stored: str) -> memoryview:
    """The array's memory itself wherever numbers are stored as this machine has them."""
    return np.ascontiguousarray(array, stored).view(np.uint8).data


def _checksum(blobs: Sequence[Blob]) -> int:
    checksum = 0
    for blob in blobs:
        checksum = zlib.crc32(blob, checksum)
    return checksum
