"""What a keyword query looks for, and what each of its words is worth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from agentscope_reme.chunking.turn_labels import MONTHS
from agentscope_reme.store.scripts import HAN_RUN, UNSPACED_RUN
from agentscope_reme.store.term_keys import term_key
from agentscope_reme.store.tokenizers import MemoryTokenizer, Tokenizer

_YEAR: Final = re.compile(r"\d{4}")
"""Every pattern below has one; most texts have none."""
_NUMBERED: Final = re.compile(r"(?<!\d)(\d{4})(?:[-/.]|年)(\d{1,2})(?:[-/.]|月)(\d{1,2})(?!\d)")
_MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)
_DAY_FIRST: Final = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\.?,? (\d{{4}})(?!\d)", re.IGNORECASE
)
_MONTH_FIRST: Final = re.compile(
    rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})(?!\d)", re.IGNORECASE
)
_AS_WRITTEN: Final = 0.1
"""What the numbers of a date are worth where other texts would write it otherwise."""


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """Distinct term keys with their weights, and characters to be found inside words.

    A single character of a script without spaces is no term of the texts it stands in, as those
    are cut into words and pairs of characters.
    """

    keys: tuple[int, ...]
    weights: tuple[float, ...]
    characters: tuple[str, ...] = ()

    @classmethod
    def of(cls, tokenizer: Tokenizer, query: str) -> KeywordQuery:
        """The query as a tokenizer understands it; only `MemoryTokenizer` weighs its terms."""
        if not isinstance(tokenizer, MemoryTokenizer):
            keys = tuple(dict.fromkeys(map(term_key, tokenizer.query_terms(query))))
            return cls(keys, (1.0,) * len(keys))
        weights = tokenizer.query_weights(query)
        for written, day in dates_in(query):
            for term in tokenizer.query_terms(written):
                weights[term] = _AS_WRITTEN  # the 3 of 2023/3/13 is no day
            weights.update(dict.fromkeys(tokenizer.query_terms(_spelled(day)), 1.0))
        if query.isascii():
            return cls(tuple(map(term_key, weights)), tuple(weights.values()))
        lone = [c for c in dict.fromkeys(_lone_characters(query)) if c in weights]
        for character in lone:
            del weights[character]
        return cls(tuple(map(term_key, weights)), tuple(weights.values()), tuple(lone))


def dates_in(text: str) -> list[tuple[str, date]]:
    """The days named in a text in digits or in English, such as ``13 March 2023``, as written."""
    if not _YEAR.search(text):
        return []
    months = {name[:3].casefold(): number for number, name in enumerate(MONTHS, 1)}
    found = [(m[0], (int(m[1]), int(m[2]), int(m[3]))) for m in _NUMBERED.finditer(text)]
    for pattern, day, month in ((_DAY_FIRST, 1, 2), (_MONTH_FIRST, 2, 1)):
        found += [
            (m[0], (int(m[3]), months[m[month][:3].casefold()], int(m[day])))
            for m in pattern.finditer(text)
        ]
    days = ((written, _date_or_none(*parts)) for written, parts in found)
    return [(written, day) for written, day in days if day is not None]


def _spelled(day: date) -> str:
    """A day in both spellings that texts have: in digits, and as turns are labelled."""
    return f"{day.isoformat()} {day.day} {MONTHS[day.month - 1]} {day.year}"


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _lone_characters(query: str) -> Iterator[str]:
    for run in (*HAN_RUN.findall(query), *UNSPACED_RUN.findall(query)):
        if len(run) == 1:
            yield run
