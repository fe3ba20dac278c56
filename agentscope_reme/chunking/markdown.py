"""Markdown by structure: a section where it fits, else its subsections and blocks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Final, NamedTuple

from agentscope_reme.chunking.blocks import LineView, Piece, split_region
from agentscope_reme.chunking.chunker import ChunkList, checked_size
from agentscope_reme.chunking.sections import LONGEST_HEADING, Section, section_tree
from agentscope_reme.files.markdown_scan import Block, BlockKind, MarkdownScan, scan_markdown
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk


class MarkdownFileChunker:
    """Cuts a Markdown file into slices of its own lines.

    A section with everything below it is one chunk where that fits. A larger one gives its own
    text and each of its subsections separately; text that is still too large is packed block by
    block, then tables row by row, code line by line, lists item by item, and at last any line
    after a sentence. No chunk is larger than `chunk_byte_size`, however long its lines are.

    A heading without text of its own is not a chunk: it opens the next one, or closes the last.
    ``headings`` is the path to the section, its own heading last. ``metadata`` holds what `render`
    shows around the text, and ``heading_only`` where a chunk has no other words.

    Front matter is not chunked, unless it cannot be read: then it is text like any other.

    Args:
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Raises:
        BadInput: the size is too small.
    """

    def __init__(self, chunk_byte_size: int = 10_000) -> None:
        self.chunk_byte_size: Final = checked_size(chunk_byte_size)

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one file; see `Chunker.chunk`."""
        return self.chunk_scan(path, scan_markdown(without_surrogates(text)))

    def chunk_scan(self, path: str, scan: MarkdownScan) -> list[FileChunk]:
        """`chunk` for a text that was already scanned, and that holds no lone surrogates."""
        return _Chunking(path, scan, self.chunk_byte_size).run()


class _Slice(NamedTuple):
    """A piece, the section it is of, the section that follows it, and its place among its parts."""

    piece: Piece
    section: int
    after: int
    part: int = 1
    parts: int = 1


