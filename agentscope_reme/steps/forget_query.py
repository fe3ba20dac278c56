"""Finds, everywhere, the statements and turns that hold the words of a query; exactly those."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentscope_reme.files.traces import holds_phrase, name_as_text, squeezed, words_of
from agentscope_reme.files.wikilinks import WIKILINK
from agentscope_reme.steps.forget_documents import Document
from agentscope_reme.steps.forget_workings import Workings
from agentscope_reme.store.stop_words import QUERY_NOISE
from agentscope_reme.workspace import is_markdown

TOPICS: Final = re.compile(r"daily/[^/]+/interests\.yaml")
"""Files that are pruned as data, not line by line."""

_STRUCTURED: Final = frozenset({".json", ".yaml", ".yml", ".toml", ".xml"})


@dataclass(frozen=True, slots=True)
class Matcher:
    """Tells whether a text holds a query.

    Attributes:
        query: squeezed, or empty for a matcher that matches nothing.
        by_words: all words count, in any order.
    """

    query: str = ""
    by_words: bool = False

    @property
    def phrase(self) -> str:
        """What a text has to hold as it stands; empty when any order will do."""
        return "" if self.by_words else self.query

    @property
    def is_vague(self) -> bool:
        """Whether it may take far more than was meant: nobody should forget by it unseen."""
        return self.by_words or not any(len(word) > 1 for word in self._words())

    def matches(self, text: str) -> bool:
        """Whether the text holds the phrase, at the borders of words, or all of the words."""
        if self.by_words:
            wanted = self._words()
            return bool(wanted) and wanted <= words_of(text)
        return bool(self.query) and holds_phrase(text, self.query)

    def _words(self) -> set[str]:
        return words_of(self.query) - QUERY_NOISE


def seed_query(workings: Workings, query: str) -> Matcher:
    """Mark every statement and turn that holds a query; nothing else is ever marked.

    Args:
        workings: in which to look.
        query: a phrase, found without regard to case and blanks; where it stands nowhere, all of
            its words within one statement or turn.

    Returns:
        What was looked for in the end; the phrase, where nothing was found.
    """
    phrase = Matcher(squeezed(query))
    if _mark(workings, phrase):
        return phrase
    words = Matcher(phrase.query, by_words=True)
    return words if _mark(workings, words) else phrase


def _mark(workings: Workings, matcher: Matcher) -> bool:
    found = any(matcher.matches(name_as_text(path)) for path in workings.documents)
    for talk in workings.talks.loaded:
        lines = {line.number for line in talk.lines if line.text and matcher.matches(line.text)}
        talk.gone |= lines
        found = found or bool(lines)
    for document in workings.documents.values():
        if not document.pinned:
            found = _mark_document(document, matcher) or found
    return found


def _mark_document(document: Document, matcher: Matcher) -> bool:
    path = document.path
    if TOPICS.fullmatch(path):  # pruned as data
        return matcher.matches(document.text)
    if not is_markdown(path) and PurePosixPath(path).suffix.lower() in _STRUCTURED:
        return False  # it would break without one of its lines
    found = False
    for statement in document.pieces:
        listed = document.is_day_page and "[[" in statement.text
        if not listed and matcher.matches(without_targets(statement.text)):
            found = document.cut_out(statement, "it holds the query") or found
    for key, value in document.said_in_names().items():
        if matcher.matches(without_targets(value)):
            document.dropped.add(key)
            found = True
    if document.is_hollow:
        document.gone = True
        document.why[0] = "nothing is left of it"
    return found


def without_targets(text: str) -> str:
    """A text without the paths it links to: they name other files."""
    return WIKILINK.sub(lambda match: match["alias"] or "", text)
