"""The files people and agents read, statement by statement, and what of them goes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.front_matter import FrontMatterBlock
from agentscope_reme.files.pins import PIN_KEY, is_pinned
from agentscope_reme.files.pruning import GONE, pruned
from agentscope_reme.files.statements import Statement, statements_of
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.wikilinks import WIKILINK, parse_wikilinks
from agentscope_reme.schema import FileLink
from agentscope_reme.tools.access import CARD_KEYS, RESOURCE_KEYS
from agentscope_reme.workspace import is_markdown, layer_of

REMEMBERED: Final = "remembered"
"""The ``kind`` of a node of which every statement stands on the person's word."""

_EVIDENCE: Final = ("daily", "session", "resource")
_SOURCES: Final = re.compile(r"(?:sources|来源|出处)\s*[:：]?", re.IGNORECASE)
_TIES: Final = frozenset({*CARD_KEYS, *RESOURCE_KEYS, PIN_KEY, "date", "kind"})
_KEY: Final = re.compile(r"^[\"']?([^\s\"'#:{\[-][^:\"']*)[\"']?[ \t]*:")
_EMPTY_ITEM: Final = re.compile(
    r"^\s*(?:[-*+]|\d{1,9}[.)])\s*(?:\(observed \d{4}-\d{2}-\d{2}\))?\s*$"
)


