"""What an Office file would unfold to, told before any reader unfolds it.

A few hundred bytes can stand for gigabytes: compressed blanks, two cells at the far corners of a
sheet, one long text that a million cells name. The reader of sheets is native code that ends the
whole process when memory runs out, so such files are refused here.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import IO, Final
from xml.parsers import expat

from agentscope_reme.errors import BadDocument

_MIB: Final = 1024 * 1024
_MOST_BYTES: Final = 512 * _MIB
_MOST_XML_BYTES: Final = {".docx": 32 * _MIB, ".pptx": 64 * _MIB, ".xlsx": 256 * _MIB}
_MOST_CELLS: Final = 10_000_000
"""Of the rectangle around what a sheet holds; the reader makes a value of each, empty or not."""
_MOST_CHARACTERS: Final = 64_000_000
_HEAD_BYTES: Final = 64
_BLANKS_AND_MARKS: Final = b"\xef\xbb\xbf \t\r\n"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_OTHER_SHEETS: Final = frozenset({"xl/workbook.bin", "content.xml"})
_SPLIT: Final = "Split it into smaller files."


def refuse_bomb(path: str, data: bytes, suffix: str) -> None:
    """Let a Word, PowerPoint or Excel file pass that a reader can take.

    Args:
        path: its workspace path, for the error.
        data: its bytes.
        suffix: ``.docx``, ``.pptx`` or ``.xlsx``.

    Raises:
        BadDocument: it unfolds to more than a reader should be given, or is of another kind.
        zipfile.BadZipFile: it is no package at all.
        xml.parsers.expat.ExpatError: a sheet is damaged.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        _refuse_size(path, sum(entry.file_size for entry in package.infolist()), _MOST_BYTES)
        parts = list(_xml_parts(package))
        _refuse_size(path, sum(part.file_size for part in parts), _MOST_XML_BYTES[suffix])
        if suffix == ".xlsx":
            _refuse_other_sheets(path, package)
            _refuse_vast_sheets(path, package, parts)


def _refuse_size(path: str, size: int, most: int) -> None:
    if size > most:
        raise BadDocument(path, f"it unpacks to {size} bytes, more than {most}", _SPLIT)


def _xml_parts(package: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """Parts that are XML by what they begin with: a name may lie."""
    for entry in package.infolist():
        with package.open(entry) as part:
            head = part.read(_HEAD_BYTES)
        if head.startswith(_WIDE) or head.lstrip(_BLANKS_AND_MARKS).startswith(b"<"):
            yield entry


def _refuse_other_sheets(path: str, package: zipfile.ZipFile) -> None:
    """The reader takes other formats too, and those are not measured here."""
    names = {entry.filename.casefold() for entry in package.infolist()}
    if "xl/workbook.xml" not in names or names & _OTHER_SHEETS:
        raise BadDocument(path, "it is no Excel workbook", "Save it as `.xlsx`.")


def _refuse_vast_sheets(
    path: str, package: zipfile.ZipFile, entries: list[zipfile.ZipInfo]
) -> None:
    used: Counter[int] = Counter()
    shared: list[int] = []
    for entry in entries:
        part = _Part()
        with package.open(entry) as file:
            part.read(file)
        if part.cells > _MOST_CELLS:
            reason = f"a sheet spans {part.cells} cells, more than {_MOST_CELLS}"
            raise BadDocument(path, reason, "Delete what stands far away from the table.")
        used += part.used
        shared = [max(pair) for pair in zip_longest(shared, part.strings, fillvalue=0)]
    said = sum(shared[number] * times for number, times in used.items() if number < len(shared))
    if said > _MOST_CHARACTERS:
        raise BadDocument(path, f"its cells hold {said} characters", _SPLIT)


class _Part:
    """Measures one XML part: the rectangle of a sheet, and the texts that cells share."""

    def __init__(self) -> None:
        self.used: Counter[int] = Counter()
        self.strings: list[int] = []
        self._rows = (0, 0)
        self._columns = (0, 0)
        self._row = self._column = 0
        self._is_shared = False
        self._said: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def read(self, file: IO[bytes]) -> None:
        """Measure the whole part, without holding it."""
        while block := file.read(_MIB):
            self._parser.Parse(block, False)
        self._parser.Parse(b"", True)

    @property
    def cells(self) -> int:
        """How many cells the rectangle around all that have a value has."""
        (top, bottom), (left, right) = self._rows, self._columns
        return (bottom - top + 1) * (right - left + 1) if bottom else 0

    def _start(self, name: str, given: dict[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                self._row, self._column = _whole(given.get("r", ""), self._row + 1), 0
            case "c":
                self._place(given.get("r", ""))
                self._is_shared = given.get("t") == "s"
            case "v" | "is" | "f":
                self._rows = _reaching(self._rows, self._row)
                self._columns = _reaching(self._columns, self._column)
                self._said = []
            case "si":
                self._said = []

    def _end(self, name: str) -> None:
        if self._said is None:
            return
        match name.rpartition(":")[2]:
            case "v":
                if self._is_shared:
                    self.used[_whole("".join(self._said).strip(), -1)] += 1
                self._said = None
            case "si":
                self.strings.append(sum(map(len, self._said)))
                self._said = None

    def _text(self, data: str) -> None:
        if self._said is not None:
            self._said.append(data)

    def _place(self, reference: str) -> None:
        letters = reference.rstrip("0123456789")
        self._column += 1
        if letters:
            self._column = 0
            for letter in letters.upper():
                self._column = self._column * 26 + ord(letter) - ord("A") + 1
        self._row = _whole(reference[len(letters) :], self._row)


def _whole(digits: str, otherwise: int) -> int:
    return int(digits) if digits.isascii() and digits.isdecimal() else otherwise


def _reaching(span: tuple[int, int], number: int) -> tuple[int, int]:
    first, last = span
    return (min(first, number), max(last, number)) if last else (number, number)
