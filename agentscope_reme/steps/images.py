"""Images of a conversation: checked before anything is saved, kept as files, shown again."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agentscope_reme.context.interleaved import is_visible
from agentscope_reme.errors import BadInput, Conflict, ReMeError
from agentscope_reme.files.changes import Write
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.messages import Block, DataBlock, Message, without_recalled
from agentscope_reme.ports import AgentPort
from agentscope_reme.tools.images import image_type
from agentscope_reme.vault.vault import Vault

IMAGE_FOLDER: Final = "session/images"
"""Where originals are kept, in a folder for each session."""

_ACTOR: Final = "auto_memory"
_ATTEMPTS: Final = 5
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
    """

    messages: tuple[Message, ...]
    sources: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    payloads: Mapping[str, str] = field(default_factory=dict)


def image_folder(log: SessionLog) -> str:
    """The folder of a session's images; named as its log is."""
    return f"{IMAGE_FOLDER}/{log.path.rpartition('/')[2].removesuffix('.jsonl')}"


def prepare_images(
    messages: Sequence[Message], log: SessionLog, *, agent: AgentPort | None, most_images: int
) -> ImageTurns | None:
    """Check the images of a call and decide where they are kept; nothing is written.

    Args:
        messages: as the caller gave them: positions are counted among all blocks.
        log: of their session; ids of messages that have none are the ones it will give.
        agent: who will look at them; without one they are kept for later.
        most_images: more than these are refused.

    Returns:
        ``None`` when there are no images.

    Raises:
        BadInput: the model cannot see, there are too many images, or one is not usable.
    """
    found = [block for message in messages for _, block in message.images()]
    if not any(_is_given(block) for block in found):
        return None
    refuse_blind(agent)
    shown = sum(_is_given(block) for block in found)
    if shown > most_images:
        raise BadInput(
            shown,
            f"more images than the {most_images} one call may have",
            "Split the call, or raise `Settings.max_image_num`.",
        )
    return _Preparation(log).of(messages)


def save_images(vault: Vault, files: Mapping[str, bytes]) -> None:
    """Write originals that are not there yet; a file that is there is used as it is.

    Raises:
        StorageFailed: the disk refused; none of them was written.
        Conflict: others kept creating the same files.
    """
    for attempt in range(_ATTEMPTS):
        missing = [
            Write(path, data, expected=None)
            for path, data in files.items()
            if not vault.exists(path)
        ]
        if not missing:
            return
        try:
            vault.commit(missing, actor=_ACTOR, operation="save_images")
        except Conflict:  # somebody saved one of them meanwhile
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        return


def with_images(
    message: Message, vault: Vault, folder: str, payloads: Mapping[str, str]
) -> Message:
    """A logged message with its saved images loaded again; what cannot be read stays a mention.

    Args:
        message: as the log has it.
        vault: where the files are.
        folder: the images of its session; paths elsewhere are never opened on a message's word.
        payloads: Base64 that need not be read, by path.
    """
    if not message.images():
        return message
    blocks = tuple(_loaded(block, vault, folder, payloads) for block in message.blocks)
    return message.model_copy(update={"blocks": blocks})


def sources_of(messages: Sequence[Message]) -> list[str]:
    """The paths and addresses of the images a model can be shown, in order, each once."""
    found = (block for message in messages for _, block in message.images() if is_visible(block))
    return list(dict.fromkeys(block.path or block.url or "" for block in found))


