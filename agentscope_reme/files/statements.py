"""The statements of a text: what one says, one can forget or repeat by itself.

A statement is a list item, a row of a table, a heading, a block of code, or a paragraph. Lines
indented below a list item that begin no item of their own belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["item", "row", "heading", "code", "paragraph"]

_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_RULE: Final = re.compile(r"[\s:|-]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines ``start`` to ``end`` (1-based, inclusive) of a text, and the section they stand in."""

    start: int
    end: int
    text: str
    kind: Kind
    section: str = ""

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.start, self.end + 1)


def statements_of(text: str, *, first_line: int = 1) -> list[Statement]:
    """The statements of a text, in order; blank lines and the rules of tables belong to none.

    Args:
        text: Markdown, or plain text, without front matter.
        first_line: the number of its first line in the file.
    """
    found: list[Statement] = []
    section = ""
    for kind, start, lines in _groups(text.split("\n"), first_line):
        said = "\n".join(line.rstrip("\r") for line in lines)
        if kind == "heading":
            section = said.strip().lstrip("#").strip()
        found.append(Statement(start, start + len(lines) - 1, said, kind, section))
    return found


def _groups(lines: list[str], first_line: int) -> Iterator[tuple[Kind, int, list[str]]]:
    """Lines that belong together, with the number of the first."""
    kind: Kind | None = None
    start, group, fence = first_line, list[str](), ""
    for number, line in enumerate(lines, first_line):
        opened = _FENCE.match(line)
        if fence:
            group.append(line)
            if opened and opened[1].startswith(fence) and not line.strip(" `~\r"):
                yield "code", start, group
                kind, group, fence = None, [], ""
            continue
        begins = "code" if opened else _begins(line, kind)
        if begins is None and kind is not None and line.strip():
            group.append(line)
            continue
        if kind is not None and group:
            yield kind, start, group
        kind, start, group = begins, number, [line] if begins else []
        fence = opened[1] if opened else ""
    if kind is not None and group:
        yield kind, start, group


def _begins(line: str, current: Kind | None) -> Kind | None:
    """What begins on a line; ``None`` when it goes on with what there is, or is blank."""
    if not line.strip():
        return None
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "item"
    if line.lstrip().startswith("|"):
        return None if _RULE.fullmatch(line) else "row"
    return "paragraph" if current in (None, "heading", "row") else None
