"""The line-by-line pass behind `scan_markdown`.

Open containers (list items and quotes) are a stack. Every line is matched against it once, what
does not go on is popped, and what the rest of the line starts is pushed, so the work is linear in
the text however deep it nests.
"""

from __future__ import annotations

import re
from typing import Final

from agentscope_reme.files.markdown_blocks import Block, BlockKind, Heading, MarkdownScan
from agentscope_reme.files.text_encoding import BOM

_HEADING: Final = re.compile(r"(#{1,6})(?=[ \t]|\Z)")
_FENCE: Final = re.compile(r"(`{3,})[^`]*\Z|(~{3,})", re.DOTALL)
_COMMENT_END: Final = re.compile(".*?-->", re.DOTALL)
_SETEXT: Final = re.compile(r"(=+|-+)[ \t]*\Z")
_ITEM: Final = re.compile(r"([-+*]|(\d{1,9})[.)])( +|\Z)")
_DELIMITER_ROW: Final = re.compile(
    r"(?=[^|\n]*\|)[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*(?:[ \t]*:?-+:?[ \t]*)?\Z"
)
# A line that starts with none of these, outside of any container, is a line of a paragraph.
_MAY_START_A_BLOCK: Final = frozenset("#>`~-*+_=|:<0123456789 \t\r")
_MAY_START_A_BLOCK_OR_END: Final = _MAY_START_A_BLOCK | {""}
_QUOTE: Final = 0


