"""AgentScope 1.x messages and the neutral `Message`, both ways.

A 1.x block is a plain dictionary, and content may be a bare string. Nothing here ever turns
Base64 into text: binaries stay `DataBlock` values, whatever they are wrapped in.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from agentscope.message import Msg

from agentscope_reme.messages import (
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

_MEDIA_KINDS = ("image", "audio", "video")
_INLINE = re.compile(r"data:([\w.+-]+/[\w.+*-]+)?[^,]*;base64,")
_PATH = "path"  # beside ``source``: where the original is kept; providers never see it
OMITTED = "omitted"
"""The key of a ``tool_result`` block whose output is shortened: where the whole of it is."""

_STAMP = "%Y-%m-%d %H:%M:%S.%f"


def to_neutral(msg: Msg, *, whole: bool = False) -> Message:
    """What a 1.x message says, in the library's own form.

    The timestamp of a `Msg` is naive time of this machine; ``created_at`` is the same moment with
    the machine's offset, ``created_at_text`` the original spelling. A kind of block this release
    does not know becomes a short note that it was there.
    """
    stamp = getattr(msg, "timestamp", None)
    return Message(
        id=str(msg.id) if msg.id else None,
        role=msg.role,
        name=str(msg.name or msg.role),
        created_at=_moment(stamp),
        created_at_text=str(stamp) if stamp else None,
        blocks=tuple(_blocks(msg.content, whole)),
    )


def from_neutral(message: Message) -> Msg:
    """A 1.x message that says the same; its id and time are kept where there are any."""
    msg = Msg(
        message.name,
        [_as_dict(block) for block in message.blocks],
        message.role,
        timestamp=_timestamp(message),
    )
    if message.id:
        msg.id = message.id
    return msg


def rewritten(content: object, message: Message) -> list[Any] | None:
    """Content of a `Msg` with the blocks of a changed neutral message in it.

    Parts that say the same stay the objects they were; parts of no form AgentScope's formatters
    take (bare strings, dictionaries without a type) are put into one.

    Args:
        content: what `to_neutral` read `message` from, before some of its blocks were replaced.
        message: what it should say.

    Returns:
        ``None`` when nothing has to change.
    """
    if not isinstance(content, list):
        return None
    wanted = iter(message.blocks)
    parts: list[Any] = []
    for part in content:
        for before in _block(part, False):
            after = next(wanted, before)
            parts.append(part if after == before and _is_formed(part) else _as_dict(after))
    same = len(parts) == len(content) and all(a is b for a, b in zip(parts, content, strict=True))
    return None if same else parts


def _is_formed(part: object) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str)


def _moment(stamp: object) -> datetime | None:
    moment = parse_moment(stamp)
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.astimezone()  # a naive time of AgentScope is local time of this machine


def _timestamp(message: Message) -> str | None:
    moment = message.created_at
    if moment is None:
        return None
    local = moment.astimezone() if moment.tzinfo else moment
    return local.strftime(_STAMP)[:-3]


def _blocks(content: object, whole: bool = False) -> Iterable[Block]:
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    if not isinstance(content, Sequence):
        return []
    return [block for part in content for block in _block(part, whole)]


def _block(part: object, whole: bool) -> Iterable[Block]:
    if isinstance(part, str):
        return [TextBlock(text=part)] if part else []
    if not isinstance(part, Mapping):
        return [_spelled_out(part)] if whole and part is not None else []
    match part.get("type"):
        case "text":
            return [TextBlock(text=str(part.get("text") or ""))]
        case None if isinstance(part.get("text"), str):  # a file of an older host
            return [TextBlock(text=part["text"])]
        case "thinking":
            return [ThinkingBlock(text=str(part.get("thinking") or ""))]
        case "image" | "audio" | "video" as kind:
            found = _data(kind, part.get("source"), part.get(_PATH))
            return found or ([_spelled_out(part)] if whole else [])
        case "tool_use":
            return [_tool_call(part)]
        case "tool_result":
            return [_tool_result(part, whole)]
        case kind:
            return [_spelled_out(part) if whole else not_kept(kind)]


def _spelled_out(part: object) -> TextBlock:
    return TextBlock(text=json.dumps(part, ensure_ascii=False, default=str))


def _data(kind: str, source: object, path: object = None) -> list[Block]:
    kept = path if isinstance(path, str) else None
    if not isinstance(source, Mapping):
        return []
    if source.get("data"):
        media_type = str(source.get("media_type") or f"{kind}/*")
        return [DataBlock(media_type=media_type, data=str(source["data"]), path=kept)]
    url = str(source.get("url") or "")
    if not url:
        return []
    inline = _INLINE.match(url)
    if inline:
        return [DataBlock(media_type=inline[1] or f"{kind}/*", data=url[inline.end() :])]
    guessed = mimetypes.guess_type(url.partition("?")[0])[0]
    fitting = guessed if guessed and guessed.startswith(f"{kind}/") else f"{kind}/*"
    return [DataBlock(media_type=fitting, url=url)]


def _tool_call(part: Mapping[str, Any]) -> ToolCallBlock:
    given = part.get("input")
    raw = part.get("raw_input")
    if isinstance(given, str):
        text = given
    elif not given and isinstance(raw, str) and raw.strip():
        text = raw  # the model's arguments could not be parsed: its own words are all there is
    else:
        text = json.dumps(given or {}, ensure_ascii=False, default=str)
    return ToolCallBlock(id=str(part.get("id") or ""), name=str(part.get("name") or ""), input=text)


def _tool_result(part: Mapping[str, Any], whole: bool) -> ToolResultBlock:
    output = tuple(
        block
        for block in _blocks(part.get("output"), whole)
        if isinstance(block, TextBlock | DataBlock)
    )
    note = part.get(OMITTED)
    return ToolResultBlock(
        id=str(part.get("id") or ""),
        name=str(part.get("name") or ""),
        output=output,
        omitted=note if isinstance(note, str) else None,
    )


def _as_dict(block: Block) -> Any:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.text}
        case DataBlock():
            return _media_dict(block)
        case ToolCallBlock():
            return {
                "type": "tool_use",
                "id": block.id,
                "name": block.name,
                "input": _arguments(block.input),
                "raw_input": block.input,
            }
        case ToolResultBlock():
            output = [_as_dict(inner) for inner in block.output]
            if not output and block.omitted:
                output = [{"type": "text", "text": f"[left out: {block.omitted}]"}]
            kept = {OMITTED: block.omitted} if block.omitted and block.output else {}
            return {
                "type": "tool_result",
                "id": block.id,
                "name": block.name,
                "output": output,
                **kept,
            }


def _media_dict(block: DataBlock) -> dict[str, Any]:
    kind = block.media_type.partition("/")[0]
    if kind in _MEDIA_KINDS and block.data is not None:
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        kept = {_PATH: block.path} if block.path else {}
        return {"type": kind, "source": source, **kept}
    if kind in _MEDIA_KINDS and block.url:
        return {"type": kind, "source": {"type": "url", "url": block.url}}
    return {"type": "text", "text": describe(block)}


def describe(block: DataBlock) -> str:
    """Words that stand for a binary which cannot be shown: its kind, and where it is."""
    place = block.path or (block.url if block.url and not block.url.startswith("data:") else None)
    return f"[{block.media_type}: {place}]" if place else f"[{block.media_type}]"


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
