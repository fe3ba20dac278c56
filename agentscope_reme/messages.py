"""The neutral message: what every conversation becomes before anything is stored.

Converters for AgentScope's own messages live in the two adapter rooms; this module reads plain
dictionaries (OpenAI style, and rows of common data sets).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadMessage

Role = Literal["user", "assistant", "system"]

TIME_KEYS = (
    "created_at",
    "time_created",
    "timestamp",
    "createdAt",
    "timeCreated",
    "created_time",
)
"""Where the time of a message may stand: top level first, then inside ``metadata``."""

RECALL_TAG = "recalled-memory"
"""The element that wraps recalled text in a prompt; what stands in it is never recorded again."""

LONG_TERM_MEMORY_NAME = "long_term_memory"
"""The speaker under which AgentScope 1.x puts retrieved memory into a conversation."""

_MILLISECONDS_FROM = 10**11  # epoch seconds reach this in the year 5138


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextBlock(_Block):
    """Words said by the speaker."""

    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(_Block):
    """A model's own reasoning; kept in archives, never distilled."""

    type: Literal["thinking"] = "thinking"
    text: str


class DataBlock(_Block):
    """An image or another binary: Base64 ``data``, or a ``url``; or a ``path`` where it was saved.

    ``sha256`` and ``size`` describe the decoded bytes once they were left out of a log.
    """

    type: Literal["data"] = "data"
    media_type: str
    data: str | None = None
    url: str | None = None
    path: str | None = None
    sha256: str | None = None
    size: int | None = None

    @property
    def is_image(self) -> bool:
        """Whether the media type is ``image/*``."""
        return self.media_type.startswith("image/")


class ToolCallBlock(_Block):
    """A request to run a tool; ``input`` is JSON text exactly as the model wrote it."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: str


class ToolResultBlock(_Block):
    """What a tool answered. Session logs leave ``output`` out and keep a reference."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    name: str
    output: tuple[TextBlock | DataBlock, ...] = ()
    omitted: str | None = None
    """Where the payload is, or how large it was, when ``output`` was left out."""


Block = Annotated[
    TextBlock | ThinkingBlock | DataBlock | ToolCallBlock | ToolResultBlock,
    Field(discriminator="type"),
]