class BlockScanner:
    """The state of one pass over the lines."""

    def __init__(self, scan: MarkdownScan) -> None:
        self._scan = scan
        self._number = 0
        # Open containers, outermost first: the content indent of a list item, or _QUOTE.
        self._containers: list[int] = []
        self._quotes = 0
        self._paragraph = False
        self._table = False
        # An open fence or comment: what closes it, its depth, its first line.
        self._closer: re.Pattern[str] | None = None
        self._depth = 0
        self._opened = 0
        # Where the line's tail of nothing but one mark and blanks begins, by mark.
        self._tails: dict[str, int] = {}

    def run(self) -> None:
        """Fill the scan; call it once."""
        scan = self._scan
        lines = scan.lines
        special = _MAY_START_A_BLOCK
        for index in range(scan.body_line - 1, len(lines)):
            line = lines[index]
            self._number = index + 1
            if not line or (line[0] in " \t\r" and not line.strip(" \t\r")):
                self._blank()
            elif self._containers or self._closer is not None or line[0] in special:
                if self._closer is not None or not self._at_margin(line):
                    self._line(line)
            elif line[0] == BOM and index == 0:
                self._line(line[1:])
            elif self._paragraph:
                scan.blocks[-1].end = index + 1
                if self._table or (
                    "|" in line and index + 1 < len(lines) and "-" in lines[index + 1]
                ):
                    scan.leaf_starts.append(index + 1)
            else:
                self._start_paragraph()
        last = len(lines)
        while last > self._opened and not lines[last - 1].strip(" \t\r"):
            last -= 1
        self._close_leaf(last)

    def _at_margin(self, line: str) -> bool:
        """Take the two commonest lines that no open container can hold; false for all others.

        Only a shortcut: `_line` comes to the same result.
        """
        if line[0] == "#":
            return self._atx_heading(line.rstrip("\r"), 0)
        if line[0] in "-*+" and line[1:2] == " " and line[2:3] not in _MAY_START_A_BLOCK_OR_END:
            self._push(2, 0, BlockKind.LIST)
            self._start_paragraph()
            return True
        return False

    def _blank(self) -> None:
        self._paragraph = self._table = False
        if self._quotes:
            # A quote needs its mark on every line; what it contains goes with it.
            depth = self._containers.index(_QUOTE)
            if self._closer is not None and self._depth > depth:
                self._close_leaf(self._number - 1)
            if self._closer is None:
                self._pop_to(depth)

    def _line(self, line: str) -> None:
        if "\t" in line:
            line = line.expandtabs(4)
        if line.endswith("\r"):
            line = line[:-1]
        position, matched = self._match_containers(line)
        if self._closer is not None and self._continues_leaf(line, position, matched):
            return
        self._open_blocks(line, position, matched)

    def _match_containers(self, line: str) -> tuple[int, int]:
        """How far into the line, and how deep into the stack, the open containers go on."""
        position = matched = 0
        length = len(line.rstrip(" "))
        for width in self._containers:
            if width == _QUOTE:
                at = position
                while at < length and line[at] == " " and at - position < 3:
                    at += 1
                if at >= length or line[at] != ">":
                    break
                position = at + 2 if line.startswith(" ", at + 1) else at + 1
            elif line.startswith(" " * width, position):
                position += width
            elif position < length:
                break  # a blank rest goes on in every list item
            matched += 1
        return position, matched

    def _continues_leaf(self, line: str, position: int, matched: int) -> bool:
        """Whether the line belongs to the open fence or comment; closes it when it ends here."""
        assert self._closer is not None  # noqa: S101 - narrows the type for the checker
        if matched < self._depth:
            self._close_leaf(self._number - 1)
            return False
        if self._closer.match(line, position):
            self._close_leaf(self._number, closed=True)
        return True

    def _close_leaf(self, last: int, *, closed: bool = False) -> None:
        if self._closer is None:
            return
        if self._closer is not _COMMENT_END or not closed:
            # A comment that ends may have text after it: `hidden_spans` looks closer.
            self._scan.code.append((self._opened, last))
        self._closer = None
        self._extend(last)
        if self._depth == 0:
            self._scan.blocks[-1].closed = closed

    def _open_blocks(self, line: str, position: int, matched: int) -> None:
        """Open what the rest of a line starts: containers first, then one leaf."""
        self._tails.clear()
        length = len(line)
        while True:
            start = position
            while position < length and line[position] == " ":
                position += 1
            if position >= length:  # an empty item's content would stand beyond the line
                self._nothing_left(matched)
                return
            if position - start >= 4:
                self._indented(matched)
                return
            in_paragraph = self._paragraph and matched == len(self._containers)
            if line[position] == ">":
                self._push(_QUOTE, matched, BlockKind.QUOTE)
                position += 2 if line.startswith(" ", position + 1) else 1
            elif self._leaf(line, position, matched, in_paragraph):
                return
            else:
                width = _item_width(line, position, in_paragraph)
                if width is None:
                    self._paragraph_line(line, matched)
                    return
                self._push(position - start + width, matched, BlockKind.LIST)
                position += width
            matched = len(self._containers)

    def _nothing_left(self, matched: int) -> None:
        self._paragraph = self._table = False
        if _QUOTE in self._containers[matched:]:
            self._pop_to(matched + self._containers[matched:].index(_QUOTE))
        if self._containers:
            self._scan.blocks[-1].end = self._number if matched else self._scan.blocks[-1].end

    def _indented(self, matched: int) -> None:
        if self._paragraph:
            self._extend(self._number)  # a paragraph goes on, however far the line is indented
            return
        self._pop_to(matched)
        code = self._scan.code
        inside = bool(self._containers)
        last = self._scan.blocks[-1] if self._scan.blocks else None
        if not inside and last is not None and last.kind is BlockKind.INDENTED:
            last.end = self._number
            code.append((self._number, self._number))
            return
        self._start_leaf(BlockKind.INDENTED)
        code.append((self._number, self._number))

    def _leaf(self, line: str, position: int, matched: int, in_paragraph: bool) -> bool:
        """Open the leaf that starts here; false when none does."""
        match line[position]:
            case "#":
                return self._atx_heading(line[position:], matched)
            case "`" | "~":
                return self._fence(line[position:], matched)
            case "<" if line.startswith("<!--", position):
                self._comment(line[position:], matched)
                return True
            case "=" | "|" | ":" | "-" if in_paragraph and self._underline(line[position:]):
                return True
            case "-" | "*" | "_" as mark if self._is_rule(line, position, mark):
                self._pop_to(matched)
                self._start_leaf(BlockKind.RULE)
                return True
        return False

    def _is_rule(self, line: str, position: int, mark: str) -> bool:
        # Kept for the line, because a line of nested markers asks again at every level.
        tail = self._tails.get(mark)
        if tail is None:
            tail = self._tails[mark] = len(line.rstrip(f"{mark} \t"))
        return position >= tail and line.count(mark, position) >= 3

    def _atx_heading(self, content: str, matched: int) -> bool:
        found = _HEADING.match(content)
        if found is None:
            return False
        self._pop_to(matched)
        self._start_leaf(BlockKind.HEADING)
        if not self._containers:
            text = _without_closing_marks(content[found.end() :].strip(" \t"))
            self._scan.headings.append(Heading(len(found[1]), text, self._number, self._number))
        return True

    def _underline(self, content: str) -> bool:
        """Whether the line makes the paragraph above it a heading, or a table's header row."""
        return self._setext_heading(content) or self._delimiter_row(content)

    def _setext_heading(self, content: str) -> bool:
        if self._table or _SETEXT.match(content) is None:
            return False
        self._paragraph = False
        self._extend(self._number)
        if not self._containers:
            block = self._scan.blocks[-1]
            block.kind = BlockKind.HEADING
            words = self._scan.lines[block.start - 1 : self._number - 1]
            text = " ".join(word.strip(" \t\r" + BOM) for word in words)
            level = 1 if content[0] == "=" else 2
            self._scan.headings.append(Heading(level, text, block.start, self._number))
        return True

    def _delimiter_row(self, content: str) -> bool:
        """Turn the paragraph's last line into a table's header row."""
        header = self._scan.lines[self._number - 2]
        if self._table or "|" not in header or _DELIMITER_ROW.match(content) is None:
            return False
        self._table = True
        self._scan.leaf_starts.append(self._number)
        blocks = self._scan.blocks
        if not self._containers:
            if blocks[-1].start == self._number - 1:
                blocks[-1].kind = BlockKind.TABLE
            else:
                blocks[-1].end = self._number - 2
                blocks.append(Block(BlockKind.TABLE, self._number - 1, self._number))
        self._extend(self._number)
        return True

    def _fence(self, content: str, matched: int) -> bool:
        found = _FENCE.match(content)
        if found is None:
            return False
        run = found[1] or found[2]
        self._pop_to(matched)
        self._start_leaf(BlockKind.FENCE)
        self._open_leaf(re.compile(rf" {{0,3}}{run[0]}{{{len(run)},}}[ \t]*\Z"))
        return True

    def _comment(self, content: str, matched: int) -> None:
        self._pop_to(matched)
        self._start_leaf(BlockKind.COMMENT)
        self._open_leaf(_COMMENT_END)
        if "-->" in content[2:]:
            self._close_leaf(self._number, closed=True)

    def _open_leaf(self, closer: re.Pattern[str]) -> None:
        self._closer = closer
        self._depth = len(self._containers)
        self._opened = self._number

    def _paragraph_line(self, line: str, matched: int) -> None:
        if self._paragraph:
            # Also a lazy line, which leaves out the marks of the containers it goes on in.
            self._extend(self._number)
            if self._table or "|" in line:
                self._scan.leaf_starts.append(self._number)
            return
        self._pop_to(matched)
        self._start_paragraph()

    def _start_paragraph(self) -> None:
        self._start_leaf(BlockKind.PARAGRAPH)
        self._paragraph = True

    def _start_leaf(self, kind: BlockKind) -> None:
        self._paragraph = self._table = False
        self._scan.leaf_starts.append(self._number)
        if self._containers:
            self._scan.blocks[-1].end = self._number
        else:
            self._scan.blocks.append(Block(kind, self._number, self._number))

    def _extend(self, line: int) -> None:
        if self._scan.blocks:
            self._scan.blocks[-1].end = max(self._scan.blocks[-1].end, line)

    def _push(self, width: int, matched: int, kind: BlockKind) -> None:
        self._pop_to(matched)
        self._paragraph = self._table = False
        if not self._containers:
            self._open_outermost(kind)
        self._containers.append(width)
        self._quotes += width == _QUOTE
        self._scan.blocks[-1].end = self._number

    def _open_outermost(self, kind: BlockKind) -> None:
        blocks = self._scan.blocks
        same_list = kind is BlockKind.LIST and blocks and blocks[-1].kind is BlockKind.LIST
        if not same_list:
            blocks.append(Block(kind, self._number, self._number))
        if kind is BlockKind.LIST:
            blocks[-1].items.append(self._number)

    def _pop_to(self, depth: int) -> None:
        if depth < len(self._containers):
            self._quotes -= self._containers[depth:].count(_QUOTE)
            del self._containers[depth:]
            self._paragraph = self._table = False


def _without_closing_marks(text: str) -> str:
    kept = text.rstrip("#")
    return kept.rstrip(" \t") if not kept or kept[-1] in " \t" else text


def _item_width(line: str, position: int, in_paragraph: bool) -> int | None:
    """Columns from an item's marker to its content; ``None`` when no item starts here."""
    found = _ITEM.match(line, position)
    if found is None:
        return None
    empty = found.end() == len(line)
    if in_paragraph and (empty or found[2] not in (None, "1")):
        return None  # only a bullet or a "1." with content interrupts a paragraph
    spaces = len(found[3])
    return len(found[1]) + (spaces if 1 <= spaces <= 4 and not empty else 1)
