"""JSON: slices of the file that end where values end."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from agentscope_reme.chunking.chunker import ChunkList, checked_size
from agentscope_reme.chunking.cutting import CutText
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk

# Possessive, so that a string of any length takes linear time; an unclosed one takes the rest.
_TOKEN: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"(?P<colon>\s*+:)?)?|[\[\]{},]', re.DOTALL
)
_LONGEST_PATH: Final = 8
_LONGEST_KEY: Final = 80


class JsonFileChunker:
    """Cuts a JSON text after commas, as far out in the nesting as the size allows.

    Every chunk is a slice of the file, so it is a run of members rather than a document of its
    own; ``headings`` are the keys and positions that lead to it, the outermost eight. A text that
    is not valid JSON is cut the same way, as far as its brackets and commas go.

    Args:
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Raises:
        BadInput: the size is too small.
    """

    def __init__(self, chunk_byte_size: int = 10_000) -> None:
        self.chunk_byte_size: Final = checked_size(chunk_byte_size)

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one file; see `Chunker.chunk`."""
        found = ChunkList(path)
        cut = CutText(without_surrogates(text).removeprefix(BOM))
        seams = _find_seams(cut.data)
        start, line = 0, 1
        keys: tuple[str, ...] = ()
        while start < len(cut.data):
            end, following = self._next_cut(cut, seams, start, keys)
            piece = cut.text(start, end)
            body = piece.strip("\r\n \t")
            if body:
                first = line + piece.count("\n", 0, piece.index(body))
                found.add(body, first, first + body.count("\n"), headings=keys)
            line += piece.count("\n")
            start, keys = end, following
        return found.chunks

    def _next_cut(
        self, cut: CutText, seams: _Seams, start: int, keys: tuple[str, ...]
    ) -> tuple[int, tuple[str, ...]]:
        """Where the piece from `start` ends, and the keys that lead to what follows."""
        limit = start + self.chunk_byte_size
        if limit >= len(cut.data):
            return len(cut.data), keys
        first = bisect_right(seams.ends, start + self.chunk_byte_size // 2)
        last = bisect_right(seams.ends, limit)
        if first < last:
            best = min(range(first, last), key=lambda i: (seams.depths[i], -i))
        elif last and seams.ends[last - 1] > start:
            best = last - 1
        else:
            return cut.cut_before(start, limit), keys
        return seams.ends[best], seams.keys[best]


@dataclass(slots=True)
class _Seams:
    """Commas between values: the offset behind each, how deep it is, and the keys around it."""

    ends: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    keys: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(slots=True)
class _Container:
    keys: tuple[str, ...]
    index: int = 0


def _find_seams(data: bytes) -> _Seams:
    seams = _Seams()
    open_containers: list[_Container] = []
    key: bytes | None = None
    for token in _TOKEN.finditer(data):
        match token[0][:1]:
            case b'"':
                key = token[0] if token["colon"] else key
            case b"[" | b"{":
                open_containers.append(_Container(_keys_inside(open_containers, key)))
                key = None
            case b",":
                key = None
                keys: tuple[str, ...] = ()
                if open_containers:
                    open_containers[-1].index += 1
                    keys = open_containers[-1].keys
                seams.ends.append(token.end())
                seams.depths.append(len(open_containers))
                seams.keys.append(keys)
            case _:
                if open_containers:
                    open_containers.pop()
    return seams


def _keys_inside(open_containers: list[_Container], key: bytes | None) -> tuple[str, ...]:
    if not open_containers:
        return ()
    outer = open_containers[-1]
    if len(outer.keys) >= _LONGEST_PATH:
        return outer.keys
    name = str(outer.index) if key is None else _key_text(key)
    return (*outer.keys, name[:_LONGEST_KEY])


def _key_text(key: bytes) -> str:
    quoted = key.rstrip(b": \t\r\n")
    try:
        return without_surrogates(str(json.loads(quoted)))
    except ValueError:
        return quoted.decode("utf-8", "replace").strip('"')
