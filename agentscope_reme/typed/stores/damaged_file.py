"""Rows of an SQLite file that SQLite refuses, read page by page.

Every leaf page of a table is read by itself, so neither the header, nor the schema, nor the pages
above it need to be whole, and nothing that the file says is executed. Free pages are not read: the
local store overwrites what it deletes with zeros, and a page of zeros is no leaf. The layout is
that of https://www.sqlite.org/fileformat2.html, sections 1.5 to 1.6, 2.1 and 4.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

PAGE_BYTES: Final = 4096
"""The local store makes all its files with pages of this size."""

Row = tuple[int, list[object]]
"""The number of a row, 0 in an index, and its columns."""

_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER = 0x0D, 0x0A, 0x02
_MOST: Final = {_TABLE_LEAF: PAGE_BYTES - 35}
_MOST_OF_INDEX: Final = (PAGE_BYTES - 12) * 64 // 255 - 23
_LEAST: Final = (PAGE_BYTES - 12) * 32 // 255 - 23
_INT_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24


class DamagedFile:
    """The pages of a file, with those of its write-ahead log over them.

    Args:
        content: the file.
        log: its log; what is not whole and committed is left out, as SQLite does.
    """

    def __init__(self, content: bytes | mmap.mmap, log: bytes = b"") -> None:
        self._content: Final = content
        self._newer, size = _committed(log)
        self.pages: Final = size or len(content) // PAGE_BYTES

    def rows(self) -> Iterator[Row]:
        """Every row of a table, and every entry of an index, that can be decoded."""
        for number in range(1, self.pages + 1):
            page = self._page(number)
            start = 100 if number == 1 else 0
            if page and page[start] in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER):
                yield from self._rows_of(page, start)

    def _rows_of(self, page: bytes, start: int) -> Iterator[Row]:
        kind = page[start]
        first = start + (12 if kind == _INDEX_INNER else 8)
        count = min(int.from_bytes(page[start + 3 : start + 5]), (PAGE_BYTES - first) // 2)
        for (at,) in struct.iter_unpack(">H", page[first : first + 2 * count]):
            try:
                yield self._row(page, at, kind)
            except (ValueError, IndexError):  # this one is lost; those beside it are not
                continue

    def _row(self, page: bytes, at: int, kind: int) -> Row:
        if kind == _INDEX_INNER:
            at += 4  # the page below
        size, at = _varint(page, at)
        number = 0
        if kind == _TABLE_LEAF:
            number, at = _varint(page, at)
        return number, _columns(self._payload(page, at, size, _MOST.get(kind, _MOST_OF_INDEX)))

    def _payload(self, page: bytes, at: int, size: int, most: int) -> bytes:
        if size <= most:
            return page[at : at + size]
        if size > self.pages * PAGE_BYTES:
            raise ValueError("longer than the file")
        local = _LEAST + (size - _LEAST) % (PAGE_BYTES - 4)
        end = at + (local if local <= most else _LEAST)
        parts, rest = [page[at:end]], size - (end - at)
        following = int.from_bytes(page[end : end + 4])
        while rest > 0:
            page = self._page(following)
            if not page:
                raise ValueError("its end is missing")
            parts.append(page[4 : 4 + rest])
            rest -= PAGE_BYTES - 4
            following = int.from_bytes(page[:4])
        return b"".join(parts)

    def _page(self, number: int) -> bytes:
        if number in self._newer:
            return self._newer[number]
        page = self._content[(number - 1) * PAGE_BYTES : number * PAGE_BYTES] if number else b""
        return page if len(page) == PAGE_BYTES else b""


@contextmanager
def damaged_file(place: Path) -> Iterator[DamagedFile]:
    """A file that is only read, never locked and never written to; its log is the one beside it."""
    log = place.with_name(f"{place.name}-wal")
    with ExitStack() as opened:
        content: bytes | mmap.mmap = b""
        if place.stat().st_size:  # nothing cannot be mapped
            file = opened.enter_context(place.open("rb"))
            content = opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        yield DamagedFile(content, log.read_bytes() if log.exists() else b"")


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | page[place] & 0x7F
        if page[place] < 0x80:
            return value, place + 1
    return value << 8 | page[at + 8], at + 9


def _columns(record: bytes) -> list[object]:
    """The values of a record, which must fill it exactly."""
    at, kinds = 0, []
    body, at = _varint(record, at)
    end = body
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, body = _value(record, body, kind)
        values.append(value)
    if at != end or body != len(record):
        raise ValueError("not a record")
    return values


def _value(record: bytes, at: int, kind: int) -> tuple[object, int]:
    if kind in _INT_BYTES:
        end = at + _INT_BYTES[kind]
        return int.from_bytes(record[at:end], signed=True), end
    if kind == 7:
        return struct.unpack(">d", record[at : at + 8].ljust(8, b"\0"))[0], at + 8
    if kind < 12:
        return {0: None, 8: 0, 9: 1}[kind] if kind in (0, 8, 9) else _refuse(), at
    end = at + (kind - 12) // 2
    return (record[at:end].decode() if kind % 2 else record[at:end]), end


def _refuse() -> object:
    raise ValueError("no such kind of value")


def _committed(log: bytes) -> tuple[dict[int, bytes], int]:
    """The pages of the whole transactions in a log, and how many pages the file has with them."""
    pages: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    size = 0
    if len(log) < _WAL_HEADER or int.from_bytes(log[:4]) not in _WAL_MAGIC:
        return pages, size
    order = ">" if log[3] & 1 else "<"
    salt, known = log[16:24], _summed(order, log[:24], (0, 0))
    if int.from_bytes(log[8:12]) != PAGE_BYTES or known != struct.unpack(">II", log[24:32]):
        return pages, size
    for at in range(_WAL_HEADER, len(log) - _FRAME_HEADER - PAGE_BYTES + 1, 4096 + _FRAME_HEADER):
        head, page = log[at : at + 24], log[at + 24 : at + 24 + PAGE_BYTES]
        known = _summed(order, page, _summed(order, head[:8], known))
        if head[8:16] != salt or known != struct.unpack(">II", head[16:24]):
            break
        waiting[int.from_bytes(head[:4])] = page
        if committed := int.from_bytes(head[4:8]):
            pages.update(waiting)
            waiting.clear()
            size = committed
    return pages, size


def _summed(order: str, data: bytes, known: tuple[int, int]) -> tuple[int, int]:
    one, two = known
    for first, second in struct.iter_unpack(f"{order}II", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
