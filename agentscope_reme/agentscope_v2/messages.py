"""AgentScope 2.x messages to neutral ones, and back."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from agentscope import message as scope
from pydantic import ValidationError

from agentscope_reme.messages import (
    LONG_TERM_MEMORY_NAME,
    Block,
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    not_kept,
    parse_moment,
)

OURS: Final = "agentscope_reme"
"""The key in a message's metadata under which this library says why it made the message."""

LARGEST_LOCAL_FILE: Final = 20 * 1024 * 1024
"""A larger ``file://`` attachment is named in words instead of being read, in bytes."""

_KEPT: Final = "session/images/"
"""A data block whose name begins so is the original at that path; see `to_scope_data`."""

_INLINE = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")


def is_recalled(msg: scope.Msg) -> bool:
    """Whether the message was put into the conversation by a memory, ours or AgentScope's."""
    return bool(msg.metadata.get(OURS)) or msg.name == LONG_TERM_MEMORY_NAME


def to_neutral(
    msg: scope.Msg,
    blocks: Iterable[Any] | None = None,
    *,
    message_id: str | None = None,
    as_given: bool = False,
) -> Message:
    """Read one AgentScope 2.x message.

    Live AgentScope times are naive and machine-local: they get the machine's zone here, and keep
    their original spelling in ``created_at_text``. Hint blocks are instructions, not speech, and
    are left out. A ``file://`` attachment of the message itself is read and kept as Base64; other
    addresses that only this machine understands are described in words.

    Args:
        msg: the message.
        blocks: which of its blocks to take; all of them without it.
        message_id: the id of the result, when it must differ from ``msg.id``.
        as_given: keep every address as it is, and open no file.
    """
    chosen = msg.content if blocks is None else blocks
    return Message(
        id=message_id or msg.id or None,
        role=msg.role,
        name=msg.name,
        created_at=_event_time(msg.created_at),
        created_at_text=msg.created_at or None,
        blocks=tuple(made for block in chosen if (made := _to_block(block, as_given)) is not None),
    )


def from_neutral(message: Message) -> scope.Msg:
    """Make an AgentScope 2.x message.

    The role decides which blocks are allowed: user messages take text and data, system messages
    text only. A system message that carries a tool result (the form of AgentScope 1.x) becomes an
    assistant message; tool blocks in a user message become words.
    """
    role = _allowed_role(message)
    blocks = [made for block in message.blocks if (made := _from_block(block, role)) is not None]
    fields: dict[str, Any] = {"name": message.name, "role": role, "content": blocks}
    if message.id:
        fields["id"] = message.id
    if message.created_at_text or message.created_at:
        moment = message.created_at.isoformat() if message.created_at else ""
        fields["created_at"] = message.created_at_text or moment
    return scope.Msg(**fields)


def to_scope_data(block: DataBlock) -> scope.DataBlock | scope.TextBlock:
    """An attachment as AgentScope takes it, or words when only this machine could open it."""
    if block.data:
        source = scope.Base64Source(data=block.data, media_type=block.media_type)
        return scope.DataBlock(source=source, name=block.path)
    if block.url:
        resolved = _resolve(block.url, block.media_type, local_files=True)
        if isinstance(resolved, TextBlock):
            return scope.TextBlock(text=resolved.text)
        if resolved.data:
            return to_scope_data(resolved)
        return _url_block(block.url, resolved.media_type)
    return scope.TextBlock(text=f"[{block.media_type} kept at {block.path or 'an unknown place'}]")


def with_file_read(block: scope.DataBlock) -> scope.DataBlock:
    """The attachment with the bytes of the local file it names; the given one when it has none."""
    if isinstance(block.source, scope.Base64Source):
        return block
    read = _to_data(block, local_files=True)
    if isinstance(read, TextBlock) or not read.data:
        return block
    source = scope.Base64Source(data=read.data, media_type=block.source.media_type)
    return block.model_copy(update={"source": source})


def _url_block(url: str, media_type: str) -> scope.DataBlock | scope.TextBlock:
    try:
        source = scope.URLSource.model_validate({"url": url, "media_type": media_type})
    except ValidationError:
        return scope.TextBlock(text=f"[{media_type} at an address that is not a URL: {url[:200]}]")
    return scope.DataBlock(source=source)


def _event_time(text: str) -> datetime | None:
    moment = parse_moment(text)
    if moment is None or moment.tzinfo is not None:
        return moment
    try:
        return moment.astimezone()
    except (OverflowError, OSError, ValueError):  # a year the platform cannot place in a zone
        return moment


