"""Images of a conversation: checked before anything is saved, kept as files, shown again."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Final

from agentscope_reme.context.interleaved import is_visible, mention
from agentscope_reme.errors import BadInput, Conflict, ReMeError
from agentscope_reme.files.changes import Write
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.messages import Block, DataBlock, Message, TextBlock
from agentscope_reme.ports import AgentPort
from agentscope_reme.steps.image_places import ImageTurns, Preparation, is_given
from agentscope_reme.vault.vault import Vault

_ACTOR: Final = "auto_memory"
_ATTEMPTS: Final = 5


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
    shown = sum(is_given(block) for message in messages for _, block in message.images())
    if not shown:
        return None
    refuse_blind(agent)
    if shown > most_images:
        raise BadInput(
            shown,
            f"more images than the {most_images} one call may have",
            "Split the call, or raise `Settings.max_image_num`.",
        )
    return Preparation(log).of(messages)


def prepare_whatever_is_given(messages: Sequence[Message], log: SessionLog) -> ImageTurns | None:
    """The same for turns that were said already: nothing is refused.

    Any number of images is kept, whoever may look at them later. What cannot be kept is told in
    ``faults`` and stays a mention.

    Returns:
        ``None`` when no message brings an image.
    """
    images = (block for message in messages for _, block in message.images())
    if not any(block.data is not None or block.url is not None for block in images):
        return None
    return Preparation(log, lenient=True).of(messages)


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
    messages: Sequence[Message],
    vault: Vault,
    folder: str,
    payloads: Mapping[str, str],
    *,
    most_images: int,
) -> tuple[Message, ...]:
    """Logged messages with their saved images loaded again; what cannot be read stays a mention.

    Args:
        messages: as the log has them.
        vault: where the files are.
        folder: the images of their session; paths elsewhere are never opened on a message's word.
        payloads: Base64 that need not be read, by path.
        most_images: how many are loaded; further ones stay mentions.
    """
    loader = _Loader(vault, folder, payloads, most_images)
    return tuple(loader.message(message) if message.images() else message for message in messages)


def sources_of(messages: Sequence[Message]) -> list[str]:
    """The paths and addresses of the images a model can be shown, in order, each once."""
    found = (block for message in messages for _, block in message.images() if is_visible(block))
    return list(dict.fromkeys(block.path or block.url or "" for block in found))


def kept_sources(messages: Sequence[Message]) -> list[str]:
    """The paths and addresses of all images that were kept or can be opened, in order."""
    found = (block for message in messages for _, block in message.images())
    sources = (block.path or (block.url if _is_web(block.url or "") else None) for block in found)
    return list(dict.fromkeys(source for source in sources if source))


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


class _Loader:
    def __init__(
        self, vault: Vault, folder: str, payloads: Mapping[str, str], most_images: int
    ) -> None:
        self._vault = vault
        self._folder = folder
        self._payloads = payloads
        self._left = most_images

    def message(self, message: Message) -> Message:
        return message.model_copy(update={"blocks": tuple(map(self._block, message.blocks))})

    def _block(self, block: Block) -> Block:
        if not isinstance(block, DataBlock) or not block.is_image:
            return block
        if block.url is not None and not _is_web(block.url):
            return TextBlock(text=mention(block))  # only the machine of the speaker could open it
        shown = block if is_visible(block) else self._loaded(block)
        self._left -= is_visible(shown)
        return shown

    def _loaded(self, block: DataBlock) -> DataBlock:
        if self._left <= 0 or block.path is None or not block.path.startswith(f"{self._folder}/"):
            return block
        if block.path in self._payloads:
            return block.model_copy(update={"data": self._payloads[block.path]})
        try:
            data = self._vault.read(block.path)
        except ReMeError:  # deleted, or a link that leads out: the text still names it
            return block
        return block.model_copy(update={"data": base64.b64encode(data).decode("ascii")})


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))
