"""Text of no known structure: windows of bytes with a small overlap."""

from __future__ import annotations

from typing import Final

from agentscope_reme.chunking.chunker import ChunkList, checked_size
from agentscope_reme.chunking.cutting import CutText
from agentscope_reme.errors import BadInput
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk

DEFAULT_OVERLAP_BYTES: Final = 100


class DefaultFileChunker:
    """Cuts at line ends where it can, then after sentences, then anywhere between characters.

    Neighbours share up to `overlap_byte_size` bytes, so that a phrase over a cut is found whole.
    No cut falls inside a character or, unless it alone is too long, inside a wikilink.

    Args:
        chunk_byte_size: the largest chunk, in UTF-8 bytes.
        overlap_byte_size: bytes shared by neighbours; half a chunk at most.

    Raises:
        BadInput: the size is too small, or the overlap negative.
    """

    def __init__(
        self, chunk_byte_size: int = 10_000, overlap_byte_size: int = DEFAULT_OVERLAP_BYTES
    ) -> None:
        self.chunk_byte_size: Final = checked_size(chunk_byte_size)
        if overlap_byte_size < 0:
            raise BadInput(
                overlap_byte_size, "`overlap_byte_size` is negative", "Pass 0 for no overlap."
            )
        self.overlap_byte_size: Final = min(overlap_byte_size, chunk_byte_size // 2)

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one file; see `Chunker.chunk`."""
        found = ChunkList(path)
        cut = CutText(without_surrogates(text).removeprefix(BOM))
        size = len(cut.data)
        start, line = 0, 1
        while start < size:
            end = cut.cut_before(start, start + self.chunk_byte_size, at_lines=True)
            self._add(found, cut.text(start, end), line)
            following = end
            if end < size and self.overlap_byte_size:
                following = cut.start_after(max(end - self.overlap_byte_size, start + 1))
                following = self._line_start(cut, following, end)
            line += cut.data.count(b"\n", start, following)
            start = following
        return found.chunks

    @staticmethod
    def _line_start(cut: CutText, position: int, end: int) -> int:
        """The start of a line within the overlap, where there is one."""
        if position >= end:
            return end
        newline = cut.data.find(b"\n", position, end - 1)
        return newline + 1 if newline >= 0 else position

    @staticmethod
    def _add(found: ChunkList, piece: str, line: int) -> None:
        body = piece.strip("\r\n \t")
        if not body:
            return
        first = line + piece.count("\n", 0, piece.index(body))
        found.add(body, first, first + body.count("\n"))
