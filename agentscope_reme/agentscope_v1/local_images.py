"""Images a 1.x message names by a path of this machine, read before they can go away.

AgentScope 1.x takes a bare path or a ``file://`` address for an image, and its formatters open it
at every prompt. What a turn showed must outlive that file.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from agentscope_reme.files.picture_types import image_type
from agentscope_reme.messages import Block, DataBlock, Message

LARGEST_LOCAL_FILE: Final = 20 * 1024 * 1024
"""A larger file is named in words instead of being read, in bytes."""


async def with_local_images(messages: Sequence[Message]) -> list[Message]:
    """The messages with images of this machine as Base64, where there are any.

    Only what its first bytes say is an image is read. What a tool's answer names is never opened.
    """
    if not any(_place(block) for message in messages for block in message.blocks):
        return list(messages)
    return await asyncio.to_thread(lambda: [_with_local_images(message) for message in messages])


def _with_local_images(message: Message) -> Message:
    return message.model_copy(update={"blocks": tuple(map(_read, message.blocks))})


def _read(block: Block) -> Block:
    place = _place(block)
    if place is None or not isinstance(block, DataBlock):
        return block
    try:
        if not place.is_file() or place.stat().st_size > LARGEST_LOCAL_FILE:
            return block
        data = place.read_bytes()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return block
    kind = image_type(data)
    if kind is None:
        return block
    encoded = base64.b64encode(data).decode("ascii")
    return block.model_copy(update={"media_type": kind, "data": encoded, "url": None})


def _place(block: Block) -> Path | None:
    """Where the image lies on this machine; ``None`` for other blocks and addresses."""
    if not isinstance(block, DataBlock) or not block.is_image or not block.url:
        return None
    try:
        parts = urlsplit(block.url)
    except ValueError:
        return None
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(url2pathname(parts.path))
    return None if parts.scheme and len(parts.scheme) > 1 else Path(block.url)
