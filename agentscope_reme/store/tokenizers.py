"""Text to search terms, for every script, the same way at index and at query time.

Han runs are cut into dictionary words (``cut_for_search``) plus character bigrams, other scripts
without spaces into bigrams, everything else into case- and accent-folded words: prose is stemmed,
identifiers are kept whole and in parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from agentscope_reme.store.english_stem import english_stem
from agentscope_reme.store.scripts import (
    ASCII_WORD,
    EMOJI,
    HAN_RUN,
    IDENTIFIER_PART,
    UNSPACED_RUN,
    WORD,
    ascii_pieces,
)
from agentscope_reme.store.stop_words import QUERY_NOISE
from agentscope_reme.store.term_keys import Keys, KnownKeys, pair_keys, term_key

_RULES: Final = "memory-2"
"""Raised with every change of what a text's terms are."""
_NEWLINE_KEY: Final = term_key("\n")
IDENTIFIER_WEIGHT: Final = 4.0
"""What an identifier in a query is worth, all of its parts together being worth one word. It has
to outdo a passage that repeats the parts and stands among others that do (see `PassageContext`)."""
_LONGEST_TERM: Final = 64
"""Longer words (hashes, Base64) are cut: nobody types more, and a prefix is enough to match."""

HanCutter = Callable[[str], Iterable[str]]


class Tokenizer(Protocol):
    """What an index needs: the terms of a text, and those of a query."""

    def terms(self, text: str) -> list[str]:
        """Every term of a text, repeated as often as it occurs."""

    def query_terms(self, query: str) -> list[str]:
        """The terms of a query worth looking up, each once, in order."""


