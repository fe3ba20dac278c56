"""Packing the blocks of one section into pieces that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentscope_reme.chunking.chunker import byte_length
from agentscope_reme.chunking.cutting import cut_line
from agentscope_reme.files.markdown_scan import Block, BlockKind


@dataclass(slots=True)
class Piece:
    """A slice ``text[begin:finish]``; ``above`` and ``below`` are lines repeated around it."""

    begin: int
    finish: int
    heading_only: bool = False
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LineView:
    """A text with the offset of each line, and one more for its end."""

    text: str
    offsets: Sequence[int]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the lines `first` to `last` (1-based, inclusive) stand, last line end excluded."""
        begin, finish = self.offsets[first - 1], self.offsets[last] - 1
        if finish > begin and self.text[finish - 1] == "\r":
            finish -= 1
        return begin, finish

    def line(self, number: int) -> str:
        """One line without its end."""
        begin, finish = self.span(number, number)
        return self.text[begin:finish]

    def size(self, begin: int, finish: int) -> int:
        """Bytes of a slice in UTF-8."""
        return byte_length(self.text[begin:finish])


def split_region(view: LineView, blocks: Sequence[Block], size: int) -> list[Piece]:
    """Pack consecutive blocks into pieces of at most `size` bytes.

    Blocks stay whole where they fit. A table that does not is packed by rows below its repeated
    header, a fence by lines between its repeated marks, a list by items, the rest by lines.
    Headings open the piece that follows them.
    """
    packer = _Packer(view, size)
    for block in blocks:
        packer.add_block(block)
    return packer.finished()


class _Packer:
    def __init__(self, view: LineView, size: int) -> None:
        self._view: Final = view
        self._limit: Final = size
        self._pieces: list[Piece] = []
        self._open: Piece | None = None
        self._bytes = 0

    def finished(self) -> list[Piece]:
        self._close()
        return self._pieces

    def add_block(self, block: Block) -> None:
        begin, finish = self._view.span(block.start, block.end)
        size = self._view.size(begin, finish)
        heading = block.kind is BlockKind.HEADING
        if self._extend(begin, finish, size, self._limit, heading=heading):
            return
        if size <= self._limit:
            self._close()
            self._begin(begin, finish, size, heading=heading)
            return
        # Headings alone are no piece: what follows continues them, unless they take the room.
        if self._open is not None and (
            not self._open.heading_only or self._bytes > self._limit // 2
        ):
            self._close()
        self._split(block)

    def _split(self, block: Block) -> None:
        above, below = _repeated(self._view, block)
        repeated = sum(byte_length(line) + 1 for line in (*above, *below))
        if repeated > self._limit // 2:
            above, below, repeated = [], [], 0
        room = self._limit - repeated
        starts = self._view.offsets[block.start - 1]
        heading = block.kind is BlockKind.HEADING
        used = self._bytes + starts - self._open.finish if self._open is not None else 0
        for begin, finish in _units(self._view, block, room, room - used):
            size = self._view.size(begin, finish)
            if not self._extend(begin, finish, size, room, heading=heading):
                # Before the first unit nothing of this block is open that needs closing marks.
                self._close(below if self._block_is_open(block) else None)
                self._begin(begin, finish, size, heading=heading)
                if self._open is not None and begin > starts:
                    self._open.above = above
        if repeated and self._open is not None and self._open.above:
            self._close()  # what follows the block does not belong below its repeated lines

    def _block_is_open(self, block: Block) -> bool:
        return self._open is not None and self._open.finish > self._view.offsets[block.start - 1]

    def _extend(self, begin: int, finish: int, size: int, limit: int, *, heading: bool) -> bool:
        if self._open is None:
            return False
        # Between two blocks there are only blank lines: one byte a character.
        total = self._bytes + (begin - self._open.finish) + size
        if total > limit:
            return False
        self._open.finish = finish
        self._open.heading_only = self._open.heading_only and heading
        self._bytes = total
        return True

    def _begin(self, begin: int, finish: int, size: int, *, heading: bool) -> None:
        self._open = Piece(begin, finish, heading_only=heading)
        self._bytes = size

    def _close(self, below: list[str] | None = None) -> None:
        if self._open is not None:
            self._open.below = below or []
            self._pieces.append(self._open)
        self._open = None
        self._bytes = 0


def _repeated(view: LineView, block: Block) -> tuple[list[str], list[str]]:
    """Lines that make a later part of a block readable on its own."""
    if block.kind is BlockKind.TABLE:
        return [view.line(block.start), view.line(block.start + 1)], []
    if block.kind is BlockKind.FENCE:
        opening = view.line(block.start)
        if block.closed:
            return [opening], [view.line(block.end)]
        content = opening.lstrip(" ")
        mark = content[: len(content) - len(content.lstrip(content[:1]))]
        return [opening], [mark]
    return [], []


def _units(view: LineView, block: Block, size: int, first: int) -> Iterator[tuple[int, int]]:
    """What may not be cut further, as slices in order; none is larger than `size` bytes.

    Args:
        view: the text.
        block: what to take apart.
        size: the largest unit, in bytes.
        first: the room for the first unit if that has to be cut.
    """
    for start, end in _parts(block):
        while end > start and not view.line(end).strip(" \t"):
            end -= 1  # blank lines below an item are only a gap
        begin, finish = view.span(start, end)
        if start < end and view.size(begin, finish) <= size:
            yield begin, finish
            continue
        for number in range(start, end + 1):
            begin, finish = view.span(number, number)
            if view.size(begin, finish) <= size:
                if view.text[begin:finish].strip(" \t"):
                    yield begin, finish
                continue
            room = first if number == block.start and first >= size // 2 else size
            for left, right in cut_line(view.text[begin:finish], size, first=room):
                yield begin + left, begin + right


def _parts(block: Block) -> Iterator[tuple[int, int]]:
    """The line ranges a block falls into: items, a header with its first row, or lines."""
    if block.kind is BlockKind.LIST:
        ends = [*(start - 1 for start in block.items[1:]), block.end]
        yield from zip(block.items, ends, strict=True)
        return
    start = block.start
    if block.kind is BlockKind.TABLE and block.end > start + 1:
        yield start, start + 2
        start += 3
    elif block.kind is BlockKind.FENCE and block.end > start:
        yield start, start + 1
        start += 2
    for line in range(start, block.end + 1):
        yield line, line
