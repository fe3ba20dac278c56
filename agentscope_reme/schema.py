"""The records the index is made of: files, chunks, links and hits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FileLink(_Record):
    """One edge of the file graph, written ``[[target_path#target_anchor]]`` in `source_path`."""

    source_path: str
    target_path: str
    target_anchor: str | None = None
    kind: Literal["body", "source"] = "body"
    """``source`` when the link stands in the front matter."""


class FrontMatter(_Record):
    """A file's front matter: the two keys the index understands, and everything else."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    name: str = ""
    description: str = ""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Every key other than ``name`` and ``description``, as YAML read it."""
        return self.model_extra or {}


class FileNode(_Record):
    """One indexed file. ``path`` is POSIX and relative to the workspace."""

    path: str
    st_mtime_ns: int
    size: int
    content_hash: str
    links: tuple[FileLink, ...] = ()
    chunk_ids: tuple[str, ...] = ()
    front_matter: FrontMatter = FrontMatter()
    front_matter_error: str | None = None
    tags: tuple[str, ...] = ()


class FileChunk(_Record):
    """One retrieval unit: a slice of a file's own lines.

    ``start_line`` and ``end_line`` are 1-based and inclusive. What the chunker added around the
    slice (heading skeleton, part marker, repeated table or fence lines) is in ``metadata``.
    """

    id: str
    path: str
    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()
    embedding: tuple[float, ...] | None = None
    scores: dict[str, float] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class SearchHit(_Record):
    """A chunk that answers a query, and why.

    ``scores`` and ``ranks`` are keyed by branch (``keyword``, ``vector``); ranks start at 1.
    ``parts`` says what each branch contributed: they add up to ``score``.

    A picture has a ``media_type``, and ``said_in`` names the passage of the log in which it was
    said, as ``path:start-end``, where that is known.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()
    score: float
    scores: dict[str, float] = Field(default_factory=dict)
    ranks: dict[str, int] = Field(default_factory=dict)
    parts: dict[str, float] = Field(default_factory=dict)
    date: str | None = None
    name: str = ""
    description: str = ""
    outlinks: tuple[FileLink, ...] = ()
    inlinks: tuple[FileLink, ...] = ()
    media_type: str = ""
    said_in: str = ""

    @classmethod
    def unchecked(cls, fields: dict[str, Any]) -> SearchHit:
        """A hit from values that have their types already, at a third of the cost of checking them.

        `model_construct` takes three times as long as checking does, and a hit is made for every
        row of every answer.
        """
        made = cls.__new__(cls)
        values = {**_UNSET_HIT, "scores": {}, "ranks": {}, "parts": {}, **fields}
        object.__setattr__(made, "__dict__", values)
        object.__setattr__(made, "__pydantic_fields_set__", set(fields))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made


_UNSET_HIT: Final = {name: field.default for name, field in SearchHit.model_fields.items()}
"""In the order of the fields, which is the one they are written in."""


def content_hash(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hex; equal hashes mean equal files."""
    return hashlib.sha256(data).hexdigest()


def chunk_id(path: str, headings: tuple[str, ...], text: str, ordinal: int) -> str:
    """A chunk's identity: where it stands by heading, and what it says, never its line numbers.

    Args:
        path: the workspace-relative path of the file.
        headings: the heading path above the text, outermost first.
        text: the chunk's own lines.
        ordinal: 0 for the first chunk with the same heading path and text, then 1, 2, ...

    Returns:
        32 hex digits.
    """
    parts = "\0".join((path, "\x1f".join(headings), text, str(ordinal)))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text_hash(text: str) -> str:
    """The key under which a vector is reused: equal text is never embedded twice."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
