"""What every chunker promises, and what all of them share."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any, Final, Protocol

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import FileChunk, chunk_id

SMALLEST_CHUNK_BYTES: Final = 16
"""A smaller size could not hold one character next to a cut."""


class Chunker(Protocol):
    """Cuts a file's text into retrieval units.

    A chunk's ``text`` is a slice of the file's own lines ``start_line`` to ``end_line`` (or, with
    ``metadata["rendered"]``, made from those lines) and never larger than the chunk size in UTF-8
    bytes. What was added around it stands in ``metadata`` (see `render`). Same text, same chunks.
    """

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one file, in file order; none for a blank text.

        Args:
            path: the workspace path, which goes into the chunk ids.
            text: the whole file. Lone surrogates stand for bytes that are no text, and come out
                as U+FFFD.
        """


class ChunkList:
    """Collects the chunks of one file and gives each its id."""

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self.chunks: Final[list[FileChunk]] = []
        self._equals: Counter[bytes] = Counter()

    def add(
        self,
        text: str,
        start_line: int,
        end_line: int,
        *,
        headings: tuple[str, ...] = (),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Append a chunk, unless it is blank; equal ones are told apart by their ordinal."""
        if not text.strip():
            return
        key = _equality_key(headings, text)
        ordinal = self._equals[key]
        self._equals[key] += 1
        self.chunks.append(
            self._made(text, start_line, end_line, headings, metadata or {}, ordinal)
        )

    def unfinished(
        self, text: str, start_line: int, end_line: int, *, metadata: dict[str, Any]
    ) -> FileChunk:
        """The chunk that `add` would append; nothing is appended, so it may still grow."""
        ordinal = self._equals[_equality_key((), text)]
        return self._made(text, start_line, end_line, (), metadata, ordinal)

    def _made(
        self,
        text: str,
        start_line: int,
        end_line: int,
        headings: tuple[str, ...],
        metadata: dict[str, Any],
        ordinal: int,
    ) -> FileChunk:
        return FileChunk(
            id=chunk_id(self.path, headings, text, ordinal),
            path=self.path,
            start_line=start_line,
            end_line=end_line,
            text=text,
            headings=headings,
            metadata=metadata,
        )


def _equality_key(headings: tuple[str, ...], text: str) -> bytes:
    """Equal for chunks whose ids only an ordinal keeps apart: made of what `chunk_id` is made of.

    A hash, because the texts of a growing log are not kept.
    """
    parts = "\0".join(("\x1f".join(headings), text)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(parts, digest_size=16).digest()


def checked_size(chunk_byte_size: int) -> int:
    """The size, if it can be one.

    Raises:
        BadInput: it is no whole number, or below `SMALLEST_CHUNK_BYTES`.
    """
    if not isinstance(chunk_byte_size, int) or chunk_byte_size < SMALLEST_CHUNK_BYTES:
        raise BadInput(
            chunk_byte_size,
            f"`chunk_byte_size` must be a whole number of at least {SMALLEST_CHUNK_BYTES}",
            "Pass a size in bytes, such as 800.",
        )
    return chunk_byte_size


def byte_length(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
