"""The stem of an English word, by Porter's second algorithm.

Definition: https://snowballstem.org/algorithms/english/stemmer.html (Snowball 3). It stands here
because stems are stored: a library whose rules change with its version, or that takes a C
library where there is one, gives an index whose words are no longer found. It is also four times
faster than generated Python code.
"""

from __future__ import annotations

import re
from typing import Final

_EXCEPTIONS: Final = {
    **{word: word for word in ("andes", "atlas", "bias", "cosmos", "howe", "news", "sky")},
    "skis": "ski",
    "skies": "sky",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
}
_VOWELS: Final = frozenset("aeiouy")  # a "y" that sounds like a consonant is written "Y" meanwhile
_VOWEL_Y: Final = re.compile("([aeiouy])y")
_HAS_VOWEL: Final = re.compile("[aeiouy]")
_REGION: Final = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")
_REGION_PREFIX: Final = re.compile("arsen|commun|emerg|gener|inter|later|organ|past|univers")
_SHORT_SYLLABLE: Final = re.compile(
    r"(?:.*[^aeiouy][aeiouy][^aeiouywxY]|[aeiouy][^aeiouy]|.*past)\Z"
)

_KEEP_EED: Final = frozenset({"succ", "proc", "exc"})
_KEEP_ING: Final = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_DOUBLES: Final = frozenset({"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"})
_BEFORE_LI: Final = frozenset("cdeghkmnrt")

_LAST_LETTERS: Final = frozenset("degsly")
"""Steps 1 and 5 look at words that end with one of these."""
_Suffixes = dict[str, str]
_ByTail = dict[str, tuple[str, ...]]
_STEP_2: Final[_Suffixes] = {
    **dict.fromkeys(("ization", "izer"), "ize"),
    **dict.fromkeys(("ational", "ation", "ator"), "ate"),
    **dict.fromkeys(("alism", "aliti", "alli"), "al"),
    **dict.fromkeys(("fulness", "fulli"), "ful"),
    **dict.fromkeys(("ousness", "ousli"), "ous"),
    **dict.fromkeys(("iveness", "iviti"), "ive"),
    **dict.fromkeys(("biliti", "bli"), "ble"),
    **dict.fromkeys(("ogist", "ogi"), "og"),
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "lessli": "less",
    "li": "",
}
_STEP_3: Final[_Suffixes] = {
    **dict.fromkeys(("icate", "iciti", "ical"), "ic"),
    **dict.fromkeys(("ful", "ness", "ative"), ""),
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
}
_STEP_4: Final[_Suffixes] = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism"),
        *("ate", "iti", "ous", "ive", "ize", "ion"),
    ),
    "",
)


def _by_tail(suffixes: _Suffixes) -> _ByTail:
    """The suffixes by their last two letters, which hardly a word has; the longest first."""
    tails: dict[str, list[str]] = {}
    for suffix in sorted(suffixes, key=len, reverse=True):
        tails.setdefault(suffix[-2:], []).append(suffix)
    return {tail: tuple(found) for tail, found in tails.items()}


_TAILS_2: Final = _by_tail(_STEP_2)
_TAILS_3: Final = _by_tail(_STEP_3)
_TAILS_4: Final = _by_tail(_STEP_4)
_TAILS: Final = frozenset({*_TAILS_2, *_TAILS_3, *_TAILS_4})


def english_stem(word: str) -> str:
    """The stem of a word of lower-case letters a to z; shorter ones than three stay."""
    if len(word) < 3 or (word[-1] not in _LAST_LETTERS and word[-2:] not in _TAILS):
        return word
    known = _EXCEPTIONS.get(word)
    if known is not None:
        return known
    if "y" in word:
        word = "Y" + word[1:] if word[0] == "y" else word
        word = _VOWEL_Y.sub(r"\1Y", word)
    r1, r2 = _regions(word)
    word = _without_ending(_without_plural(word), r1)
    if word[-1] in "yY" and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _step_2(word, r1)
    word = _step_3(word, r1, r2)
    word = _step_4(word, r2)
    word = _without_last_letter(word, r1, r2)
    return word.replace("Y", "y")


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 start: each after the first consonant that follows a vowel."""
    first = _REGION_PREFIX.match(word) or _REGION.match(word)
    if first is None:
        return len(word), len(word)
    second = _REGION.match(word, first.end())
    return first.end(), len(word) if second is None else second.end()


def _without_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ies", "ied")):
        return word[: -2 if len(word) > 4 else -1]
    if word[-1] == "s" and word[-2] not in "us" and _HAS_VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _without_ending(word: str, r1: int) -> str:
    """Step 1b: -eed, -ed, -ing and their adverbs."""
    stem = word.removesuffix("ly")
    if stem.endswith("eed"):
        stem = stem[:-3]
        return stem + "ee" if r1 <= len(stem) and stem not in _KEEP_EED else word
    if stem.endswith("ing"):
        stem = stem[:-3]
        if word[-1] == "g":
            if len(stem) == 2 and stem[1] == "y" and stem[0] not in _VOWELS:
                return stem[0] + "ie"
            if stem in _KEEP_ING:
                return word
    elif stem.endswith("ed"):
        stem = stem[:-2]
    else:
        return word
    if not _HAS_VOWEL.search(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:] in _DOUBLES:
        return stem if len(stem) == 3 and stem[0] in "aeo" else stem[:-1]
    return stem + "e" if len(stem) == r1 and _SHORT_SYLLABLE.match(stem) else stem


def _step_2(word: str, r1: int) -> str:
    suffix = _longest(word, _TAILS_2)
    start = len(word) - len(suffix)
    if not suffix or r1 > start:
        return word
    if suffix == "li" and word[start - 1] not in _BEFORE_LI:
        return word
    if suffix == "ogi" and word[start - 1] != "l":
        return word
    return word[:start] + _STEP_2[suffix]


def _step_3(word: str, r1: int, r2: int) -> str:
    suffix = _longest(word, _TAILS_3)
    start = len(word) - len(suffix)
    if not suffix or (r2 if suffix == "ative" else r1) > start:
        return word
    return word[:start] + _STEP_3[suffix]


def _step_4(word: str, r2: int) -> str:
    suffix = _longest(word, _TAILS_4)
    start = len(word) - len(suffix)
    if not suffix or r2 > start or (suffix == "ion" and word[start - 1] not in "st"):
        return word
    return word[:start]


def _without_last_letter(word: str, r1: int, r2: int) -> str:
    """Step 5."""
    start = len(word) - 1
    if word[-1] == "e":
        if r2 <= start or (r1 <= start and not _SHORT_SYLLABLE.match(word[:-1])):
            return word[:-1]
    elif word[-1] == "l" and r2 <= start and word[-2] == "l":
        return word[:-1]
    return word


def _longest(word: str, tails: _ByTail) -> str:
    """The longest of the suffixes the word ends with; empty for none."""
    for suffix in tails.get(word[-2:], ()):
        if word.endswith(suffix):
            return suffix
    return ""
