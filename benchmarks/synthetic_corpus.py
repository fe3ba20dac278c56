"""A deterministic corpus: English-like and Chinese texts whose words follow natural frequencies."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterator
from importlib.resources import files

_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su"),
    *("ta", "ve", "wi", "xo", "yu", "za", "bri", "cla", "dre", "flo", "gra"),
)
_ENDINGS = ("", "", "", "s", "ing", "ed", "er", "ly", "tion")
_ENGLISH_WORDS = 30_000
_CHINESE_WORDS = 30_000
SHORTEST, LONGEST = 80, 200


class Corpus:
    """Texts of 80 to 200 words: half English, 40 % Chinese, 10 % mixed.

    Args:
        seed: the same seed gives the same texts and queries.
    """

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._english = self._pseudo_words()
        self._english_weights = list(
            itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self._english)))
        )
        self._chinese, frequencies = _jieba_words()
        self._chinese_weights = list(itertools.accumulate(frequencies))

    def text(self) -> str:
        """The next text."""
        kind = self._random.random()
        length = self._random.randint(SHORTEST, LONGEST)
        if kind < 0.5:
            return self._sentences(self._english_sample(length), " ", ". ")
        if kind < 0.9:
            return self._sentences(self._chinese_sample(length), "", "，")
        half = length // 2
        return f"{self._english_text(half)}\n{self._chinese_text(length - half)}"

    def texts(self, count: int) -> Iterator[str]:
        """The next `count` texts."""
        return (self.text() for _ in range(count))

    def query(self) -> str:
        """Two to six words, as people type them: some common, some rare."""
        words = self._random.randint(2, 6)
        if self._random.random() < 0.55:
            return " ".join(self._english_sample(words))
        return "".join(self._chinese_sample(max(2, words // 2)))

    def _english_text(self, length: int) -> str:
        return self._sentences(self._english_sample(length), " ", ". ")

    def _chinese_text(self, length: int) -> str:
        return self._sentences(self._chinese_sample(length), "", "，")

    def _english_sample(self, count: int) -> list[str]:
        return self._random.choices(self._english, cum_weights=self._english_weights, k=count)

    def _chinese_sample(self, count: int) -> list[str]:
        return self._random.choices(self._chinese, cum_weights=self._chinese_weights, k=count)

    def _sentences(self, words: list[str], between: str, stop: str) -> str:
        groups = itertools.batched(words, 12) if hasattr(itertools, "batched") else _batched(words)
        return stop.join(between.join(group) for group in groups) + stop.strip()

    def _pseudo_words(self) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < _ENGLISH_WORDS:
            size = min(1 + len(words) // 600 + self._random.randint(0, 1), 4)
            stem = "".join(self._random.choices(_SYLLABLES, k=size))
            words[stem + self._random.choice(_ENDINGS)] = None
        return list(words)


def _batched(words: list[str]) -> Iterator[list[str]]:
    return (words[i : i + 12] for i in range(0, len(words), 12))


def _jieba_words() -> tuple[list[str], list[int]]:
    """The commonest words of jieba's dictionary and how often each was counted."""
    with (files("jieba") / "dict.txt").open(encoding="utf-8") as lines:
        split = (line.split() for line in lines)
        counted = heapq.nsmallest(_CHINESE_WORDS, ((-int(row[1]), row[0]) for row in split))
    return [word for _, word in counted], [-frequency for frequency, _ in counted]
