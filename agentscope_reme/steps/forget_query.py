"""Finds, everywhere, the statements and turns that hold the words of a query; exactly those."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from agentscope_reme.files.traces import squeezed, words_of
from agentscope_reme.files.wikilinks import WIKILINK
from agentscope_reme.results import ForgottenPart
from agentscope_reme.steps.forget_documents import Document
from agentscope_reme.steps.forget_workings import IS_PINNED, Workings
from agentscope_reme.store.stop_words import QUERY_NOISE
from agentscope_reme.workspace import is_markdown

Mode = Literal["phrase", "words", "nothing"]
"""How a query was found: as it stands, or as its words in any order within one statement."""

TOPICS: Final = re.compile(r"daily/[^/]+/interests\.yaml")
"""Files that are pruned as data, not line by line."""

_STRUCTURED: Final = frozenset({".json", ".yaml", ".yml", ".toml", ".xml"})
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Matcher:
    """Tells whether a text holds a query.

    Attributes:
        query: squeezed, or empty for a matcher that matches nothing.
        by_words: all words count, in any order.
    """

    query: str = ""
    by_words: bool = False

    def matches(self, text: str) -> bool:
        """Whether the text holds the phrase, at the borders of words, or all of the words."""
        if not self.query:
            return False
        if self.by_words:
            wanted = words_of(self.query) - QUERY_NOISE
            return bool(wanted) and wanted <= words_of(text)
        folded = squeezed(text)
        at = folded.find(self.query)
        while at >= 0:
            if _is_border(folded, at) and _is_border(folded, at + len(self.query)):
                return True
            at = folded.find(self.query, at + 1)
        return False


def seed_query(workings: Workings, query: str) -> tuple[Mode, Matcher]:
    """Mark every statement and turn that holds a query; nothing else is ever marked.

    Args:
        workings: in which to look; pinned files are told in ``kept``.
        query: a phrase, found without regard to case and blanks; where it stands nowhere, all of
            its words within one statement or turn.
    """
    phrase = Matcher(squeezed(query))
    if _mark(workings, phrase):
        return "phrase", phrase
    words = Matcher(squeezed(query), by_words=True)
    if _mark(workings, words):
        return "words", words
    return "nothing", Matcher()


def _mark(workings: Workings, matcher: Matcher) -> bool:
    found = False
    for talk in workings.talks.loaded:
        lines = {line.number for line in talk.lines if line.text and matcher.matches(line.text)}
        talk.gone |= lines
        found = found or bool(lines)
    for document in workings.documents.values():
        if document.pinned:
            workings.kept += _pinned_matches(document, matcher)
            continue
        found = _mark_document(workings, document, matcher) or found
    return found


def _mark_document(workings: Workings, document: Document, matcher: Matcher) -> bool:
    path = document.path
    if TOPICS.fullmatch(path):
        return False
    if not is_markdown(path) and PurePosixPath(path).suffix.lower() in _STRUCTURED:
        if matcher.matches(document.text):
            reason = "taking lines out would break this file: forget it by its path"
            workings.kept.append(ForgottenPart(layer="file", path=path, reason=reason))
        return False
    found = False
    for statement in document.statements:
        listed = document.is_day_page and "[[" in statement.text
        if not listed and matcher.matches(without_targets(statement.text)):
            found = document.cut_out(statement, "it holds the query") or found
    for key, value in document.said_in_names().items():
        if matcher.matches(value) and "[[" not in value:
            document.dropped.add(key)
            found = True
    if document.is_hollow:
        document.gone = True
        document.why[0] = "nothing is left of it"
    return found


def without_targets(text: str) -> str:
    """A text without the paths it links to: they name other files."""
    return WIKILINK.sub(lambda match: match["alias"] or "", text)


def _pinned_matches(document: Document, matcher: Matcher) -> Iterator[ForgottenPart]:
    for statement in document.statements:
        if matcher.matches(statement.text):
            yield ForgottenPart(
                layer="statement",
                path=document.path,
                start_line=statement.start,
                end_line=statement.end,
                text=statement.text.strip()[:_SHOWN],
                reason=IS_PINNED,
            )


def _is_border(text: str, at: int) -> bool:
    """Whether no word goes on across a place; scripts without blanks have no borders."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    return not (_goes_on(before) and _goes_on(after))


def _goes_on(character: str) -> bool:
    return character.isalnum() and not "\u2e80" <= character <= "\uffef"
