"""ChatGPT's data export: conversations as trees, of which the branch last shown counts."""

from __future__ import annotations

import base64
import mimetypes
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    parse_moment,
)
from agentscope_reme.transfer.conversations_file import (
    list_of,
    looks_like,
    mapping_of,
    rows_of,
    text_of,
    told_apart,
)
from agentscope_reme.transfer.found import Conversation, Format, Found
from agentscope_reme.transfer.sources import Source

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant", "tool": "system"}
_SCHEMES: Final = ("file-service://", "sediment://")


def find(source: Source, into: str, only_user: str) -> Found:
    """All conversations with something said in them.

    Raises:
        BadInput: the export cannot be read.
    """
    rows = rows_of(source)
    found = Found(conversation_count=len(rows))
    images = _Images(source, found)
    found.conversations = _conversations(rows, images, found)
    return found


def _conversations(
    rows: Sequence[Mapping[str, Any]], images: _Images, found: Found
) -> Iterator[Conversation]:
    other = 0
    for number, row in enumerate(rows):
        nodes = _shown(row)
        other += _said_count(row) - len(nodes)
        messages = told_apart(filter(None, (_message(node, images) for node in nodes)))
        if messages:
            name = row.get("conversation_id") or row.get("id") or f"number-{number + 1}"
            yield Conversation(f"chatgpt-{name}", messages)
    if other:
        found.remarks.append(
            f"{other} turn(s) of branches that are not shown any more were left out."
        )
    if images.missing:
        found.remarks.append(f"{images.missing} image(s) are not in the export.")


def _shown(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of the branch that was shown last, oldest first."""
    mapping = mapping_of(row.get("mapping"))
    at = row.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = _newest_leaf(mapping)
    branch: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(at, str) and at not in seen and isinstance(mapping.get(at), Mapping):
        seen.add(at)
        node = mapping[at]
        if _is_said(node):
            branch.append(node["message"])
        at = node.get("parent")
    return branch[::-1]


def _newest_leaf(mapping: Mapping[str, Any]) -> str | None:
    leaves = [k for k, n in mapping.items() if isinstance(n, Mapping) and not n.get("children")]
    return leaves[-1] if leaves else None


def _said_count(row: Mapping[str, Any]) -> int:
    return sum(map(_is_said, mapping_of(row.get("mapping")).values()))


def _is_said(node: Any) -> bool:
    """Whether somebody saw it: not the hidden context the product puts in front."""
    message = mapping_of(mapping_of(node).get("message"))
    role = text_of(mapping_of(message.get("author")).get("role"))
    hidden = mapping_of(message.get("metadata")).get("is_visually_hidden_from_conversation")
    return role in _ROLES and not hidden


def _message(row: Mapping[str, Any], images: _Images) -> Message | None:
    content = row.get("content")
    blocks = tuple(_blocks(content, images)) if isinstance(content, Mapping) else ()
    if not blocks:
        return None
    author = row["author"]
    time = row.get("create_time")
    return Message(
        id=str(row["id"]) if row.get("id") else None,
        role=_ROLES[author["role"]],
        name=str(author.get("name") or author["role"]),
        created_at=parse_moment(time),
        created_at_text=None if time is None else str(time),
        blocks=blocks,
    )


def _blocks(content: Mapping[str, Any], images: _Images) -> Iterator[Block]:
    match content.get("content_type"):
        case "thoughts":
            for thought in map(mapping_of, list_of(content.get("thoughts"))):
                if text := thought.get("content") or thought.get("summary"):
                    yield ThinkingBlock(text=str(text))
        case "code" | "execution_output" | "reasoning_recap" | "tether_quote":
            if text := content.get("text") or content.get("content"):
                yield TextBlock(text=str(text))
        case _:
            for part in list_of(content.get("parts")):
                yield from _part(part, images)


def _part(part: Any, images: _Images) -> Iterator[Block]:
    match part:
        case str() if part.strip():
            yield TextBlock(text=part)
        case {"content_type": "image_asset_pointer", "asset_pointer": str(pointer)}:
            yield images.block(pointer)
        case {"text": str(text)} if text.strip():  # what was said aloud, written down
            yield TextBlock(text=text)


class _Images:
    """The pictures of an export, found by the id its messages name them with."""

    def __init__(self, source: Source, found: Found) -> None:
        self._source, self._found = source, found
        self._names = {n.rsplit("/", 1)[-1]: n for n in source.names() if _picture_type(n)}
        self._bases = sorted(self._names)
        self.missing = 0

    def block(self, pointer: str) -> Block:
        """The picture, or the words that stand for one that is not there."""
        wanted = pointer
        for scheme in _SCHEMES:
            wanted = wanted.removeprefix(scheme)
        at = bisect_left(self._bases, wanted)
        if wanted and at < len(self._bases) and self._bases[at].startswith(wanted):
            name = self._names[self._bases[at]]
            data = self._found.bytes_of(self._source, name)
            if data is not None:
                encoded = base64.b64encode(data).decode("ascii")
                return DataBlock(media_type=_picture_type(name), data=encoded)
        self.missing += 1
        return TextBlock(text="(an image that is not in the export)")


def _picture_type(name: str) -> str:
    """The media type of a picture; empty for anything else."""
    kind = mimetypes.guess_type(name)[0] or ""
    return kind if kind.startswith("image/") else ""


CHATGPT: Final = Format("chatgpt", lambda source: looks_like(source, "mapping"), find)