class _Preparation:
    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._folder = image_folder(log)
        self._files: dict[str, bytes] = {}
        self._payloads: dict[str, str] = {}
        self._sources: list[str] = []

    def of(self, messages: Sequence[Message]) -> ImageTurns:
        said = [(m, kept) for m in messages if (kept := without_recalled(m)) is not None]
        ids = self._log.ids_of([kept for _, kept in said])
        turns = []
        for (message, kept), message_id in zip(said, ids, strict=True):
            named = message.model_copy(update={"id": message_id})
            blocks = _in_place(kept, dict(self._placed(named)))
            turns.append(kept.model_copy(update={"id": message_id, "blocks": blocks}))
        sources = tuple(dict.fromkeys(self._sources))
        return ImageTurns(tuple(turns), sources, self._files, self._payloads)

    def _placed(self, message: Message) -> Iterator[tuple[int, DataBlock]]:
        """Every image as it is logged, by the order it has among the images of its message."""
        for order, (index, block) in enumerate(message.images()):
            inline = _INLINE.match(block.url or "")
            if inline and block.url:
                update = {"media_type": inline[1], "data": block.url[inline.end() :], "url": None}
                block = block.model_copy(update=update)
            if block.data is not None:
                yield order, self._kept(message, index, block, block.data)
            elif block.url is not None:
                _refuse_address(block.url)
                self._sources.append(block.url)
                yield order, block
            else:
                yield order, block

    def _kept(self, message: Message, index: int, block: DataBlock, encoded: str) -> DataBlock:
        data = _decoded(encoded)
        media_type = block.media_type
        if media_type == "image/*":
            media_type = image_type(data) or media_type
        path = f"{self._folder}/{_file_name(message.id or '', index, media_type)}"
        if self._files.setdefault(path, data) != data:
            raise BadInput(
                path, "two different images of this call have this place", "Use another message id."
            )
        self._payloads[path] = encoded
        self._sources.append(path)
        return block.model_copy(update={"media_type": media_type, "path": path})


def _in_place(message: Message, images: Mapping[int, DataBlock]) -> tuple[Block, ...]:
    order = 0
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, DataBlock) and block.is_image:
            block = images[order]
            order += 1
        blocks.append(block)
    return tuple(blocks)


def _is_given(block: DataBlock) -> bool:
    """Whether the call brings the image; a mere reference to one, as logs have it, does not."""
    if block.data is not None or block.url is not None:
        return True
    if block.path is None and block.sha256 is None:
        raise BadInput(block.media_type, "this image block is empty", "Give Base64 data or a URL.")
    return False


def refuse_blind(agent: AgentPort | None) -> None:
    """Refuse an agent that cannot see; without one the images wait for the next.

    Raises:
        BadInput: the model and its formatter take no images.
    """
    if agent is None or agent.supports_images:
        return
    raise BadInput(
        getattr(agent, "label", type(agent).__name__),
        "this model and formatter take no images",
        "Pass a vision-capable `chat_model` and formatter, or leave `include_images` out.",
    )


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


def _file_name(message_id: str, index: int, media_type: str) -> str:
    encoded = message_id.encode("utf-8", "surrogatepass").hex()
    name = f"msg-{encoded}-image-{index}.{_extension(media_type)}"
    if len(name) > _LONGEST_NAME_BYTES:
        raise BadInput(
            message_id, "the message id is too long for the name of an image file", "Shorten it."
        )
    return name


def _extension(media_type: str) -> str:
    kind = media_type.partition(";")[0].strip().casefold()
    guessed = (mimetypes.guess_extension(kind) or "").lstrip(".")
    plain = _PLAIN_EXTENSION.fullmatch(kind.partition("/")[2])
    return _EXTENSIONS.get(kind) or guessed or (plain[0] if plain else "img")


def _loaded(block: Block, vault: Vault, folder: str, payloads: Mapping[str, str]) -> Block:
    if not isinstance(block, DataBlock) or not block.is_image or is_visible(block):
        return block
    if block.path is None or not block.path.startswith(f"{folder}/"):
        return block
    if block.path in payloads:
        return block.model_copy(update={"data": payloads[block.path]})
    try:
        data = vault.read(block.path)
    except ReMeError:  # deleted, or a link that leads out: the text still names it
        return block
    return block.model_copy(update={"data": base64.b64encode(data).decode("ascii")})
