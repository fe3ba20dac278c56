"""What a terminal would show of a program's raw output.

Commands colour their words and redraw their progress with control characters. Ten thousand redraws
of one bar are one line on a screen, and that line is all a model needs. The rules are those of
ECMA-48 for the sequences programs use when they write line by line; a terminal of unlimited width
and height is assumed, so nothing is wrapped and nothing scrolls away.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PIECES: Final = re.compile(
    r"(?P<words>[^\x00-\x08\n\x0b-\x1f\x7f-\x9f]+)"
    r"|(?P<down>\r?[\n\x0b\x0c])"
    r"|\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<csi>[@-~])?"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links of a window
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device control strings
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<single>[\x00-\x08\r\x0e-\x1f\x7f-\x9f])"
)
_FARTHEST: Final = 10_000
"""No sequence moves the cursor farther than this: a wrong number must not cost a gigabyte."""

_BLANKS: Final = (2, 1_000_000)
"""Cursor movements and erasures may make so many blanks for each character of the text, and so many
besides. Programs stay far below that; a few bytes repeated could fill the memory otherwise."""

_ROW: Final = 8  # what an empty line costs, in blanks


def as_shown(text: str) -> str:
    """The text as a terminal would show it; text without control characters is returned as it is.

    Carriage returns and backspaces overwrite, erasing sequences erase, cursor movements move;
    colours, titles and everything else that shows no character are left out. Of a text that would
    fill a screen out of all proportion only the words and the ends of lines are shown.
    """
    if not _CONTROL.search(text):
        return text
    try:
        return _drawn(text)
    except _TooManyBlanks:
        return _PIECES.sub(_plain, text)


class _TooManyBlanks(Exception):
    """A text that moves the cursor instead of saying something."""


def _plain(piece: re.Match[str]) -> str:
    return piece["words"] or ("\n" if piece["down"] or piece["single"] == "\r" else "")


def _drawn(text: str) -> str:
    screen = _Screen(_BLANKS[0] * len(text) + _BLANKS[1])
    for piece in _PIECES.finditer(text):
        if words := piece["words"]:
            screen.write(words)
        elif piece["down"]:
            screen.new_line()
        elif final := piece["csi"]:
            screen.control(final, piece["numbers"])
        elif single := piece["single"]:
            screen.control_character(single)
    return screen.text()


class _Screen:
    def __init__(self, blanks: int) -> None:
        self._blanks = blanks
        self._lines: list[list[str]] = [[]]
        self._row = 0
        self._column = 0
        self._top = 0  # where the part begins that was not cleared

    def write(self, words: str) -> None:
        line = self._lines[self._row]
        if self._column > len(line):
            self._spend(self._column - len(line))
            line.extend(" " * (self._column - len(line)))
        line[self._column : self._column + len(words)] = words
        self._column += len(words)

    def new_line(self) -> None:
        self._move_to(self._row + 1, 0)

    def control_character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)

    def control(self, final: str, numbers: str) -> None:
        """One control sequence; unknown ones show nothing."""
        values = [int(part) if part.isdigit() else 0 for part in numbers.split(";")]
        count = min(max(values[0], 1), _FARTHEST)
        match final:
            case "A" | "F":
                self._move_to(self._row - count, 0 if final == "F" else self._column)
            case "B" | "E":
                self._move_to(self._row + count, 0 if final == "E" else self._column)
            case "C":
                self._column = min(self._column + count, _FARTHEST + len(self._lines[self._row]))
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "H" | "f":
                column = min(max(values[1], 1), _FARTHEST) if len(values) > 1 else 1
                self._move_to(self._top + count - 1, column - 1)
            case "K":
                self._erase_in_line(values[0])
            case "J":
                self._erase_in_display(values[0])
            case _:
                pass

    def text(self) -> str:
        return "\n".join("".join(line).rstrip(" ") for line in self._lines)

    def _move_to(self, row: int, column: int) -> None:
        self._row = max(self._top, row)
        self._column = column
        missing = self._row + 1 - len(self._lines)
        if missing > 1:
            self._spend(missing * _ROW)
        self._lines.extend([] for _ in range(missing))

    def _spend(self, blanks: int) -> None:
        self._blanks -= blanks
        if self._blanks < 0:
            raise _TooManyBlanks

    def _erase_in_line(self, how: int) -> None:
        line = self._lines[self._row]
        if how == 0:
            del line[self._column :]
        elif how == 1:
            self._spend(min(self._column + 1, len(line)))
            line[: self._column + 1] = " " * min(self._column + 1, len(line))
        else:
            line.clear()

    def _erase_in_display(self, how: int) -> None:
        if how == 0:
            del self._lines[self._row + 1 :]
            self._erase_in_line(0)
        elif how in (2, 3):
            # A person can scroll back to what was cleared; so it stays, above the new screen.
            self._top = len(self._lines)
            self._move_to(self._top, 0)
