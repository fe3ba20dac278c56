"""The statements of a digest node: when they were observed, and until when they held.

A statement is a list item or a paragraph outside of the Sources section; rows of tables and code
blocks count as statements that carry no date of their own. The date stands in brackets at the
end: ``(observed 2026-06-20)``, and once something replaced it ``(observed 2026-06-20, until
2026-07-02)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.files.markdown_blocks import BlockKind, MarkdownScan
from agentscope_reme.files.markdown_scan import scan_markdown
from agentscope_reme.files.wikilinks import WIKILINK, parse_wikilinks
from agentscope_reme.store.english_stem import english_stem
from agentscope_reme.store.stop_words import FUNCTION_WORDS, HAN_PARTICLES

DAY: Final = re.compile(r"(?<![\d-])(\d{4}-\d{2}-\d{2})(?![\d-])")
PLACEHOLDER: Final = "YYYY-MM-DD"
_NOTE: Final = re.compile(
    r"\s*[(（](?=[^()（）]*\b(?:observed|until)(?:\s+\d{4}-\d{2}-\d{2}|(?:\s+now)?\s*[,;)）]))"
    r"[^()（）]*[)）]",
    re.IGNORECASE,
)
_OBSERVED: Final = re.compile(r"\bobserved\s+(\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_UNTIL: Final = re.compile(r"\buntil\s+(\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_UNDATED: Final = re.compile(r"\b(observed|until)(?:\s+now)?(?=\s*[,;)）])", re.IGNORECASE)
_ITEM: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+")
_SOURCES: Final = re.compile(r"(?:sources|来源|出处)\s*[:：]?", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z0-9_]+|[^\W\d_a-z]", re.IGNORECASE)
_FILLERS: Final = (FUNCTION_WORDS | HAN_PARTICLES) - {"no", "not", "nor"}
_NUMBER: Final = re.compile(r"\d(?:[\d.,:/-]*\d)?")
_UNDATABLE: Final = (BlockKind.TABLE, BlockKind.FENCE, BlockKind.INDENTED)
_SAME_WORDS: Final = 0.5
_ENDED_WORDS: Final = 0.6


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a node.

    Attributes:
        text: as it stands there, without a list marker.
        core: what it says, without dates and marks, for comparing.
        last_line: where it ends, counted from 1.
        datable: whether a date may be put behind it.
    """

    text: str
    core: str
    last_line: int
    datable: bool

    @property
    def observed(self) -> list[str]:
        """The days on which it was observed."""
        return _OBSERVED.findall(self.text)

    @property
    def until(self) -> list[str]:
        """The days until which it held."""
        return _UNTIL.findall(self.text)

    @property
    def is_dated(self) -> bool:
        """Whether it says when it was observed, or means to."""
        return _NOTE.search(self.text) is not None or bool(self.until)

    @property
    def is_struck(self) -> bool:
        """Whether words of it are struck out."""
        return self.text.count("~~") > 1

    @property
    def words(self) -> set[str]:
        """What it says, by the stems of its telling words; Han by character.

        Of links only what is shown counts.
        """
        return _telling(self.core)

    @property
    def all_words(self) -> set[str]:
        """The same with what stands in the brackets of its dates."""
        return _telling(self.text.casefold()) - _telling(" ".join(DAY.findall(self.text)))

    @property
    def numbers(self) -> set[str]:
        """The numbers in it, dates of observation left out."""
        return set(_NUMBER.findall(_NOTE.sub("", self.text)))


def statements_of(text: str) -> list[Statement]:
    """The statements of a node, in order.

    Args:
        text: the whole file.
    """
    scan = scan_markdown(text)
    first, last = _sources_lines(scan)
    found: list[Statement] = []
    for block in scan.blocks:
        if block.kind in (BlockKind.HEADING, BlockKind.COMMENT, BlockKind.RULE):
            continue
        if first <= block.start <= last:
            continue
        if block.kind is BlockKind.FENCE or block.kind is BlockKind.INDENTED:
            runs: Iterator[tuple[int, int]] = iter([(block.start, block.end)])
        elif block.kind is BlockKind.TABLE:
            runs = ((line, line) for line in range(block.start, block.end + 1))
        else:
            runs = _items(scan, block.start, block.end)
        found += _made(scan, runs, datable=block.kind not in _UNDATABLE)
    return found


def remarks_of(text: str) -> list[str]:
    """What else a node says: its headings, its comments, and the words beside its Sources links.

    Args:
        text: the whole file.
    """
    scan = scan_markdown(text)
    first, last = _sources_lines(scan)
    found = [h.text for h in scan.headings if not _SOURCES.fullmatch(h.text.strip())]
    for block in scan.blocks:
        if block.kind is BlockKind.COMMENT or first < block.start <= last:
            found += scan.lines[block.start - 1 : block.end]
    said = (_ITEM.sub("", WIKILINK.sub("", line), count=1).strip() for line in found)
    return [words for words in said if any(map(str.isalnum, core_of(words)))]