@dataclass
class Document:
    """One file that holds text. What takes time to work out is worked out when it is asked for.

    Attributes:
        path: the file.
        data: its bytes.
        gone: it goes whole.
        cut: the lines that go.
        dropped: front matter keys that go.
        why: by first line, 0 for all of it, why it goes.
    """

    path: str
    data: bytes
    gone: bool = False
    cut: set[int] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    why: dict[int, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """Its text, as the index reads it."""
        return decode_guessing(self.data)[0]

    @cached_property
    def statements(self) -> list[Statement]:
        """Its statements; the lines of a file that is no Markdown."""
        if is_markdown(self.path):
            document = MarkdownDocument.parse(self.text)
            return statements_of(document.body, first_line=document.body_start_line)
        lines = enumerate(self.text.split("\n"), 1)
        return [Statement(n, n, line, "paragraph") for n, line in lines if line.strip()]

    @property
    def pieces(self) -> list[Statement]:
        """Everything that can be cut out of it by lines: its statements, the comments of its front
        matter, and all lines of one that cannot be read."""
        block = self._block
        loose = [
            Statement(number, number, line, "paragraph")
            for number, line in self._front_lines
            if line.strip() and block and (block.error or line.lstrip().startswith("#"))
        ]
        return [*loose, *self.statements]

    def keys_on(self, lines: Container[int]) -> set[str]:
        """The keys of its front matter that stand on some of these lines, or go on there."""
        key, found = "", set[str]()
        for number, line in self._front_lines:
            match = _KEY.match(line)
            key = match[1].strip() if match else key
            if number in lines and line.strip() and not line.lstrip().startswith("#"):
                found.add(key)
        return found & self.said_in_names().keys()

    @cached_property
    def _block(self) -> FrontMatterBlock | None:
        return MarkdownDocument.parse(self.text).block if is_markdown(self.path) else None

    @property
    def _front_lines(self) -> Iterator[tuple[int, str]]:
        if self._block is not None:
            first = self.text.count("\n", 0, self._block.start) + 1
            yield from enumerate(self.text[self._block.start : self._block.end].split("\n"), first)

    @cached_property
    def links(self) -> list[FileLink]:
        """Its links."""
        return parse_wikilinks(self.text, self.path) if is_markdown(self.path) else []

    @cached_property
    def front(self) -> Mapping[str, object]:
        """Its front matter; empty when it cannot be read."""
        return self._block.values if self._block else {}

    @cached_property
    def pinned(self) -> bool:
        """Whether only the person changes it."""
        return is_markdown(self.path) and is_pinned(self.text)

    @property
    def is_card(self) -> bool:
        """Whether it is a daily note, which was made from one conversation or resource."""
        return layer_of(self.path) == "daily" and self.path.count("/") == 2

    @property
    def is_day_page(self) -> bool:
        """Whether it is a page that lists the cards of a day."""
        return layer_of(self.path) == "daily" and self.path.count("/") == 1

    @property
    def is_remembered(self) -> bool:
        """Whether its statements stand by themselves: one without a source needs none."""
        return self.front.get("kind") == REMEMBERED

    @cached_property
    def evidence(self) -> frozenset[str]:
        """The files it rests on: what its front matter and its Sources name, and what its
        statements cite of the layers below."""
        if self.is_day_page or not self.links:
            return frozenset()
        found = {link.target_path for link in self.links if link.kind == "source"}
        for statement in () if self.is_card else self.statements:
            found |= self.cited_in(statement)
        return frozenset(found - {self.path})

    def cited_in(self, statement: Statement) -> set[str]:
        """The evidence a statement names: under Sources anything, elsewhere the layers below."""
        if "[[" not in statement.text:
            return set()
        targets = {link.target_path for link in parse_wikilinks(statement.text)}
        if is_sources(statement):
            return targets
        return {target for target in targets if layer_of(target) in _EVIDENCE}

    @property
    def spoken(self) -> list[Statement]:
        """What it says by itself: headings and sources left out, cut lines too."""
        return [
            s
            for s in self.statements
            if s.kind != "heading" and not is_sources(s) and not self.is_cut(s)
        ]

    def is_cut(self, statement: Statement) -> bool:
        """Whether any line of a statement goes."""
        return self.gone or not self.cut.isdisjoint(statement.lines)

    def cut_out(self, statement: Statement, why: str) -> bool:
        """Let a statement go; tells whether that is news."""
        if self.is_cut(statement):
            return False
        self.cut.update(statement.lines)
        self.why[statement.start] = why
        return True

    def said_in_names(self) -> dict[str, str]:
        """Its front matter that is words, as text by key; what ties a card to its source is not."""
        return {
            key: str(value)
            for key, value in self.front.items()
            if value is not None and value != "" and not isinstance(value, bool)
            if key.casefold() not in _TIES
        }

    def rewritten(self, gone_paths: set[str]) -> bytes:
        """The file without what goes, and without links to files that go.

        Args:
            gone_paths: files nobody can link to any more.
        """
        text, encoding = decode_guessing(self.data)
        written = _without_lines(text, self.cut)
        if is_markdown(self.path):
            written = _without_keys(written, self.dropped, gone_paths)
            written = _without_links(written, gone_paths)
            if written != text:
                written = _tidied(written, _hollow_headings(text))
        return self.data if written == text else encoding.encode(written)

    @property
    def is_hollow(self) -> bool:
        """Whether nothing is left that it says."""
        return bool(self.cut) and not self.spoken


def is_sources(statement: Statement) -> bool:
    """Whether a statement is an entry of the Sources section."""
    return statement.kind != "heading" and _SOURCES.fullmatch(statement.section) is not None


def _without_keys(text: str, keys: Container[str], gone_paths: set[str]) -> str:
    """What cannot be edited key by key stays, without its links below."""
    document = MarkdownDocument.parse(text)
    for key, value in document.front_matter.items():
        rest = pruned(value, lambda said: not gone_paths.isdisjoint(_targets(said)))
        with suppress(BadDocument):
            if key in keys or rest is GONE:
                document.remove(key)
            elif rest != value:
                document.set(key, rest)
    return document.text


def _targets(text: str) -> set[str]:
    return {match["target"].strip() for match in WIKILINK.finditer(text)} | {text.strip()}


def _without_links(text: str, gone_paths: set[str]) -> str:
    """Links to what goes become what they were called; an item that is left empty goes."""
    if not gone_paths or not any(path in text for path in gone_paths):
        return text
    written = []
    for line in text.split("\n"):
        bare = WIKILINK.sub(lambda m: _unlinked(m, gone_paths), line)
        if bare != line:
            bare = _cleaned(bare)
            if not bare.strip() or _EMPTY_ITEM.match(bare):
                continue
        written.append(bare)
    return "\n".join(written)


def _unlinked(match: re.Match[str], gone_paths: set[str]) -> str:
    if match["target"].strip() not in gone_paths:
        return match[0]
    return match["alias"] or ""


def _cleaned(line: str) -> str:
    """A line without the brackets and commas a link leaves behind."""
    bare = re.sub(r"[(\[（]\s*[,;，；]*\s*[)\]）]", "", line)
    bare = re.sub(r"([(（])\s*[,;，；]\s*", r"\1", bare)
    bare = re.sub(r"[,;，；]\s*([)）])", r"\1", bare)
    return re.sub(r"(?<=\S)[ \t]+(?=[.,;:]|$)", "", re.sub(r"(?<=\S)[ \t]{2,}", " ", bare))


def _without_lines(text: str, cut: set[int]) -> str:
    """The lines that stay; two blank ones do not meet where something stood between them."""
    kept: list[str] = []
    lost = False
    for number, line in enumerate(text.split("\n"), 1):
        if number in cut:
            lost = True
            continue
        if lost and not line.strip() and kept and not kept[-1].strip():
            continue
        lost = False
        kept.append(line)
    return "\n".join(kept)


def _tidied(text: str, hollow_before: set[str]) -> str:
    """Without headings that stand over nothing any more."""
    start = len(text) - len(MarkdownDocument.parse(text).body)
    lines: list[str | None] = list(text[start:].split("\n"))
    for heading in _over_nothing(text[start:]):
        if heading.text not in hollow_before:
            lines[heading.start - 1] = None
    body = "\n".join(line for line in lines if line is not None)
    return text[:start] + (body.rstrip() + "\n" if body.endswith("\n\n") else body)


def _hollow_headings(text: str) -> set[str]:
    return {heading.text for heading in _over_nothing(MarkdownDocument.parse(text).body)}


def _over_nothing(body: str) -> list[Statement]:
    """Headings below the first level with nothing under them."""
    statements = statements_of(body)
    return [
        one
        for one, following in zip(statements, [*statements[1:], None], strict=False)
        if one.kind == "heading"
        and _level(one) > 1
        and (
            following is None or (following.kind == "heading" and _level(following) <= _level(one))
        )
    ]


def _level(heading: Statement) -> int:
    bare = heading.text.lstrip()
    return len(bare) - len(bare.lstrip("#"))
