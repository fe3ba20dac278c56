"""A memory node as a Markdown file, and back, without losing a character."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.typed.nodes import MemoryNode, MemoryType

ID: Final = "memory_id"
HASH: Final = "memory_hash"
"""Front matter of an exported file: what it said when it was written; another value now means
that somebody has edited it."""

_TYPE: Final = "memory_type"
_TARGET: Final = "memory_target"
_METADATA: Final = "metadata"
_KEPT: Final = ("time_created", "time_modified")
_EDITABLE: Final = ("when_to_use", "message_time", "ref_memory_id", "author", "score")
"""Front matter a person may change, beside the text and the metadata."""

FOLDERS: Final[Mapping[MemoryType, str]] = {
    MemoryType.PERSONAL: "digest/personal",
    MemoryType.PROFILE: "digest/personal",
    MemoryType.PROCEDURAL: "digest/procedure",
    MemoryType.TOOL: "digest/procedure",
}
"""Where the memories of each type stand; conversations stay in the store."""

_NAME_CHARACTERS: Final = 60
_STEM_WORDS: Final = 8
_STEM_CHARACTERS: Final = 60
_ID_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """An exported file as it stands now.

    Attributes:
        memory_id: the memory it is an export of.
        memory_type: its type.
        memory_target: whom it is about.
        content: its text.
        fields: the front matter a person may change.
        metadata: the metadata, as it stands there.
        times: when it was stored first and changed last.
        edited: whether somebody changed it since it was written.
    """

    memory_id: str
    memory_type: MemoryType
    memory_target: str
    content: str
    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    times: Mapping[str, str]
    edited: bool


def path_for(node: MemoryNode) -> str:
    """Where a memory is written first: words of it, and enough digits of its id to be alone."""
    text = unicodedata.normalize("NFC", f"{node.memory_target} {_title(node)}").casefold()
    words = re.findall(r"[^\W_]+", text)[:_STEM_WORDS]
    stem = "-".join(words)[:_STEM_CHARACTERS].strip("-")
    return f"{FOLDERS[node.memory_type]}/{stem or 'memory'}-{node.memory_id[:_ID_DIGITS]}.md"


def front_matter(node: MemoryNode) -> dict[str, Any]:
    """The front matter of a memory's file; empty fields are left out."""
    fields = {key: getattr(node, key) for key in (*_EDITABLE, *_KEPT)}
    return {
        "name": _title(node)[:_NAME_CHARACTERS],
        "description": node.when_to_use or None,
        ID: node.memory_id,
        _TYPE: node.memory_type.value,
        _TARGET: node.memory_target,
        **{key: value for key, value in fields.items() if value != ""},
        **({_METADATA: dict(node.metadata)} if node.metadata else {}),
        HASH: hash_of(node.content, fields, node.metadata),
    }


def new_file(node: MemoryNode) -> str:
    """The text of a memory's first file."""
    return renewed(MarkdownDocument.parse(_body(node)), node)


def renewed(document: MarkdownDocument, node: MemoryNode) -> str:
    """The text of a file that says what the memory says now; what else stands there stays.

    Raises:
        BadDocument: the front matter cannot be changed.
    """
    fields = front_matter(node)
    for key in (*_EDITABLE, _METADATA, "description"):
        if fields.get(key) is None:
            document.remove(key)
    for key, value in fields.items():
        if value is not None and document.front_matter.get(key) != value:
            document.set(key, value)
    head = document.text[: len(document.text) - len(document.body)]
    return head + _body(node)


def is_ours(document: MarkdownDocument) -> bool:
    """Whether a file was written by an export."""
    return {ID, HASH, _TYPE, _TARGET} <= set(document.front_matter)


def read(document: MarkdownDocument) -> MemoryFile:
    """What an exported file says now.

    Raises:
        BadDocument: its front matter does not fit a memory any more.
    """
    values = document.front_matter
    metadata = values.get(_METADATA) or {}
    kind = next((known for known in FOLDERS if known == values.get(_TYPE)), None)
    if kind is None or not isinstance(metadata, Mapping):
        raise BadDocument(
            values.get(_TYPE), "the front matter names no memory any more", "Mend it, or undo."
        )
    text = document.body
    content = text[1:] if text.startswith("\n") else text
    content = content[:-1] if content.endswith("\n") else content
    fields = {key: values.get(key, 0.0 if key == "score" else "") for key in _EDITABLE}
    times = {key: str(values.get(key, "")) for key in _KEPT}
    now = hash_of(content, {**fields, **times}, metadata)
    return MemoryFile(
        memory_id=str(values[ID]),
        memory_type=kind,
        memory_target=str(values[_TARGET]),
        content=content,
        fields=fields,
        metadata=metadata,
        times=times,
        edited=now != values[HASH],
    )


def hash_of(content: str, fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """What a memory says, as one short digest; the same for a node and for its untouched file."""
    said = [content, {key: str(fields[key]) for key in sorted(fields)}, dict(metadata)]
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def says(file: MemoryFile, node: MemoryNode) -> bool:
    """Whether a file says what the memory says now."""
    fields = {key: getattr(node, key) for key in (*_EDITABLE, *_KEPT)}
    there = {**file.fields, **file.times}
    return hash_of(file.content, there, file.metadata) == hash_of(
        node.content, fields, node.metadata
    )


def _body(node: MemoryNode) -> str:
    """A blank line goes before the content, so that it never reads as front matter."""
    return f"\n{node.content}\n"


def _title(node: MemoryNode) -> str:
    return " ".join(node.content.split()) or "memory"
