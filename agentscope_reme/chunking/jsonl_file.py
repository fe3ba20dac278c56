"""JSON Lines: whole lines packed together."""

from __future__ import annotations

from typing import Final

from agentscope_reme.chunking.chunker import ChunkList, byte_length, checked_size
from agentscope_reme.chunking.cutting import cut_line
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk


class JsonlFileChunker:
    """Packs consecutive lines up to the chunk size; only a line that is larger is cut.

    Lines end at ``\\n`` and nowhere else: U+2028 inside a JSON string is text.

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
        pack: list[str] = []
        pack_size = 0
        lines = without_surrogates(text).removeprefix(BOM).split("\n")
        for number, line in enumerate(lines, 1):
            size = byte_length(line) + 1
            if pack and pack_size + size - 1 > self.chunk_byte_size:
                self._add(found, pack, number - 1)
                pack, pack_size = [], 0
            if size - 1 > self.chunk_byte_size:
                self._cut(found, line, number)
            else:
                pack.append(line)
                pack_size += size
        self._add(found, pack, len(lines))
        return found.chunks

    def _cut(self, found: ChunkList, line: str, number: int) -> None:
        pieces = [line[a:b] for a, b in cut_line(line, self.chunk_byte_size)]
        for part, piece in enumerate(pieces, 1):
            if piece.strip():
                metadata = {"part": part, "parts": len(pieces)}
                found.add(piece, number, number, metadata=metadata)

    @staticmethod
    def _add(found: ChunkList, pack: list[str], last: int) -> None:
        first = last - len(pack) + 1
        while pack and not pack[-1].strip():
            pack.pop()
        blank = 0
        while blank < len(pack) and not pack[blank].strip():
            blank += 1
        if blank < len(pack):
            text = "\n".join(pack[blank:]).rstrip("\r")
            found.add(text, first + blank, first + len(pack) - 1)
