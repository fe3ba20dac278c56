"""What kind of picture some bytes are, whatever their file is called."""

from __future__ import annotations

import base64
from typing import Final

_HEAD: Final = 64
"""Characters of Base64, a multiple of four, that hold the longest signature."""


def image_type(data: bytes) -> str | None:
    """The media type of a picture by its signature; ``None`` when it is of no known kind."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    # two letters alone would make pictures of texts; the four bytes at 6 are reserved and zero
    if data[:2] == b"BM" and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    return None


def encoded_image_type(data: str) -> str | None:
    """The same for a picture in Base64; only its beginning is looked at."""
    try:
        return image_type(base64.b64decode(data[:_HEAD], validate=True))
    except ValueError:
        return None
