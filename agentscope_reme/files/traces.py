"""How forgotten text is recognised wherever a copy of it may lie.

A trace is a word, a line or a path that only the forgotten text had. Ordinary words are none: they
say nothing, and an unrelated file that holds them must not suffer for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from agentscope_reme.schema import content_hash

_WORD: Final = re.compile(r"[^\W_]+")
_COMPOUND: Final = re.compile(r"[^\W_]+(?:[-_.@'+][^\W_]+)+")
_BLANKS: Final = re.compile(r"\s+")
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")
_MARKS: Final = re.compile(r"^[\s>#*+\-|\d.)\]]+|[\s|]+$")
_SHINGLE: Final = 2
_TELLING_SHINGLES: Final = 4
_SHORTEST_WORD: Final = 6
_SHORTEST_NUMBER: Final = 3
_SHORTEST_LINE: Final = 16
_BINARY_PROBE: Final = 8192


def words_of(text: str) -> set[str]:
    """The words of a text without regard to case, compounds whole and in parts.

    Scripts that put no blanks between words give pairs of neighbouring characters.
    """
    folded = text.casefold()
    found = set(_COMPOUND.findall(folded))
    for run in _WORD.findall(folded):
        if _UNSPACED.search(run):
            found.update(run[i : i + _SHINGLE] for i in range(max(1, len(run) - _SHINGLE + 1)))
        else:
            found.add(run)
    return found


def squeezed(text: str) -> str:
    """A text without regard to case and to how its blanks are written."""
    return _BLANKS.sub(" ", text.casefold()).strip()


def telling(words: Iterable[str]) -> set[str]:
    """The words that say something by themselves: names and numbers rather than a ``yes``."""
    return {word for word in words if _is_telling(word)}


def _is_telling(word: str) -> bool:
    if _UNSPACED.search(word):
        return False  # a pair of characters; lines are compared instead
    digits = any(character.isdigit() for character in word)
    return len(word) >= (_SHORTEST_NUMBER if digits else _SHORTEST_WORD)


def lines_of(text: str) -> set[str]:
    """The lines of a text that are long enough to be recognised, squeezed, without list marks."""
    cut = (squeezed(_MARKS.sub("", line)) for line in text.splitlines())
    return {line for line in cut if _is_long(line)}


def _is_long(line: str) -> bool:
    weight = sum(4 if _UNSPACED.match(character) else 1 for character in line)
    return weight >= _SHORTEST_LINE


class Traces:
    """What only the forgotten text had.

    Args:
        words: telling words, casefolded.
        lines: squeezed lines.
        paths: paths of files that go.
        hashes: content hashes of files that go.
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        lines: Iterable[str] = (),
        paths: Iterable[str] = (),
        hashes: Iterable[str] = (),
    ) -> None:
        self.words: Final = frozenset(words)
        self.lines: Final = frozenset(lines)
        self.paths: Final = frozenset(paths)
        self.hashes: Final = frozenset(hashes)

    def in_text(self, text: str) -> bool:
        """Whether a text holds one of them."""
        if any(path in text for path in self.paths):
            return True
        if self.words and not self.words.isdisjoint(words_of(text)):
            return True
        return bool(self.lines) and self._in_squeezed(squeezed(text))

    def in_data(self, data: bytes) -> bool:
        """Whether a file holds one of them, or is a copy of one that goes."""
        if self.hashes and content_hash(data) in self.hashes:
            return True
        if b"\0" in data[:_BINARY_PROBE]:
            return False
        return self.in_text(data.decode("utf-8", "replace")) or self.in_json(data)

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
