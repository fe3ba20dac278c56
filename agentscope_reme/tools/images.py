"""Pictures for models that see: known by their first bytes, never by their name."""

from __future__ import annotations

import base64
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.files.picture_types import image_type
from agentscope_reme.results import ImageResult
from agentscope_reme.tools.access import Access

MOST_IMAGE_BYTES: Final = 5 * 1024 * 1024
"""Larger pictures are refused: most providers do not take them."""


def read_image(access: Access, path: str) -> ImageResult:
    """See `FileOperations.read_image`."""
    clean = access.readable(path)
    _refuse_large(clean, _size_on_disk(access, clean))
    return picture(clean, access.read(clean))


def picture(name: str, data: bytes) -> ImageResult:
    """A picture, wherever it is.

    Raises:
        BadInput: it is none, or larger than `MOST_IMAGE_BYTES`.
    """
    _refuse_large(name, len(data))
    media_type = image_type(data)
    if media_type is None:
        raise BadInput(
            name, "not a PNG, JPEG, GIF, WebP or BMP picture", "Use `read` for text files."
        )
    return ImageResult(
        answer=f"{name}: {media_type}, {len(data)} bytes. The picture is attached.",
        path=name,
        media_type=media_type,
        data=base64.b64encode(data).decode("ascii"),
    )


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
