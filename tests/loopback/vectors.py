"""Deterministic embeddings: equal words give equal directions, so nearness means something."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections.abc import Sequence

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def vector_of(text: str, width: int) -> list[float]:
    """A unit vector of `width` numbers: the sum of one fixed direction per word.

    Texts that share words are near each other; texts without words get a direction of their own.
    """
    words = _WORD.findall(text.lower()) or [text]
    total = [0.0] * width
    for word in words:
        for index, number in enumerate(_direction(word, width)):
            total[index] += number
    length = math.sqrt(sum(number * number for number in total)) or 1.0
    return [number / length for number in total]


def as_base64(vector: Sequence[float]) -> str:
    """Little-endian 32-bit floats in Base64, as the openai client asks for them."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _direction(word: str, width: int) -> list[float]:
    # Four bytes of a counter-mode SHA-256 per number, mapped onto -1 .. 1.
    numbers: list[float] = []
    counter = 0
    while len(numbers) < width:
        digest = hashlib.sha256(f"{counter}\0{word}".encode()).digest()
        numbers.extend(value / 2**31 - 1 for value in struct.unpack("<8I", digest))
        counter += 1
    return numbers[:width]
