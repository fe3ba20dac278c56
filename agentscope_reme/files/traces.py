"""How forgotten text is recognised wherever a copy of it may lie.

A trace is a word, a line or a path that only the forgotten text had. Ordinary words are none: they
say nothing, and an unrelated file that holds them must not suffer for it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from agentscope_reme.files.text_encoding import decode_guessing, is_binary
from agentscope_reme.schema import content_hash

_WORD: Final = re.compile(r"[^\W_]+")
# Anchored to where a run begins: a long one, such as Base64, is looked at once.
_COMPOUND: Final = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_.@'+][^\W_]++)++")
_BLANKS: Final = re.compile(r"\s+")
_UNSPACED: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_MARKS: Final = re.compile(r"[\s>#*+\-|\d.)\]]*")
_SHINGLE: Final = 2
_SHORTEST_WORD: Final = 6
_SHORTEST_NUMBER: Final = 3
_SHORTEST_LINE: Final = 16
_JOINTS: Final = re.compile(r"[-_./]+")


@cache
def _unspaced() -> re.Pattern[str]:
    """Compiled when something is forgotten: it takes 2 ms."""
    return re.compile(_UNSPACED)


def words_of(text: str) -> set[str]:
    """The words of a text without regard to case, compounds whole and in parts.

    Scripts that put no blanks between words give pairs of neighbouring characters.
    """
    folded = _folded(text)
    found = set(_COMPOUND.findall(folded))
    for run in _WORD.findall(folded):
        if _unspaced().search(run):
            found.update(run[i : i + _SHINGLE] for i in range(max(1, len(run) - _SHINGLE + 1)))
        else:
            found.add(run)
    return found


def squeezed(text: str) -> str:
    """A text without regard to case, to how its blanks are written, and to which of several ways
    Unicode has for a character (NFKC)."""
    return _BLANKS.sub(" ", _folded(text)).strip()


def _folded(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase, from the border of a word to the border of a word.

    Args:
        text: as it was written.
        phrase: squeezed, not empty.
    """
    folded = squeezed(text)
    at = folded.find(phrase)
    while at >= 0:
        if _is_border(folded, at) and _is_border(folded, at + len(phrase)):
            return True
        at = folded.find(phrase, at + 1)
    return False


def name_as_text(path: str) -> str:
    """A path, and the words it is made of: ``a/new-car.md`` speaks of a ``new car``."""
    return f"{path}\n{_JOINTS.sub(' ', path)}"


def _is_border(text: str, at: int) -> bool:
    """Whether no word goes on across a place; scripts without blanks have no borders."""
    if at <= 0 or at >= len(text):
        return True
    return not (_goes_on(text[at - 1]) and _goes_on(text[at]))


def _goes_on(character: str) -> bool:
    if _unspaced().match(character):
        return False
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def telling(words: Iterable[str]) -> set[str]:
    """The words that say something by themselves: names and numbers rather than a ``yes``."""
    return {word for word in words if _is_telling(word)}


def _is_telling(word: str) -> bool:
    if _unspaced().search(word):
        return False  # a pair of characters; lines are compared instead
    digits = any(character.isdigit() for character in word)
    return len(word) >= (_SHORTEST_NUMBER if digits else _SHORTEST_WORD)


def lines_of(text: str) -> set[str]:
    """The lines of a text that are long enough to be recognised, squeezed, without list marks."""
    cut = (squeezed(_MARKS.sub("", line, count=1).rstrip(" \t|")) for line in text.splitlines())
    return {line for line in cut if _is_long(line)}


def _is_long(line: str) -> bool:
    weight = sum(4 if _unspaced().match(character) else 1 for character in line)
    return weight >= _SHORTEST_LINE


class Traces:
    """What only the forgotten text had.

    Args:
        words: telling words, casefolded.
        lines: squeezed lines.
        paths: paths of files that go.
        hashes: content hashes of files that go.
        phrase: what was asked for in these words, squeezed: a trace wherever it stands.
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        lines: Iterable[str] = (),
        paths: Iterable[str] = (),
        hashes: Iterable[str] = (),
        phrase: str = "",
    ) -> None:
        self.words: Final = frozenset(words)
        self.lines: Final = frozenset(lines)
        self.paths: Final = frozenset(paths)
        self.hashes: Final = frozenset(hashes)
        self.phrase: Final = phrase

    def in_name(self, path: str) -> bool:
        """Whether a path speaks of what goes."""
        return bool(self.phrase) and holds_phrase(name_as_text(path), self.phrase)

    def in_text(self, text: str) -> bool:
        """Whether a text holds one of them."""
        if self.phrase and holds_phrase(text, self.phrase):
            return True
        return self.in_path(text)

    def in_path(self, text: str) -> bool:
        """As `in_text`, for paths, which may hold the phrase and stay."""
        if any(path in text for path in self.paths):
            return True
        if self.words and not self.words.isdisjoint(words_of(text)):
            return True
        return bool(self.lines) and self._in_squeezed(squeezed(text))

    def in_data(self, data: bytes) -> bool:
        """Whether a file holds one of them, or is a copy of one that goes."""
        if self.hashes and content_hash(data) in self.hashes:
            return True
        if is_binary(data):
            return False
        return self.in_text(decode_guessing(data)[0]) or self.in_json(data)

    def in_json(self, line: bytes) -> bool:
        """Whether a text inside JSON, where characters may be escaped, holds one of them."""
        if b"\\" not in line:
            return False
        return any(map(self.in_text, _texts_in(line)))

    def _in_squeezed(self, text: str) -> bool:
        return any(line in text for line in self.lines)


def _texts_in(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        if b"\\" not in line:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        yield from _strings(value)


def _strings(value: object) -> Iterator[str]:
    open_values = [value]
    while open_values:
        one = open_values.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            open_values += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            open_values += one
