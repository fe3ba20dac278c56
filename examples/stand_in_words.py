"""Words and sentences of English and Chinese, as far as a rule-based stand-in needs them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import rjieba

_TOKEN: Final = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:[.,:]\d+)*")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
_QUESTION: Final = re.compile(
    r"(?i)^(?:who|what|when|where|why|which|whose|how|do|does|did|is|are|was|were|can|could)\b"
    r"|什么|多少|为什么|怎么|哪|几|谁|吗[？?]?$"
)
_ENGLISH_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST_STEM: Final = 3
_STOP_WORDS_TEXT: Final = """
    a about after all also am an and any are as at be been before but by can could did do does
    each else every for from get got had has have he her here him his how i if in into is it its
    just know like make many me more most much my new no not now of off ok on one only or our
    out over please put say she should so some such take tell than that the their them then there
    these they thing this those to today tonight too up us use very want was we well were what
    when where which who whom whose why will with would yes you your
    的 了 在 是 我 你 您 他 她 它 们 我们 你们 他们 和 与 也 都 就 还 很 吗 呢 吧 啊 什么 多少
    为什么 怎么 怎样 哪 哪个 哪里 哪天 几 谁 请 一下 这 那 这个 那个 个 每 把 被 给 对 有 没有 不 好
    今天
"""
_STOP_WORDS: Final = frozenset(_STOP_WORDS_TEXT.split())


def is_chinese(text: str) -> bool:
    """Whether Han characters are a fair part of the letters."""
    letters = [character for character in text if character.isalpha()]
    return len(_HAN.findall(text)) * 3 > len(letters)


def content_words(text: str) -> list[str]:
    """Lower-case words that carry meaning, in order, with repeats; Han runs cut into words."""
    words: list[str] = []
    for run in _TOKEN.findall(text):
        if _HAN.match(run):
            words += [word for word in rjieba.cut(run) if word not in _STOP_WORDS]
        elif run.lower() not in _STOP_WORDS:
            words.append(run.lower())
    return words


def stems(text: str) -> set[str]:
    """The content words without common English endings, for comparing two texts."""
    return {_stem(word) for word in content_words(text)}


def frequent_words(texts: Iterable[str], count: int) -> list[str]:
    """The words said most often, longer than one character, first mention first among equals."""
    tally = Counter(
        word
        for text in texts
        for word in content_words(text)
        if len(word) > 1 and not word[0].isdigit()
    )
    return [word for word, _ in tally.most_common(count)]


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its final mark."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def joined(parts: Iterable[str]) -> str:
    """Sentences as one line; no blank after a full-width mark."""
    text = ""
    for part in parts:
        blank = " " if text and text[-1] not in "。！？" else ""
        text += blank + part
    return text


def is_question(text: str) -> bool:
    """Whether somebody asks something: a question mark at the end, or a question word."""
    last = (sentences(text) or [""])[-1]
    return last.endswith(("?", "？")) or bool(_QUESTION.search(last))


def _stem(word: str) -> str:
    for ending in _ENGLISH_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word
