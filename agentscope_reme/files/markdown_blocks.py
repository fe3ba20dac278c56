"""The block structure of a Markdown text, as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from agentscope_reme.files.front_matter import FrontMatterBlock


class BlockKind(Enum):
    """What a run of lines outside of any list or quote is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED = "indented"
    COMMENT = "comment"
    TABLE = "table"
    LIST = "list"
    QUOTE = "quote"
    RULE = "rule"


@dataclass(slots=True)
class Block:
    """A run of lines, 1-based and inclusive; blank lines below it are not part of it.

    ``items`` are the first lines of a list's own items. ``closed`` is false for a fence that runs
    to the end of the text.
    """

    kind: BlockKind
    start: int
    end: int
    items: list[int] = field(default_factory=list)
    closed: bool = False


class Heading(NamedTuple):
    """A heading outside of any list or quote; ``line`` is where it starts, counted from 1."""

    level: int
    text: str
    line: int
    end_line: int


@dataclass
class MarkdownScan:
    """What `scan_markdown` found. All line numbers are those of the whole text, from 1.

    ``code`` are line ranges of fenced and indented code and of unclosed comments, at any depth;
    ``leaf_starts`` the lines on which a new paragraph, heading, row or code block begins: inline
    code never reaches over one of them.
    """

    text: str
    lines: list[str]
    front_matter: FrontMatterBlock | None
    body_line: int
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    leaf_starts: list[int] = field(default_factory=list)

    @cached_property
    def offsets(self) -> list[int]:
        """Where each line starts in the text, with one offset more for its end."""
        ends = accumulate(map(len, self.lines), initial=0)
        return [end + line_ends for line_ends, end in enumerate(ends)]