def source_links(text: str) -> set[str]:
    """The targets listed under Sources, without anchors."""
    scan = scan_markdown(text)
    first, last = _sources_lines(scan)
    section = "\n".join(scan.lines[first - 1 : last]) if last else ""
    return {link.target_path for link in parse_wikilinks(section)}


def has_sources(text: str) -> bool:
    """Whether there is a section called Sources."""
    return _sources_lines(scan_markdown(text))[1] > 0


def days_in(text: str) -> set[str]:
    """Every ISO date a text mentions, those inside link targets left out."""
    return set(DAY.findall(WIKILINK.sub("", text)))


def is_about(new: Statement, old: Statement, *, share: float = _SAME_WORDS) -> bool:
    """Whether one statement still holds that share of the words of another."""
    words = old.words
    return bool(words) and len(words & new.words) >= share * len(words)


def keeps(new: Statement, old: Statement) -> bool:
    """Whether one statement says all that another says: its numbers and every telling word."""
    return old.core in new.core or (old.numbers <= new.numbers and is_about(new, old, share=1.0))


def ends(new: Statement, old: Statement) -> bool:
    """Whether one statement tells until when another held: its numbers, and most words."""
    return bool(new.until) and (
        old.core in new.core
        or (old.numbers <= new.numbers and is_about(new, old, share=_ENDED_WORDS))
    )


def with_dates(text: str, before: Sequence[Statement], day: str) -> str:
    """The node with a date behind every new statement that has none.

    Args:
        text: the whole file.
        before: the statements that stood there; those without a date stay without one.
        day: when the evidence was noted, ``YYYY-MM-DD``.
    """
    undated = {statement.core for statement in before if not statement.is_dated}
    lines = text.split("\n")
    for statement in statements_of(text):
        if not statement.datable or statement.text.rstrip().endswith((":", "：")):
            continue
        if statement.core in undated and not statement.is_dated:
            continue
        index = statement.last_line - 1
        line = lines[index]
        end = "\r" if line.endswith("\r") else ""
        lines[index] = _dated(line.rstrip(), statement, day) + end
    return "\n".join(lines)


def _dated(line: str, statement: Statement, day: str) -> str:
    note = _NOTE.search(line)
    if note is not None:
        filled = _UNDATED.sub(lambda match: f"{match[1]} {day}", note[0])
        return line[: note.start()] + filled + line[note.end() :]
    if statement.observed or statement.until:
        return line
    return f"{line} (observed {day})"


def _items(scan: MarkdownScan, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Line ranges of the items of a block, nested ones apart; a paragraph is one."""
    first = start
    for line in range(start + 1, end + 1):
        if _ITEM.match(scan.lines[line - 1]):
            yield first, line - 1
            first = line
    yield first, end


def _made(
    scan: MarkdownScan, runs: Iterator[tuple[int, int]], *, datable: bool
) -> Iterator[Statement]:
    code = scan.code
    for start, end in runs:
        lines = list(scan.lines[start - 1 : end])
        while lines and not lines[-1].strip():
            lines.pop()
        last = start + len(lines) - 1
        text = _ITEM.sub("", " ".join(lines), count=1) if lines else ""
        core = core_of(text)
        if core:
            inside = any(first <= last <= final for first, final in code)
            yield Statement(text, core, last, datable and not inside)


def core_of(text: str) -> str:
    """What a statement says: no dates of observation, no marks, one blank, no case."""
    bare = _NOTE.sub("", text).replace("~~", "").replace("\r", " ")
    return " ".join(bare.split()).casefold().rstrip(".。;；,， ")


def _sources_lines(scan: MarkdownScan) -> tuple[int, int]:
    """The lines of the Sources section, both 0 when there is none; the last one wins."""
    found = (0, 0)
    for index, heading in enumerate(scan.headings):
        if _SOURCES.fullmatch(heading.text.strip()):
            found = heading.line, _section_end(scan, index)
    return found


def _section_end(scan: MarkdownScan, index: int) -> int:
    level = scan.headings[index].level
    for later in scan.headings[index + 1 :]:
        if later.level <= level:
            return later.line - 1
    return len(scan.lines)


def unmatched(some: Sequence[Statement], others: Sequence[Statement]) -> list[Statement]:
    """Statements without a counterpart among others that says the same.

    Equal ones pair off first, so that of a value that came back only the new one is left.
    """
    texts = [statement.text for statement in others]
    left = [statement for statement in some if not _taken(statement.text, texts)]
    rest = [statement for statement in others if _taken(statement.text, texts)]
    cores = [statement.core for statement in rest]
    return [statement for statement in left if not _taken(statement.core, cores)]


def _taken(item: str, items: list[str]) -> bool:
    if item not in items:
        return False
    items.remove(item)
    return True


def _telling(text: str) -> set[str]:
    shown = WIKILINK.sub(lambda link: link["alias"] or "", text)
    words = (word for word in _WORD.findall(shown) if word not in _FILLERS)
    return {english_stem(word) if word.isascii() and word.isalpha() else word for word in words}
