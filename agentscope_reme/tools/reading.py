"""Reading a text file by lines, within what one answer may hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.files.text_encoding import BOM, decode_text, indexable_text
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.results import ReadResult
from agentscope_reme.schema import FileLink, content_hash
from agentscope_reme.tools.access import Access
from agentscope_reme.tools.answer_limit import bullets, byte_length, cut_to_bytes
from agentscope_reme.tools.plain_arguments import whole_number
from agentscope_reme.workspace import is_markdown

_NOTE_BYTES: Final = 400
"""Room kept for the note that tells how to read on."""

_NEIGHBOURS: Final = 10
"""Links shown per direction."""


@dataclass(frozen=True, slots=True)
class _Slice:
    text: str
    first: int
    last: int
    total: int
    note: str
    truncated: bool


def read_lines(
    access: Access, path: str, start_line: int | None, end_line: int | None, neighbors: bool
) -> ReadResult:
    """See `FileOperations.read`."""
    clean = access.readable(path)
    data = access.read(clean)
    outlinks, inlinks = _links(access, clean, _decode(clean, data)[0]) if neighbors else ([], [])
    tail = _neighbour_text(outlinks, inlinks, access.answer_bytes // 4) if neighbors else ""
    result = lines_of_file(clean, data, start_line, end_line, access.answer_bytes, tail)
    return result.model_copy(update={"outlinks": outlinks, "inlinks": inlinks})


def lines_of_file(
    name: str,
    data: bytes,
    start_line: int | None,
    end_line: int | None,
    most_bytes: int,
    tail: str = "",
) -> ReadResult:
    """Lines of a file, wherever it is, within what one answer may hold.

    Args:
        name: what the file is called.
        data: what it holds.
        start_line: first line, counted from 1; the beginning when left out.
        end_line: last line, inclusive; beyond the end means the end.
        most_bytes: of the answer, notes and `tail` included.
        tail: what the answer ends with.

    Raises:
        BadInput: the range is empty or outside the file, or the file is not text.
    """
    text, notices = _decode(name, data)
    first, last, lines = _range(text, start_line, end_line)
    part = _fill(lines, first, last, most_bytes - _NOTE_BYTES - byte_length(tail))
    notes = [*notices, part.note] if part.note else notices
    return ReadResult(
        answer="\n".join(filter(None, (part.text, *notes, tail))) or "(the file is empty)",
        path=name,
        content=part.text,
        start_line=part.first,
        end_line=part.last,
        total_lines=part.total,
        truncated=part.truncated,
        content_hash=content_hash(data),
    )


def _decode(path: str, data: bytes) -> tuple[str, list[str]]:
    text = indexable_text(data)
    if "\0" in text:
        raise BadInput(path, "this is not a text file", "Use `read_image` for pictures.")
    if decode_text(data)[1].exact:
        return text.removeprefix(BOM), []
    return text, ["[Not UTF-8: shown as far as its encoding could be guessed.]"]


def _range(text: str, start: int | None, end: int | None) -> tuple[int, int, list[str]]:
    """The asked range, 1-based and inclusive, and the lines of the file.

    Raises:
        BadInput: it begins behind the last line, before the first, or behind its own end.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    first = 1 if start is None else whole_number(start, "start_line")
    last = total if end is None else min(whole_number(end, "end_line"), total)
    asked = f"lines {first}-{'end' if end is None else end}"
    if first < 1 or (end is not None and end < 1):
        raise BadInput(asked, "lines are counted from 1", f"The file has lines 1 to {total}.")
    if end is not None and first > end:
        raise BadInput(asked, "the range ends before it begins", f"The file has {total} lines.")
    if first > max(total, 1):
        raise BadInput(asked, f"the file has only {total} lines", f"Use 1 to {max(total, 1)}.")
    return first, last, lines


def _fill(lines: list[str], first: int, last: int, room: int) -> _Slice:
    shown: list[str] = []
    for line in lines[first - 1 : last]:
        room -= byte_length(line) + 1
        if room < 0:
            break
        shown.append(line)
    total = len(lines)
    if not shown and last >= first:
        return _cut_line(lines[first - 1], first, total, room + byte_length(lines[first - 1]))
    end = first + len(shown) - 1
    truncated = end < last
    note = ""
    if truncated:
        note = f"[Lines {first}-{end} of {total}. Read on with start_line={end + 1}.]"
    elif (first, end) != (1, total) and total:
        note = f"[Lines {first}-{end} of {total}.]"
    return _Slice("\n".join(shown), first, end, total, note, truncated)


def _cut_line(line: str, number: int, total: int, room: int) -> _Slice:
    text, _ = cut_to_bytes(line, room)
    note = (
        f"[Line {number} of {total} alone has {byte_length(line)} bytes; only its first "
        f"{byte_length(text)} are shown."
    )
    if number < total:
        note += f" Read on behind it with start_line={number + 1}."
    return _Slice(text, number, number, total, note + "]", truncated=True)


def _links(access: Access, path: str, text: str) -> tuple[list[FileLink], list[FileLink]]:
    written = parse_wikilinks(text, path) if is_markdown(path) else access.store.outlinks(path)
    return list(written), access.view.inlinks(path)


def _neighbour_text(outlinks: list[FileLink], inlinks: list[FileLink], limit: int) -> str:
    lines = [
        f"Links to: {_first_few(link.target_path for link in outlinks)}",
        f"Linked from: {_first_few(link.source_path for link in inlinks)}",
    ]
    return cut_to_bytes("\n" + "\n".join(lines), limit)[0]


def _first_few(paths: Iterable[str]) -> str:
    unique = list(dict.fromkeys(paths))
    if not unique:
        return "nothing"
    return "\n" + bullets((f"[[{path}]]" for path in unique), _NEIGHBOURS)
