"""Which characters are written without spaces, as regular expression classes."""

from __future__ import annotations

import re
from typing import Final

HAN: Final = (
    r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # 々 〇, A to J
)
UNSPACED: Final = (
    r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana, but not ・
    r"\uac00-\ud7af\u1100-\u11ff\u3130-\u318f"  # hangul: spaced, but particles stick to words
    r"\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"  # Thai Lao Burmese Khmer
)
_MARKS: Final = r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
# \w leaves combining marks out. Possessive, because no shorter run is ever wanted.
_LETTERS: Final = rf"(?:[^\W{HAN}{UNSPACED}]++|[{_MARKS}])++"

HAN_RUN: Final = re.compile(f"[{HAN}]+")
UNSPACED_RUN: Final = re.compile(f"[{UNSPACED}]+")
_SIGN: Final = r"(?:\+\+(?![\w+])|(?<!\w\w)#(?!\w))?"  # C++ and C#
WORD: Final = re.compile(rf"{_LETTERS}(?:['’-]{_LETTERS}|\.\d+)*{_SIGN}")
"""A word or an identifier: letters, digits and ``_``, joined by single hyphens or apostrophes, or
by a dot before a digit (``v1.2``); ``++`` belongs to a word, ``#`` to a single letter."""
ASCII_WORD: Final = re.compile(rf"[A-Za-z0-9_]+(?:['-][A-Za-z0-9_]+|\.[0-9]+)*{_SIGN}")
"""`WORD` for ASCII text, several times faster."""
_PART_OF_A_WORD: Final = re.compile(r"[A-Za-z0-9_'.+#-]")
_BETWEEN_WORDS: Final = "".join(
    letter if _PART_OF_A_WORD.match(letter) else " " for letter in map(chr, range(128))
)


def ascii_pieces(text: str) -> list[str]:
    """An ASCII text in pieces whose words, taken together, are the words of the text.

    Nearly all of them are one word each, and none has to be looked for letter by letter: whatever
    `ASCII_WORD` looks at on either side of a word is in the same piece.
    """
    return text.replace(". ", " ").translate(_BETWEEN_WORDS).split()


EMOJI: Final = re.compile(
    "[\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934-\u2935\u2b05-\u2b55"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
)
"""One emoji; skin tones and joiners, which only vary another one, are left out."""
IDENTIFIER_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
"""The pieces of an identifier: ``getUserName`` → get, User, Name; ``x86_64`` → x, 86, 64."""