class MemoryTokenizer:
    """The tokenizer of the store.

    Args:
        user_dictionary: a jieba dictionary file with the owner's own words (one per line:
            ``word [frequency] [tag]``); Han text is then cut by jieba, which reads such files.
    """

    def __init__(self, user_dictionary: str | Path | None = None) -> None:
        self.user_dictionary: Final = None if user_dictionary is None else Path(user_dictionary)
        self._cut_han: HanCutter | None = None
        self._words = KnownKeys(_word_keys)
        self._han_words = KnownKeys(_one_key)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would give other terms."""
        if self.user_dictionary is None:
            return _RULES
        stat = self.user_dictionary.stat()
        return f"{_RULES}+{stat.st_size}.{stat.st_mtime_ns}"

    def terms(self, text: str) -> list[str]:
        """Every term of a text, repeated as often as it occurs; order has no meaning."""
        text = _composed(text)
        found = list(chain.from_iterable(map(_word_terms, WORD.findall(text))))
        for run in HAN_RUN.findall(text):
            found += self._han_terms(run)
        for run in UNSPACED_RUN.findall(text):
            found += _unspaced_terms(run)
        return found + EMOJI.findall(text)

    def keys(self, text: str) -> Keys:
        """The `term_key` of each of `terms`: the same by a quicker way."""
        if text.isascii():
            return np.array(self._words.of(ascii_pieces(text)), np.int64)
        text = _composed(text)
        found = self._words.of(WORD.findall(text))
        for run in UNSPACED_RUN.findall(text):
            found += map(term_key, _unspaced_terms(run))
        found += map(term_key, EMOJI.findall(text))
        han = "\n".join(HAN_RUN.findall(text))
        if not han:
            return np.array(found, np.int64)
        han = unicodedata.normalize("NFKC", han)
        words = self._han_cutter()(han)
        found += self._han_words.of(words if isinstance(words, list) else list(words))
        keys = np.array(found, np.int64)
        return np.concatenate((keys[keys != _NEWLINE_KEY], pair_keys(han)))

    def query_terms(self, query: str) -> list[str]:
        """The terms of a query, each once; stop and question words only for want of others."""
        return list(self.query_weights(query))

    def query_weights(self, query: str) -> dict[str, float]:
        """`query_terms` with what each is worth: 1, unless it belongs to an identifier."""
        text = _composed(query)
        strong: dict[str, float] = {}
        weak: dict[str, float] = {}
        for word in WORD.findall(text):
            is_noise, terms = _asked_word(word)
            found = weak if is_noise else strong
            for term, weight in terms:
                if weight > found.get(term, 0.0):
                    found[term] = weight
        if text.isascii():
            return strong or weak
        for run in HAN_RUN.findall(text):
            for term in self._han_terms(run):
                (weak if term in QUERY_NOISE else strong)[term] = 1.0
        for term in (
            *chain.from_iterable(map(_unspaced_terms, UNSPACED_RUN.findall(text))),
            *EMOJI.findall(text),
        ):
            strong[term] = 1.0
        return strong or weak

    def _han_terms(self, run: str) -> list[str]:
        run = unicodedata.normalize("NFKC", run)  # compatibility ideographs
        return [*self._han_cutter()(run), *map(str.__add__, run, run[1:])]

    def _han_cutter(self) -> HanCutter:
        if self._cut_han is None:
            self._cut_han = han_cutter(self.user_dictionary)
        return self._cut_han


def han_cutter(user_dictionary: Path | None = None) -> HanCutter:
    """``cut_for_search`` of rjieba; of jieba when rjieba is missing or a dictionary is given.

    Both give the same words. The import happens here, at the first Han text.
    """
    if user_dictionary is None:
        try:
            from rjieba import cut_for_search
        except ImportError:
            pass
        else:
            fast: HanCutter = cut_for_search
            return fast
    import jieba

    segmenter = jieba.Tokenizer()
    if user_dictionary is not None:
        segmenter.load_userdict(str(user_dictionary))
    cutter: HanCutter = segmenter.cut_for_search
    return cutter


def _word_keys(word: str) -> tuple[int, ...]:
    """The keys of a word, or of the words of a piece of ASCII text."""
    if not word.isascii():
        return tuple(map(term_key, _word_terms(word)))
    return tuple(map(term_key, chain.from_iterable(map(_word_terms, ASCII_WORD.findall(word)))))


def _one_key(word: str) -> tuple[int, ...]:
    return (term_key(word),)


@lru_cache(maxsize=4096)
def _word_terms(word: str) -> tuple[str, ...]:
    if word.islower() and word.isascii() and word.isalpha():
        return (_stem(word[:_LONGEST_TERM]),)  # what all the rest comes to for the commonest words
    plain = unicodedata.normalize("NFKC", word).replace("’", "'")
    if plain[-2:] in ("'s", "'S"):
        plain = plain[:-2]
    whole = _folded(plain).replace("'", "").strip("_")[:_LONGEST_TERM]
    if not whole:
        return ()
    if not _is_identifier(plain):
        return (_stem(whole),)
    parts = [_folded(part) for part in IDENTIFIER_PART.findall(plain)]
    if len(parts) == 1 and (whole[-1] not in "+#" or len(parts[0]) == 1):
        return (whole,)  # C++ is not C, but counter++ is counter
    return tuple(dict.fromkeys([whole, *(_stem(part[:_LONGEST_TERM]) for part in parts)]))


@lru_cache(maxsize=4096)
def _asked_word(word: str) -> tuple[bool, list[tuple[str, float]]]:
    """Whether a word of a query asks for nothing by itself, and its terms with their weights."""
    is_noise = _folded(word) in QUERY_NOISE and not _is_symbolic(word)
    return is_noise, _weighted_terms(word)


def _weighted_terms(word: str) -> list[tuple[str, float]]:
    """The terms of a word of a query with their weights.

    An exact identifier outweighs its parts, of which other identifiers have some as well.
    """
    terms = _word_terms(word)
    if len(terms) < 2 or not any(map(_is_identifier, re.split("[-'’]", word))):
        return [(term, 1.0) for term in terms]
    whole, *parts = terms
    return [(whole, IDENTIFIER_WEIGHT), *((part, 1 / len(parts)) for part in parts)]


def _is_identifier(word: str) -> bool:
    """Whether a word has an inner structure: digits, ``_``, ``-``, or camel case."""
    letters = word.replace("'", "")
    if not letters.isalpha():
        return not all(unicodedata.category(c)[0] in "LM" for c in letters)
    if letters.islower() or letters.isupper() or letters[1:].islower():
        return False
    return letters[:-1].isupper() is not True or letters[-1] != "s"  # "APIs" is a plural


def _is_symbolic(word: str) -> bool:
    """A lone capital letter other than "I" and "A" is a name: the languages C and R, vitamin D."""
    return len(word) == 1 and word.isupper() and word not in "IA"


def _folded(word: str) -> str:
    folded = word.casefold()
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFD", folded)
    bare = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _composed(text: str) -> str:
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _unspaced_terms(run: str) -> list[str]:
    run = unicodedata.normalize("NFKC", run)  # half-width kana, conjoining jamo
    return list(map(str.__add__, run, run[1:])) if len(run) > 1 else [run]


def _stem(word: str) -> str:
    """The stem of an English word; anything else is returned as it is."""
    return english_stem(word) if word.isascii() and word.isalpha() else word
