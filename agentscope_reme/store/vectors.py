"""Vectors as values: at length 1 in memory, in half precision on the disk, compared by cosine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentscope_reme.errors import BadInput

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]
Vector = Sequence[float] | Floats

ON_DISK: Final = "<f2"
"""Half precision: at length 1 it moves a cosine by less than 0.001, and halves the file."""
_BYTES_PER_NUMBER: Final = 2
_HALF_BIAS: Final = np.float32(2.0**112)
"""Between the exponents of half and single precision: 127 - 15."""
_SQUARES: Final = (0.5, 2.0)
"""What the squares of a row at length 1 add up to; rounding moves it by less than a hundredth."""
_BLOCK: Final = 1 << 14
"""Rows looked at in one go."""


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
    largest = float(np.abs(array).max())
    if not np.isfinite(largest) or largest == 0:
        raise BadInput(largest, "the vector has no direction", "Pass finite numbers, not all zero.")
    array = array / largest  # the squares of very large and very small numbers are no numbers
    return (array / np.linalg.norm(array)).astype(np.float32)


def hash_bytes(key: str) -> bytes:
    """The bytes of a text hash, which vectors are kept by.

    Raises:
        BadInput: it is none.
    """
    try:
        return bytes.fromhex(key)
    except ValueError as error:
        raise BadInput(
            key, "this is no text hash", "Use the keys `missing_vectors` gave."
        ) from error


def packed(vector: Floats) -> bytes:
    """A vector of length 1 as it is kept on the disk."""
    return vector.astype(ON_DISK).tobytes()


def unpacked(blobs: Sequence[bytes]) -> Halves:
    """What `packed` made, as the rows of one matrix; all of one width, at least one."""
    return np.frombuffer(b"".join(blobs), ON_DISK).reshape(len(blobs), -1)


def readable(blobs: Sequence[object]) -> tuple[NDArray[np.bool_], Halves]:
    """Those of some stored vectors that can be what `packed` made, of the width most of them have.

    A disk loses a bit or a page; a vector that is not at length 1 any more is not compared with.

    Returns:
        Which they are, and they alone as the rows of one matrix.
    """
    sizes = [len(blob) if isinstance(blob, bytes) else 0 for blob in blobs]
    possible = Counter(size for size in sizes if size and size % _BYTES_PER_NUMBER == 0)
    usual = possible.most_common(1)[0][0] if possible else -1
    fitting = [blob for blob in blobs if isinstance(blob, bytes) and len(blob) == usual]
    sound = np.array([size == usual for size in sizes], np.bool_)
    if not fitting:
        return sound, np.empty((0, 0), np.float16)
    halves = unpacked(fitting)
    starts = range(0, len(halves), _BLOCK)
    squares = np.concatenate([_squares(_singles(halves[at : at + _BLOCK])) for at in starts])
    at_length_1 = (squares > _SQUARES[0]) & (squares < _SQUARES[1])
    sound[sound] = at_length_1
    return sound, halves if at_length_1.all() else halves[at_length_1]


def widened(halves: Halves) -> Floats:
    """Half precision as float32, each row at length 1 again."""
    rows = _singles(halves)
    rows /= np.sqrt(_squares(rows))[:, None]
    return rows


def _singles(halves: Halves) -> Floats:
    """Half precision as float32: finite numbers exactly, what is none as a large number.

    The bits are moved by hand: five times as fast as numpy's own conversion.
    """
    bits = halves.view(np.uint16).astype(np.uint32)
    sign = (bits & 0x8000) << 16
    bits &= 0x7FFF
    bits <<= 13
    bits |= sign
    rows = bits.view(np.float32)
    rows *= _HALF_BIAS
    return rows


def _squares(rows: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found


def cosines(rows: Floats, vector: Floats) -> Floats:
    """The cosine of a vector with each row, the same for equal rows wherever they stand.

    A matrix product sums in an order that depends on the place of the row, and ties would be
    decided by it.
    """
    found: Floats = np.einsum("ij,j->i", rows, vector)
    return found


def best_rows(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Numbers of the `limit` best scores and of all tied with the last, in no order."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    last = -np.partition(-scores, limit - 1)[limit - 1]
    return np.flatnonzero(scores >= last)
