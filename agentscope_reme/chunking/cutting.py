"""Where a run of text may be cut: never inside a character or a wikilink, best after a sentence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

_WIKILINK: Final = re.compile(rb"!?\[\[[^\[\]\n]+\]\]")
# The end of a sentence: a stop and a blank, or a full-width stop; with the quotes that close it.
_SENTENCE_END: Final = re.compile(
    "[.!?;:][\"')\\]]*[ \t]+|(?:。|！|？|；|…)(?:”|’|」|』|）)*".encode()
)
_BLANK: Final = re.compile("[ \t]+|，|、".encode())
_ENDS: Final = (_SENTENCE_END, _BLANK)
# The same for ASCII: a pattern without alternatives is looked for several times faster.
_ASCII_ENDS: Final = (re.compile(rb"[.!?;:][\"')\]]*[ \t]+"), re.compile(rb"[ \t]+"))


class CutText:
    """A text as UTF-8 bytes, with the places where it must not be cut.

    Offsets are in bytes. Everything is found by looking at one window at a time, so that a
    text of one 10 MB line takes linear time.
    """

    def __init__(self, text: str) -> None:
        self.data: Final = text.encode("utf-8", "surrogatepass")
        self._ends = _ASCII_ENDS if len(self.data) == len(text) else _ENDS
        links = [m.span() for m in _WIKILINK.finditer(self.data)] if "[[" in text else []
        self._link_starts = [start for start, _ in links]
        self._link_ends = [end for _, end in links]

    def text(self, start: int, end: int) -> str:
        """The characters between two offsets that are character boundaries."""
        return self.data[start:end].decode("utf-8", "surrogatepass")

    def cut_before(self, start: int, limit: int, *, at_lines: bool = False) -> int:
        """The best place to end a piece that starts at `start` and must end by `limit`.

        Prefers, in the second half of the piece, the end of a line (`at_lines`), of a sentence, a
        blank; then any character. A wikilink is cut only when it alone is too long.
        """
        if limit >= len(self.data):
            return len(self.data)
        limit = self._outside_link(start, self._character_start(limit))
        half = start + (limit - start) // 2
        if at_lines:
            newline = self.data.rfind(b"\n", half, limit)
            if newline >= 0:
                return newline + 1
        for pattern in self._ends:
            for end in reversed([m.end() for m in pattern.finditer(self.data, half, limit)]):
                if self._outside_link(start, end) == end:
                    return end
        return limit

    def start_after(self, position: int) -> int:
        """The first place from `position` on where a piece may start."""
        while position < len(self.data) and self.data[position] & 0xC0 == 0x80:
            position += 1
        index = bisect_left(self._link_starts, position) - 1
        if index >= 0 and self._link_ends[index] > position:
            return self._link_ends[index]
        return position

    def _character_start(self, position: int) -> int:
        while self.data[position] & 0xC0 == 0x80:
            position -= 1
        return position

    def _outside_link(self, start: int, position: int) -> int:
        index = bisect_left(self._link_starts, position) - 1
        if index >= 0 and self._link_ends[index] > position and self._link_starts[index] > start:
            return self._link_starts[index]
        return position


def cut_line(line: str, size: int, *, first: int | None = None) -> Iterator[tuple[int, int]]:
    """Cut one line into pieces, as character offsets into the line.

    Args:
        line: the text; it may be of any length.
        size: the largest piece, in UTF-8 bytes.
        first: another limit for the first piece.
    """
    cut = CutText(line)
    ascii_only = line.isascii()
    start = characters = 0
    while start < len(cut.data):
        room = size if start or first is None else first
        end = cut.cut_before(start, start + room)
        length = end - start if ascii_only else len(cut.text(start, end))
        yield characters, characters + length
        start, characters = end, characters + length