class _Chunking:
    """One file on its way into chunks."""

    def __init__(self, path: str, scan: MarkdownScan, size: int) -> None:
        self._path = path
        self._scan = scan
        self._size = size
        self._view = LineView(scan.text, scan.offsets)
        self._blocks = scan.blocks
        first = scan.body_line
        if scan.front_matter is not None and scan.front_matter.error is not None:
            # What cannot be read as front matter stays findable as text.
            unreadable = Block(BlockKind.PARAGRAPH, 1, scan.body_line - 1)
            self._blocks = [unreadable, *scan.blocks]
            first = 1
        self._block_starts = [block.start for block in self._blocks]
        self._text_starts = [
            block.start for block in self._blocks if block.kind is not BlockKind.HEADING
        ]
        self._sections = section_tree(scan.headings, first, len(scan.lines))
        # Sections without text of their own, whose headings wait for the next chunk.
        self._waiting: list[int] = []
        self._slices: list[_Slice] = []

    def run(self) -> list[FileChunk]:
        if not self._blocks:
            return []
        index = 0
        while index < len(self._sections):
            index = self._take(index)
        if self._waiting:
            self._close_with_headings()
        return self._finished()

    def _take(self, index: int) -> int:
        """Chunk a section's subtree, or only its own text; the next section to look at."""
        section = self._sections[index]
        start = self._sections[self._waiting[0]].start if self._waiting else section.start
        if not self._has_text(section.start, section.end):
            self._waiting += range(max(index, 1), section.after)
            return section.after
        fitting = self._fitting(start, section.end)
        if fitting is None and self._waits_only_for(index):
            # The waiting headings are ancestors, so the chunk names them in its path anyway.
            fitting = self._fitting(section.start, section.end)
        if fitting is not None:
            self._slices.append(_Slice(fitting, self._innermost(index), section.after))
            self._waiting.clear()
            return section.after
        if not self._has_text(section.start, section.own_end):
            self._waiting += [index] if index else []
            return index + 1
        self._split(index, start)
        self._waiting.clear()
        return index + 1

    def _has_text(self, first: int, last: int) -> bool:
        at = bisect_left(self._text_starts, first)
        return at < len(self._text_starts) and self._text_starts[at] <= last

    def _waits_only_for(self, index: int) -> bool:
        return bool(self._waiting) and all(
            self._sections[waiting].after > index for waiting in self._waiting
        )

    def _blocks_in(self, first: int, last: int) -> list[Block]:
        low = bisect_left(self._block_starts, first)
        return self._blocks[low : bisect_left(self._block_starts, last + 1)]

    def _fitting(self, first: int, last: int) -> Piece | None:
        """The lines without blank ones around them; ``None`` if that is too large for a piece."""
        low = bisect_left(self._block_starts, first)
        high = bisect_left(self._block_starts, last + 1) - 1
        begin, finish = self._view.span(self._blocks[low].start, self._blocks[high].end)
        if finish - begin > self._size or self._view.size(begin, finish) > self._size:
            return None
        return Piece(begin, finish)

    def _innermost(self, index: int) -> int:
        """The section a subtree is about: down while there is one way to go and no text."""
        sections = self._sections
        while not self._has_text(sections[index].start, sections[index].own_end):
            if sections[index + 1].after != sections[index].after:
                break
            index += 1
        return index

    def _split(self, index: int, start: int) -> None:
        """Pieces of a section's own text, the headings that wait in front of it included."""
        section = self._sections[index]
        pieces = [
            piece
            for piece in split_region(
                self._view, self._blocks_in(start, section.own_end), self._size
            )
            if not (piece.heading_only and self._is_in_path(piece, section))
        ]
        after = index + 1
        for part, piece in enumerate(pieces, 1):
            self._slices.append(_Slice(piece, index, after, part, len(pieces)))

    def _is_in_path(self, piece: Piece, section: Section) -> bool:
        """Whether headings that found no room say nothing the path of the section does not say."""
        first = bisect_right(self._view.offsets, piece.begin)
        last = bisect_right(self._view.offsets, piece.finish - 1)
        low = bisect_right(self._block_starts, first) - 1
        for block in self._blocks[low : bisect_right(self._block_starts, last)]:
            begin, finish = self._view.span(block.start, block.end)
            if block.start not in section.lines or finish - begin > LONGEST_HEADING:
                return False
        return True

    def _close_with_headings(self) -> None:
        """Headings at the end with nothing below them: into the last chunk, or on their own."""
        first = self._sections[self._waiting[0]]
        last_line = self._blocks[-1].end
        if self._slices and not self._slices[-1].piece.above:
            last = self._slices[-1].piece
            _, finish = self._view.span(last_line, last_line)
            size = finish - last.begin
            if size <= self._size and self._view.size(last.begin, finish) <= self._size:
                last.finish = finish
                return
        for piece in split_region(self._view, self._blocks_in(first.start, last_line), self._size):
            self._slices.append(_Slice(piece, self._waiting[0], len(self._sections)))

    def _finished(self) -> list[FileChunk]:
        found = ChunkList(self._path)
        for item in self._slices:
            begin, finish = item.piece.begin, item.piece.finish
            if begin == 0 and self._scan.text.startswith(BOM):
                begin = 1
            first = bisect_right(self._view.offsets, begin)
            last = bisect_right(self._view.offsets, max(begin, finish - 1))
            found.add(
                self._scan.text[begin:finish],
                first,
                last,
                headings=self._sections[item.section].path,
                metadata=self._metadata(item, first, last),
            )
        return found.chunks

    def _metadata(self, item: _Slice, first: int, last: int) -> dict[str, Any]:
        section = self._sections[item.section]
        metadata: dict[str, Any] = {}
        above = [
            mark
            for mark, line in zip(section.marks, section.lines, strict=True)
            if not first <= line <= last
        ]
        below = self._following(item, last)
        if above or below:
            metadata["skeleton"] = {"above": above, "below": below}
        if item.parts > 1:
            metadata["part"], metadata["parts"] = item.part, item.parts
        if item.piece.above or item.piece.below:
            metadata["repeated"] = {"above": item.piece.above, "below": item.piece.below}
        if item.piece.heading_only:
            metadata["heading_only"] = True
        return metadata

    def _following(self, item: _Slice, last: int) -> list[str]:
        """The next heading, when it is below the chunk's section or beside it."""
        if item.after >= len(self._sections):
            return []
        following = self._sections[item.after]
        if following.level < self._sections[item.section].level or following.start <= last:
            return []
        return [following.marks[-1]]
