"""Pictures for models that see: known by their first bytes, never by their name."""

from __future__ import annotations

import base64
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.results import ImageResult
from agentscope_reme.tools.access import Access

MOST_IMAGE_BYTES: Final = 5 * 1024 * 1024
"""Larger pictures are refused: most providers do not take them."""


def read_image(access: Access, path: str) -> ImageResult:
    """See `FileOperations.read_image`."""
    clean = access.readable(path)
    _refuse_large(clean, _size_on_disk(access, clean))
    data = access.read(clean)
    _refuse_large(clean, len(data))
    media_type = image_type(data)
    if media_type is None:
        raise BadInput(
            clean, "not a PNG, JPEG, GIF, WebP or BMP picture", "Use `read` for text files."
        )
    return ImageResult(
        answer=f"{clean}: {media_type}, {len(data)} bytes. The picture is attached.",
        path=clean,
        media_type=media_type,
        data=base64.b64encode(data).decode("ascii"),
    )


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


def _size_on_disk(access: Access, path: str) -> int:
    try:
        return access.workspace.locate_normalised(path).stat().st_size
    except OSError:
        return 0  # a staged file is not on the disk yet


def _refuse_large(path: str, size: int) -> None:
    if size > MOST_IMAGE_BYTES:
        raise BadInput(
            path,
            f"the picture has {size} bytes, more than {MOST_IMAGE_BYTES}",
            "Scale it down and save the smaller one beside it.",
        )
