"""Bytes to text and back without losing one of them.

UTF-8 and, with a byte order mark, UTF-16 and UTF-32 are decoded. Anything else is read as UTF-8 in
which every undecodable byte stands as one lone surrogate (PEP 383, ``surrogateescape``), so that
writing the text back gives the same bytes.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadDocument

BOM: Final = "\ufeff"
"""The byte order mark, which stays the first character of a decoded text."""

# UTF-32 first: its little-endian mark starts with the one of UTF-16.
_MARKED: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF16_OR_32: Final = tuple(mark for mark, _ in _MARKED)
_LOOKED_AT_BYTES: Final = 8192
_NULS_IN_TEXT: Final = 0.01
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How one file's bytes became text.

    ``exact`` is false when some bytes were not UTF-8 and stand as lone surrogates: the file then
    has an encoding nobody declared, and only ASCII can be added without guessing it.
    """

    name: str = "utf-8"
    exact: bool = True

    def encode(self, text: str) -> bytes:
        """The bytes of a text in this encoding.

        Raises:
            BadDocument: the text holds lone surrogates that stand for no byte.
        """
        try:
            return text.encode(self.name, "surrogateescape" if self.name == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            raise BadDocument(
                text[error.start : error.start + 1],
                f"this character cannot be written as {self.name}",
                "Remove the lone surrogate from the text.",
            ) from error


def decode_text(data: bytes) -> tuple[str, TextEncoding]:
    """Text and encoding of a file; ``encoding.encode(text) == data`` for all bytes."""
    try:
        return data.decode("utf-8"), TextEncoding()
    except UnicodeDecodeError:
        pass
    for mark, name in _MARKED:
        if data.startswith(mark):
            text = _decoded_exactly(data, name)
            if text is not None:
                return text, TextEncoding(name)
    return data.decode("utf-8", "surrogateescape"), TextEncoding(exact=False)


def _decoded_exactly(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        return None
    return text if text.encode(name) == data else None


def decode_guessing(data: bytes) -> tuple[str, TextEncoding]:
    """As `decode_text`, with GB18030 tried for bytes that are neither UTF-8 nor marked."""
    text, encoding = decode_text(data)
    if encoding.exact:
        return text, encoding
    guess = _decoded_exactly(data, "gb18030")
    return (text, encoding) if guess is None else (guess, TextEncoding("gb18030", exact=False))


def is_binary(data: bytes) -> bool:
    """Whether a file holds no text, such as an image; a stray NUL makes none of it."""
    head = data[:_LOOKED_AT_BYTES]
    return not head.startswith(_UTF16_OR_32) and head.count(0) > len(head) * _NULS_IN_TEXT


def indexable_text(data: bytes) -> str:
    """A file's text for the index, which is derived and may guess.

    What fits no encoding becomes U+FFFD. The number of lines is that of the file either way.
    """
    text, encoding = decode_guessing(data)
    return text if encoding.exact else without_surrogates(text)


def without_surrogates(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, so that it can be stored as UTF-8."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)