class Message(BaseModel):
    """One turn of a conversation, in no framework's form.

    ``created_at`` is the event time: aware, or naive exactly as it was given;
    ``created_at_text`` keeps the original spelling. ``id`` is ``None`` when the source had none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str | None = None
    role: Role
    name: str
    created_at: datetime | None = None
    created_at_text: str | None = None
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
        """Read one plain dictionary.

        Understood: ``role`` (or ``speaker``), ``content`` as text or a list of OpenAI-style parts
        or AgentScope-style blocks, ``name`` (missing means the role), ``id``, OpenAI
        ``tool_calls`` and ``tool_call_id``, and a time under any of `TIME_KEYS`.

        Raises:
            BadMessage: the row has no usable role or content.
        """
        role, name = _speaker(row)
        moment, moment_text = _event_time(row)
        message_id = row.get("id")
        return cls(
            id=None if message_id in (None, "") else str(message_id),
            role=role,
            name=name,
            created_at=moment,
            created_at_text=moment_text,
            blocks=tuple(_blocks(row)),
        )


def without_recalled(message: Message) -> Message | None:
    """The message as it was said, without recalled memory; ``None`` when nothing else is in it.

    Recording what was recalled would feed memory to itself.
    """
    if message.name == LONG_TERM_MEMORY_NAME:
        return None
    marker = f"<{RECALL_TAG}"
    kept = tuple(
        block
        for block in message.blocks
        if not (isinstance(block, TextBlock) and marker in block.text)
    )
    if len(kept) == len(message.blocks):
        return message
    return message.model_copy(update={"blocks": kept}) if kept else None


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
        return _from_epoch(float(value))
    text = str(value).strip()
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        return _from_epoch(float(text))
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _from_epoch(number: float) -> datetime | None:
    seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _event_time(row: Mapping[str, Any]) -> tuple[datetime | None, str | None]:
    metadata = row.get("metadata")
    places = [row, metadata] if isinstance(metadata, Mapping) else [row]
    first_text: str | None = None
    for place in places:
        for key in TIME_KEYS:
            value = place.get(key)
            if value in (None, ""):
                continue
            moment = parse_moment(value)
            if moment is not None:
                return moment, str(value)
            first_text = first_text or str(value)
    return None, first_text


def _speaker(row: Mapping[str, Any]) -> tuple[Role, str]:
    role = row.get("role", row.get("speaker"))
    name = row.get("name")
    match role:
        case "user" | "human":
            known: Role = "user"
        case "assistant" | "ai" | "bot":
            known = "assistant"
        case "system" | "developer" | "tool" | "function":
            known = "system"
        case _:
            raise BadMessage(
                dict(row),
                "a message needs `role` (user, assistant or system)",
                'For example {"role": "user", "content": "Hello"}.',
            )
    return known, str(name) if name else str(role)


def _blocks(row: Mapping[str, Any]) -> list[Block]:
    content = row.get("content", row.get("text"))
    if row.get("role") == "tool":
        output = tuple(
            b for b in _content_blocks(row, content) if isinstance(b, TextBlock | DataBlock)
        )
        call_id = str(row.get("tool_call_id") or "")
        return [ToolResultBlock(id=call_id, name=str(row.get("name") or ""), output=output)]
    blocks = _content_blocks(row, content)
    for call in row.get("tool_calls") or ():
        function = call.get("function", {})
        blocks.append(
            ToolCallBlock(
                id=str(call.get("id") or ""),
                name=str(function.get("name") or ""),
                input=_as_json(function.get("arguments", "{}")),
            )
        )
    return blocks


def _content_blocks(row: Mapping[str, Any], content: object) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    if isinstance(content, Sequence):
        return [_part(row, part) for part in content]
    raise BadMessage(
        dict(row), "`content` must be text or a list of blocks", "Pass a string or a list."
    )


def _part(row: Mapping[str, Any], part: object) -> Block:
    if isinstance(part, str):
        return TextBlock(text=part)
    if not isinstance(part, Mapping):
        raise BadMessage(
            dict(row), "a content block must be an object", 'Use {"type": "text", ...}.'
        )
    match part.get("type"):
        case "text" | "input_text" | "output_text" | None if "text" in part:
            return TextBlock(text=str(part["text"]))
        case "thinking":
            return ThinkingBlock(text=str(part.get("thinking", part.get("text", ""))))
        case "image_url":
            url = part.get("image_url")
            return _from_url(
                str(url.get("url", "") if isinstance(url, Mapping) else url), "image/*"
            )
        case "image" | "audio" | "video" | "data" as kind:
            return _from_source(row, part, str(kind))
        case "tool_use" | "tool_call":
            return ToolCallBlock(
                id=str(part.get("id") or ""),
                name=str(part.get("name") or ""),
                input=_as_json(part.get("input", "{}")),
            )
        case "tool_result":
            inner = _content_blocks(row, part.get("output"))
            return ToolResultBlock(
                id=str(part.get("id") or ""),
                name=str(part.get("name") or ""),
                output=tuple(b for b in inner if isinstance(b, TextBlock | DataBlock)),
                omitted=part.get("omitted"),
            )
        case other:
            raise BadMessage(
                other,
                "this kind of content block is not known",
                "Use text, image_url, data, thinking, tool_call or tool_result.",
            )


def _from_source(row: Mapping[str, Any], part: Mapping[str, Any], kind: str) -> DataBlock:
    fallback = "application/octet-stream" if kind == "data" else f"{kind}/*"
    source = part.get("source", part)
    if not isinstance(source, Mapping):
        raise BadMessage(dict(row), f"a {kind} block needs `source`", "Give Base64 data or a URL.")
    media_type = str(source.get("media_type") or fallback)
    if source.get("url"):
        return _from_url(str(source["url"]), media_type)
    return DataBlock(
        media_type=media_type,
        data=source.get("data"),
        path=source.get("path"),
        sha256=source.get("sha256"),
        size=source.get("size"),
    )


def _from_url(url: str, media_type: str) -> DataBlock:
    inline = re.match(r"data:([\w.+-]+/[\w.+-]+);base64,", url)
    if inline:
        return DataBlock(media_type=inline[1], data=url[inline.end() :])
    return DataBlock(media_type=media_type, url=url)


def _as_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
