"""Plain dictionaries as neutral messages: OpenAI style, AgentScope style, rows of data sets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from agentscope_reme.errors import BadMessage
from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    not_kept,
    parse_moment,
)

TIME_KEYS: Final = (
    "created_at",
    "time_created",
    "timestamp",
    "createdAt",
    "timeCreated",
    "created_time",
)
"""Where the time of a message may stand: top level first, then inside ``metadata``."""

_MISSING: Final = object()
_INLINE: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")


def read_row(row: Mapping[str, Any]) -> Message:
    """Read one plain dictionary.

    Understood: ``role`` (or ``speaker``), ``content`` (or ``text``) as text or a list of
    OpenAI-style parts or AgentScope-style blocks, ``name`` (missing means the role), ``id``,
    OpenAI ``tool_calls`` and ``tool_call_id``, and a time under any of `TIME_KEYS`. A part of a
    kind nobody knows here becomes a short note, such as ``(input_audio not kept)``.

    Raises:
        BadMessage: the row has no usable role or content, or a part of it has the wrong form.
    """
    if not isinstance(row, Mapping):
        raise BadMessage(row, "a message must be an object", _EXAMPLE)
    try:
        role, name = _speaker(row)
        _refuse_silent(row, role)
        moment, moment_text = _event_time(row)
        message_id = row.get("id")
        return Message(
            id=None if message_id in (None, "") else str(message_id),
            role=role,
            name=name,
            created_at=moment,
            created_at_text=moment_text,
            blocks=tuple(_blocks(row)),
        )
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise BadMessage(dict(row), f"`{place}` does not fit: {fault['msg']}", _EXAMPLE) from error
    except RecursionError as error:
        raise BadMessage(
            type(row).__name__, "its content is nested too deeply", "Flatten it."
        ) from error


_SAYS: Final = ("content", "text", "tool_calls", "tool_call_id", "function_call", "refusal")

_EXAMPLE: Final = 'For example {"role": "user", "content": "Hello"}.'


def _refuse_silent(row: Mapping[str, Any], role: Role) -> None:
    """A row that could say nothing is a mistake; an assistant may well have said nothing."""
    said = [key for key in _SAYS if key in row]
    if not said or (role == "user" and all(row[key] is None for key in said)):
        raise BadMessage(dict(row), "a message needs `content`", _EXAMPLE)


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
                dict(row), "a message needs `role` (user, assistant or system)", _EXAMPLE
            )
    return known, str(name) if name else str(role)


def _blocks(row: Mapping[str, Any]) -> list[Block]:
    content = row.get("content", row.get("text"))
    if row.get("role") == "tool":
        call_id = str(row.get("tool_call_id") or "")
        name = str(row.get("name") or "")
        output = _output(content)
        return [ToolResultBlock(id=call_id, name=name, output=output, failed=_failed(row))]
    return [*_content_blocks(content), *_tool_calls(row.get("tool_calls"))]


def _tool_calls(calls: object) -> list[ToolCallBlock]:
    if not isinstance(calls, Sequence | None) or isinstance(calls, str | bytes):
        raise BadMessage(calls, "`tool_calls` must be a list", "Pass the calls in a list.")
    return [_tool_call(call) for call in calls or ()]


def _tool_call(call: object) -> ToolCallBlock:
    if not isinstance(call, Mapping):
        raise BadMessage(
            call, "each of the `tool_calls` must be an object", 'Use {"id": ..., "function": ...}.'
        )
    function = call.get("function") or {}
    if not isinstance(function, Mapping):
        raise BadMessage(
            function,
            "`function` of a tool call must be an object",
            'Use {"name": ..., "arguments": ...}.',
        )
    return ToolCallBlock(
        id=str(call.get("id") or ""),
        name=str(function.get("name") or ""),
        input=_as_json(function.get("arguments", "{}")),
    )


def _content_blocks(content: object) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return [_part(part) for part in content]
    raise BadMessage(
        content, "`content` must be text or a list of blocks", "Pass a string or a list."
    )


def _output(content: object) -> tuple[TextBlock | DataBlock, ...]:
    return tuple(b for b in _content_blocks(content) if isinstance(b, TextBlock | DataBlock))


def _part(part: object) -> Block:
    if isinstance(part, str):
        return TextBlock(text=part)
    if not isinstance(part, Mapping):
        raise BadMessage(part, "a content block must be an object", 'Use {"type": "text", ...}.')
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return TextBlock(text=_text(part, "text"))
        case None if "text" in part:
            return TextBlock(text=_text(part, "text"))
        case "thinking":
            thought = {"thinking": part.get("thinking", part.get("text"))}
            return ThinkingBlock(text=_text(thought, "thinking"))
        case "image_url":
            return _from_image_url(part.get("image_url"))
        case "image" | "audio" | "video" | "data" as kind:
            return _from_source(part, str(kind))
        case "tool_use" | "tool_call":
            return ToolCallBlock(
                id=str(part.get("id") or ""),
                name=str(part.get("name") or ""),
                input=_as_json(part.get("input", "{}")),
            )
        case "tool_result":
            return ToolResultBlock(
                id=str(part.get("id") or ""),
                name=str(part.get("name") or ""),
                output=_output(part.get("output")),
                omitted=part.get("omitted"),
                failed=_failed(part),
            )
        case kind:
            return _unknown(kind)


def _failed(result: Mapping[str, Any]) -> bool | None:
    """What the row says about a tool's success; ``None`` unless it says that it failed."""
    said = (result.get("failed"), result.get("is_error"), result.get("state") == "error")
    return True if any(answer is True for answer in said) else None


def _unknown(kind: object) -> TextBlock:
    if isinstance(kind, str) and kind.strip():
        return not_kept(kind)
    raise BadMessage(kind, "a content block needs `type`", 'Use {"type": "text", ...}.')


def _text(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key, _MISSING)
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise BadMessage(dict(part), f"`{key}` of a block must be text", "Pass a string.")


def _from_image_url(given: object) -> Block:
    url = given.get("url") if isinstance(given, Mapping) else given
    if isinstance(given, Mapping) and url is None:
        return not_kept("image_url")  # an uploaded file's id, which opens nothing here
    if not isinstance(url, str):
        raise BadMessage(
            given, "`image_url` must be an address", 'Use {"url": "https://..."} or the address.'
        )
    return _from_url(url, "image/*")


def _from_source(part: Mapping[str, Any], kind: str) -> DataBlock:
    fallback = "application/octet-stream" if kind == "data" else f"{kind}/*"
    source = part.get("source", part)
    if not isinstance(source, Mapping):
        raise BadMessage(source, f"a {kind} block needs `source`", "Give Base64 data or a URL.")
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
    inline = _INLINE.match(url)
    if inline:
        return DataBlock(media_type=inline[1], data=url[inline.end() :])
    return DataBlock(media_type=media_type, url=url)


def _as_json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise BadMessage(
            value, "the arguments of a tool call are not JSON", "Pass JSON text or an object."
        ) from error