def _to_block(block: Any, as_given: bool = False) -> Block | None:
    match block:
        case scope.TextBlock():
            return TextBlock(text=block.text) if block.text else None
        case scope.ThinkingBlock():
            return ThinkingBlock(text=block.thinking) if block.thinking else None
        case scope.DataBlock():
            return _as_given(block) if as_given else _to_data(block, local_files=True)
        case scope.ToolCallBlock():
            return ToolCallBlock(id=block.id, name=block.name, input=block.input)
        case scope.ToolResultBlock():
            failed = True if block.state == scope.ToolResultState.ERROR else None
            output = _to_output(block.output)
            return ToolResultBlock(id=block.id, name=block.name, output=output, failed=failed)
        case scope.HintBlock():
            return None
        case _:  # a kind of block that did not exist when this was written
            return not_kept(getattr(block, "type", type(block).__name__))


def _to_output(output: str | list[Any]) -> tuple[TextBlock | DataBlock, ...]:
    if isinstance(output, str):
        return (TextBlock(text=output),) if output else ()
    # A tool's answer names files of its own choosing: those are never opened on its word.
    return tuple(
        _to_data(part, local_files=False)
        if isinstance(part, scope.DataBlock)
        else TextBlock(text=part.text)
        for part in output
    )


def _as_given(block: scope.DataBlock) -> DataBlock:
    source = block.source
    if isinstance(source, scope.Base64Source):
        name = block.name or ""
        kept = name if name.startswith(_KEPT) else None
        return DataBlock(media_type=source.media_type, data=source.data, path=kept)
    url, media_type = str(source.url), source.media_type
    inline = _INLINE.match(url)
    if inline:
        return DataBlock(media_type=inline[1], data=url[inline.end() :])
    return DataBlock(media_type=media_type, url=url)


def _to_data(block: scope.DataBlock, *, local_files: bool) -> DataBlock | TextBlock:
    source = block.source
    if isinstance(source, scope.Base64Source):
        return DataBlock(media_type=source.media_type, data=source.data)
    return _resolve(str(source.url), source.media_type, local_files=local_files)


def _resolve(url: str, media_type: str, *, local_files: bool) -> DataBlock | TextBlock:
    inline = _INLINE.match(url)
    if inline:
        return DataBlock(media_type=inline[1], data=url[inline.end() :])
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return DataBlock(media_type=media_type, url=url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and local_files:
        data = _read(Path(url2pathname(parts.path)))
        if data is not None:
            return DataBlock(media_type=media_type, data=data)
    return TextBlock(text=f"[{media_type} at {url[:200]}, not kept]")


def _read(place: Path) -> str | None:
    try:
        if not place.is_file() or place.stat().st_size > LARGEST_LOCAL_FILE:
            return None
        return base64.b64encode(place.read_bytes()).decode("ascii")
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def _allowed_role(message: Message) -> Literal["user", "assistant", "system"]:
    if message.role != "system":
        return message.role
    if any(isinstance(b, ToolCallBlock | ToolResultBlock) for b in message.blocks):
        return "assistant"
    return "user" if any(isinstance(b, DataBlock) for b in message.blocks) else "system"


def _from_block(block: Block, role: str) -> Any:
    match block:
        case TextBlock():
            return scope.TextBlock(text=block.text)
        case DataBlock():
            return to_scope_data(block)
        case ThinkingBlock():
            return scope.ThinkingBlock(thinking=block.text) if role == "assistant" else None
        case ToolCallBlock():
            if role != "assistant":
                return scope.TextBlock(text=in_words(block))
            return scope.ToolCallBlock(
                id=block.id,
                name=block.name,
                input=block.input,
                state=scope.ToolCallState.FINISHED,
            )
        case ToolResultBlock():
            if role != "assistant":
                return scope.TextBlock(text=in_words(block))
            return scope.ToolResultBlock(
                id=block.id,
                name=block.name,
                output=_from_output(block),
                state=scope.ToolResultState.ERROR
                if block.failed
                else scope.ToolResultState.SUCCESS,
            )


def _from_output(block: ToolResultBlock) -> list[Any]:
    if not block.output and block.omitted:
        return [scope.TextBlock(text=f"[left out: {block.omitted}]")]
    return [
        to_scope_data(part) if isinstance(part, DataBlock) else scope.TextBlock(text=part.text)
        for part in block.output
    ]


def in_words(block: ToolCallBlock | ToolResultBlock) -> str:
    """A tool step as text, for places where AgentScope takes no tool blocks."""
    if isinstance(block, ToolCallBlock):
        return f"[called {block.name} with {block.input}]"
    said = "\n".join(part.text for part in block.output if isinstance(part, TextBlock))
    return f"[{block.name} answered: {said or block.omitted or 'nothing in words'}]"
