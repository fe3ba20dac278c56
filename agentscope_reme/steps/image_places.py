"""Where the images of a conversation are kept, and what can be kept of them at all."""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agentscope_reme.errors import BadInput
from agentscope_reme.files.picture_types import image_type
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.messages import Block, DataBlock, Message, without_recalled

IMAGE_FOLDER: Final = "session/images"
"""Where originals are kept, in a folder for each session."""

_LONGEST_NAME_BYTES: Final = 255
_PLAIN_EXTENSION: Final = re.compile(r"[a-z0-9]{1,10}")
_INLINE: Final = re.compile(r"data:(image/[\w.+-]+);base64,", re.IGNORECASE)
_UNSAFE_IN_ADDRESS: Final = re.compile(r"[\s<>\x00-\x1f\x7f]")
_EXTENSIONS: Final = {"image/jpeg": "jpg", "image/svg+xml": "svg", "image/tiff": "tiff"}


@dataclass(frozen=True, slots=True)
class ImageTurns:
    """The messages of a call, ready to be logged, and what goes with them.

    Attributes:
        messages: with ids, and with the paths of their images; recalled memory is taken out.
        sources: the path or address of every image, in order.
        files: what is to be saved, by path.
        payloads: the Base64 the call gave, by path: what a model is shown, unchanged.
        faults: what is wrong with images that are only mentioned; see `Preparation`.
    """

    messages: tuple[Message, ...]
    sources: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    payloads: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[BadInput, ...] = ()


def image_folder(log: SessionLog) -> str:
    """The folder of a session's images; named as its log is."""
    return f"{IMAGE_FOLDER}/{log.path.rpartition('/')[2].removesuffix('.jsonl')}"


def is_given(block: DataBlock) -> bool:
    """Whether the call brings the image; a mere reference to one, as logs have it, does not.

    Raises:
        BadInput: the block holds neither an image nor a reference to one.
    """
    if block.data is not None or block.url is not None:
        return True
    if block.path is None and block.sha256 is None:
        raise BadInput(block.media_type, "this image block is empty", "Give Base64 data or a URL.")
    return False


class Preparation:
    """Decides where the images of one call are kept; writes nothing.

    Args:
        log: of their session; ids of messages that have none are the ones it will give.
        lenient: an image that cannot be kept stays a mention, and is told in ``faults``; a message
            id too long for a file's name is hashed. Otherwise both are refused.
    """

    def __init__(self, log: SessionLog, *, lenient: bool = False) -> None:
        self._log = log
        self._lenient = lenient
        self._folder = image_folder(log)
        self._files: dict[str, bytes] = {}
        self._payloads: dict[str, str] = {}
        self._sources: list[str] = []
        self._faults: list[BadInput] = []

    def of(self, messages: Sequence[Message]) -> ImageTurns:
        """The messages with their images in place.

        Raises:
            BadInput: an image cannot be used, and this is not lenient.
        """
        said = [(m, kept) for m in messages if (kept := without_recalled(m)) is not None]
        ids = self._ids_of([kept for _, kept in said])
        turns = []
        for (message, kept), message_id in zip(said, ids, strict=True):
            if self._log.is_forgotten(message_id):
                turns.append(kept.model_copy(update={"id": message_id}))
                continue
            named = message.model_copy(update={"id": message_id})
            blocks = _in_place(kept, dict(self._placed(named)))
            turns.append(kept.model_copy(update={"id": message_id, "blocks": blocks}))
        sources = tuple(dict.fromkeys(self._sources))
        faults = tuple(self._faults)
        return ImageTurns(tuple(turns), sources, self._files, self._payloads, faults)

    def _ids_of(self, messages: Sequence[Message]) -> Sequence[str]:
        """The ids the log will know them by; a look at the log only where one is missing."""
        given = [message.id for message in messages if message.id is not None]
        return given if len(given) == len(messages) else self._log.ids_of(messages)

    def _placed(self, message: Message) -> Iterator[tuple[int, DataBlock]]:
        """Every image as it is logged, by the order it has among the images of its message."""
        for order, (index, block) in enumerate(message.images()):
            try:
                yield order, self._place(message, index, block)
            except BadInput as error:
                if not self._lenient:
                    raise
                self._faults.append(error)
                yield order, block

    def _place(self, message: Message, index: int, block: DataBlock) -> DataBlock:
        inline = _INLINE.match(block.url or "")
        if inline and block.url:
            update = {"media_type": inline[1], "data": block.url[inline.end() :], "url": None}
            block = block.model_copy(update=update)
        if block.data is not None:
            return self._kept(message, index, block, block.data)
        if block.url is not None:
            _refuse_address(block.url)
            self._sources.append(block.url)
        return block

    def _kept(self, message: Message, index: int, block: DataBlock, encoded: str) -> DataBlock:
        data = _decoded(encoded)
        media_type = block.media_type
        if media_type == "image/*":
            media_type = image_type(data) or media_type
        name = _file_name(message.id or "", index, media_type, hashed=self._lenient)
        path = f"{self._folder}/{name}"
        if self._files.setdefault(path, data) != data:
            raise BadInput(
                path, "two different images of this call have this place", "Use another message id."
            )
        self._payloads[path] = encoded
        self._sources.append(path)
        # As the log keeps it: a large image is decoded once, not at every look at the turn.
        known = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        update = {"media_type": media_type, "path": path, "data": None, **known}
        return block.model_copy(update=update)


def _in_place(message: Message, images: Mapping[int, DataBlock]) -> tuple[Block, ...]:
    order = 0
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, DataBlock) and block.is_image:
            block = images[order]
            order += 1
        blocks.append(block)
    return tuple(blocks)


def _refuse_address(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError:  # a malformed host
        parts = urlsplit("")
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        raise BadInput(
            url,
            "only http:// and https:// addresses of images are supported",
            "Submit a local file as Base64 data.",
        )
    if _UNSAFE_IN_ADDRESS.search(url):
        raise BadInput(
            url, "the address has blanks or characters no URL has", "Percent-encode them."
        )


def _decoded(encoded: str) -> bytes:
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(
            encoded[:40], f"the image is not valid Base64: {error}", "Encode its bytes again."
        ) from error
    if not data:
        raise BadInput(encoded, "the image is empty", "Leave it out, or give its data.")
    return data


def _file_name(message_id: str, index: int, media_type: str, *, hashed: bool) -> str:
    encoded = message_id.encode("utf-8", "surrogatepass")
    ending = f"-image-{index}.{_extension(media_type)}"
    name = f"msg-{encoded.hex()}{ending}"
    if len(name) <= _LONGEST_NAME_BYTES:
        return name
    if not hashed:
        raise BadInput(
            message_id, "the message id is too long for the name of an image file", "Shorten it."
        )
    return f"msg-{hashlib.sha256(encoded).hexdigest()}{ending}"


def _extension(media_type: str) -> str:
    kind = media_type.partition(";")[0].strip().casefold()
    guessed = (mimetypes.guess_extension(kind) or "").lstrip(".")
    plain = _PLAIN_EXTENSION.fullmatch(kind.partition("/")[2])
    return _EXTENSIONS.get(kind) or guessed or (plain[0] if plain else "img")
