"""The neutral message: what every conversation becomes before anything is stored.

Converters for AgentScope's own messages live in the two adapter rooms; plain dictionaries are
read in `agentscope_reme.message_rows`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agentscope_reme.clock import Clock

Role = Literal["user", "assistant", "system"]

RECALL_TAG = "recalled-memory"
"""The element that wraps recalled text in a prompt; what stands in it is never recorded again."""

LONG_TERM_MEMORY_NAME = "long_term_memory"
"""The speaker under which AgentScope 1.x puts retrieved memory into a conversation."""

_MILLISECONDS_FROM = 10**11  # epoch seconds reach this in the year 5138
_OPENING = re.compile(rf"<{RECALL_TAG}(?:\s[^<>]*)?>")
_CLOSING = f"</{RECALL_TAG}>"
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
_LONGEST_KIND = 40


def whole_characters(text: str) -> str:
    """The text with its surrogate pairs joined and every lone half replaced by U+FFFD.

    A half character (from a cut stream or a careless JSON writer) cannot be written as UTF-8; one
    of them must not cost the turn it stands in.
    """
    if text.isascii() or not _HALF_CHARACTER.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _whole(value: object) -> object:
    return whole_characters(value) if isinstance(value, str) else value


_Words = Annotated[str, BeforeValidator(_whole)]


class _Neutral(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class TextBlock(_Neutral):
    """Words said by the speaker."""

    type: Literal["text"] = "text"
    text: _Words


class ThinkingBlock(_Neutral):
    """A model's own reasoning; kept in archives, never distilled."""

    type: Literal["thinking"] = "thinking"
    text: _Words


class DataBlock(_Neutral):
    """An image or another binary: Base64 ``data``, or a ``url``; or a ``path`` where it was saved.

    ``sha256`` and ``size`` describe the decoded bytes once they were left out of a log.
    """

    type: Literal["data"] = "data"
    media_type: _Words
    data: _Words | None = None
    url: _Words | None = None
    path: _Words | None = None
    sha256: _Words | None = None
    size: int | None = None

    @property
    def is_image(self) -> bool:
        """Whether the media type is ``image/*``."""
        return self.media_type.startswith("image/")


class ToolCallBlock(_Neutral):
    """A request to run a tool; ``input`` is JSON text exactly as the model wrote it."""

    type: Literal["tool_call"] = "tool_call"
    id: _Words
    name: _Words
    input: _Words


class ToolResultBlock(_Neutral):
    """What a tool answered. Session logs leave ``output`` out and keep a reference."""

    type: Literal["tool_result"] = "tool_result"
    id: _Words
    name: _Words
    output: tuple[TextBlock | DataBlock, ...] = ()
    omitted: _Words | None = None
    """Where the payload is, or how large it was, when ``output`` was left out."""
    failed: bool | None = None
    """True when the tool is known to have failed; ``None`` when nobody said."""


Block = Annotated[
    TextBlock | ThinkingBlock | DataBlock | ToolCallBlock | ToolResultBlock,
    Field(discriminator="type"),
]


class Message(_Neutral):
    """One turn of a conversation, in no framework's form.

    ``created_at`` is the event time: aware, or naive exactly as it was given;
    ``created_at_text`` keeps the original spelling. ``id`` is ``None`` when the source had none.
    """

    id: _Words | None = None
    role: Role
    name: _Words
    created_at: datetime | None = None
    created_at_text: _Words | None = None
    blocks: tuple[Block, ...] = ()

    @property
    def text(self) -> str:
        """The spoken words: text blocks joined by newlines."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    def images(self) -> list[tuple[int, DataBlock]]:
        """Top-level image blocks with their position among all blocks, starting at 0."""
        return [
            (index, block)
            for index, block in enumerate(self.blocks)
            if isinstance(block, DataBlock) and block.is_image
        ]

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Message:
        """Read one plain dictionary; what is understood is told by `read_row`.

        Raises:
            BadMessage: the row is not a message; the error names what is wrong.
        """
        from agentscope_reme.message_rows import read_row  # the reader is built on this module

        return read_row(row)


def not_kept(kind: object) -> TextBlock:
    """The note that stands for a block of a kind this library does not know."""
    return TextBlock(text=f"({' '.join(str(kind).split())[:_LONGEST_KIND]} not kept)")


def without_recalled(message: Message) -> Message | None:
    """The message as it was said, without recalled memory; ``None`` when nothing else is in it.

    Recording what was recalled would feed memory to itself. Only complete ``<recalled-memory>``
    elements are taken out; who merely speaks of the tag, or left it open, is quoted in full.
    """
    if message.name == LONG_TERM_MEMORY_NAME:
        return None
    kept = tuple(said for block in message.blocks if (said := _without_spans(block)) is not None)
    if kept == message.blocks:
        return message
    return message.model_copy(update={"blocks": kept}) if kept else None


def _without_spans(block: Block) -> Block | None:
    if not isinstance(block, TextBlock):
        return block
    kept: list[str] = []
    at = 0
    while opening := _OPENING.search(block.text, at):
        end = block.text.find(_CLOSING, opening.end())
        if end < 0:
            break
        kept.append(block.text[at : opening.start()])
        at = end + len(_CLOSING)
    if not at:
        return block
    said = "".join((*kept, block.text[at:])).strip()
    return TextBlock(text=said) if said else None


def latest_moment(messages: Sequence[Message], clock: Clock) -> datetime | None:
    """The latest event time among the messages, in the clock's zone; ``None`` without any."""
    moments = [clock.localise(m.created_at) for m in messages if m.created_at is not None]
    return max(moments, default=None)


def parse_moment(value: object) -> datetime | None:
    """Read an ISO 8601 text, epoch seconds or epoch milliseconds; ``None`` when it is neither."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, datetime):
        return value
    if isinstance(value, int | float):
        return _from_epoch(value)
    text = str(value).strip()
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        return _from_epoch(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _from_epoch(number: float | str) -> datetime | None:
    try:
        value = float(number)
        seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
