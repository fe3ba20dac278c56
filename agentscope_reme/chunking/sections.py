"""A document's headings as a tree of sections, kept flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from agentscope_reme.files.markdown_scan import Heading

LONGEST_HEADING: Final = 200
"""Characters of a heading that are repeated in its chunks; a document may hold a longer one."""


class Section(NamedTuple):
    """One heading and what stands below it, up to the next heading of its level or above.

    ``path`` holds the headings from the outermost to this one, ``marks`` the same as Markdown lines
    and ``lines`` where they stand. Lines are 1-based. ``own_end`` is the last line before the next
    heading, ``end`` the last line of the whole subtree, ``after`` the index of the first section
    that is not inside this one. The text above the first heading is a section of level 0 without
    a path.
    """

    level: int
    path: tuple[str, ...]
    marks: tuple[str, ...]
    lines: tuple[int, ...]
    start: int
    own_end: int
    end: int
    after: int


def section_tree(headings: Sequence[Heading], first_line: int, last_line: int) -> list[Section]:
    """All sections in file order, the root first; a section's subtree follows it directly.

    Args:
        headings: the document's headings in order.
        first_line: the first line of the body.
        last_line: the last line of the body.
    """
    count = len(headings)
    after = _subtree_ends(headings)
    first_heading = headings[0].line if headings else last_line + 1
    sections = [Section(0, (), (), (), first_line, first_heading - 1, last_line, count + 1)]
    open_sections = [sections[0]]
    for index, heading in enumerate(headings):
        while open_sections[-1].level >= heading.level:
            open_sections.pop()
        above = open_sections[-1]
        text = _short(heading.text)
        section = Section(
            level=heading.level,
            path=(*above.path, text),
            marks=(*above.marks, f"{'#' * heading.level} {text}"),
            lines=(*above.lines, heading.line),
            start=heading.line,
            own_end=(headings[index + 1].line if index + 1 < count else last_line + 1) - 1,
            end=(headings[after[index]].line if after[index] < count else last_line + 1) - 1,
            after=after[index] + 1,
        )
        sections.append(section)
        open_sections.append(section)
    return sections


def _subtree_ends(headings: Sequence[Heading]) -> list[int]:
    """For each heading the index of the next one of its level or above."""
    ends = [len(headings)] * len(headings)
    waiting: list[int] = []
    for index, heading in enumerate(headings):
        while waiting and headings[waiting[-1]].level >= heading.level:
            ends[waiting.pop()] = index
        waiting.append(index)
    return ends


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_HEADING else text[: LONGEST_HEADING - 1] + "…"
