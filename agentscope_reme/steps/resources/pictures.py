"""A picture as a model can be shown it: of a format and size that providers take."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.errors import BadDocument, BadInput
from agentscope_reme.files.picture_types import image_type
from agentscope_reme.messages import DataBlock
from agentscope_reme.steps.resources.places import suffix_of
from agentscope_reme.tools.images import MOST_IMAGE_BYTES

if TYPE_CHECKING:
    from PIL.Image import Image

EXTRA: Final = "Install the extra `images`: pip install 'agentscope-reme[images]'."

_TAKEN_AS_IT_IS: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LONGEST_SIDE: Final = 2048
_MOST_PIXELS: Final = 40_000_000
_JPEG_QUALITY: Final = 85
_ORIENTATION: Final = 0x0112
"""The EXIF tag that says how a camera was held."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown, the media type of the original, and in words what was changed for it."""

    block: DataBlock
    media_type: str
    changed: str = ""


def shown_picture(path: str, data: bytes) -> Picture:
    """A picture ready for a model; PNG, JPEG, GIF and WebP of usual size stay as they are.

    With Pillow others are turned into PNG or JPEG, turned upright and scaled down.

    Raises:
        BadInput: it would need Pillow or pillow-heif, which is not installed.
        BadDocument: it is damaged, no picture, or has too many pixels.
    """
    media_type = image_type(data)
    usual = media_type in _TAKEN_AS_IT_IS and len(data) <= MOST_IMAGE_BYTES
    try:
        import PIL.Image  # noqa: F401 - only asks whether it is there
    except ImportError as error:
        if not usual or media_type is None:
            raise BadInput(path, "this picture needs Pillow to be shown", EXTRA) from error
        return Picture(_block(media_type, data), media_type)
    return _looked_at(path, data, media_type if usual else None)


def _looked_at(path: str, data: bytes, usual: str | None) -> Picture:
    from PIL import Image

    _know_heif(path)
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            if width * height > _MOST_PIXELS:
                reason = f"the picture has {width} x {height} pixels, more than {_MOST_PIXELS}"
                raise BadDocument(path, reason, "Save a smaller one.")
            media_type = usual or Image.MIME.get(image.format or "", "image/*")
            if usual and max(image.size) <= _LONGEST_SIDE and _is_upright(image):
                image.load()  # a damaged one is found here, not by the provider
                return Picture(_block(usual, data), usual)
            return _converted(image, media_type)
    except BadDocument:
        raise
    except Exception as error:  # decoders of foreign bytes promise no exception types
        reason = f"the picture cannot be read: {type(error).__name__}: {error}"
        raise BadDocument(path, reason, "Save it again as PNG or JPEG.") from error


def _is_upright(image: Image) -> bool:
    return bool(image.getexif().get(_ORIENTATION, 1) == 1)


def _converted(image: Image, media_type: str) -> Picture:
    from PIL import ImageOps

    frames = int(getattr(image, "n_frames", 1))
    upright: Any = ImageOps.exif_transpose(image) or image
    before = upright.size
    upright.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    told = [f"first of {frames} frames"] if frames > 1 else []
    if upright.size != before:
        told.append(f"scaled from {before[0]} x {before[1]} to {upright.width} x {upright.height}")
    return Picture(_encoded(upright), media_type, ", ".join(told))


def _encoded(image: Image) -> DataBlock:
    if image.has_transparency_data:
        data = _saved(image.convert("RGBA"), "PNG")
        if len(data) <= MOST_IMAGE_BYTES:
            return _block("image/png", data)
    return _block("image/jpeg", _saved(image.convert("RGB"), "JPEG"))


def _saved(image: Image, form: str) -> bytes:
    out = io.BytesIO()
    image.save(out, form, quality=_JPEG_QUALITY)
    return out.getvalue()


def _know_heif(path: str) -> None:
    if suffix_of(path) not in (".heic", ".heif"):
        return
    try:
        heif: Any = import_module("pillow_heif")
    except ImportError as error:
        remedy = "Install `pillow-heif`, or save the picture as JPEG."
        raise BadInput(path, "HEIC pictures need `pillow-heif`", remedy) from error
    heif.register_heif_opener()


def _block(media_type: str, data: bytes) -> DataBlock:
    return DataBlock(media_type=media_type, data=base64.b64encode(data).decode("ascii"))
