"""How much of the evidence stands in the first bytes of what a search returned.

Recall at k flatters large chunks: a whole session always holds the answer somewhere. What a
prompt pays for is bytes, so a turn counts when every word of it is within the first N bytes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

BUDGETS: Final = (1536, 3072, 6144)
"""Bytes of returned text, in UTF-8."""
RECALL_AT: Final = 10
_LABEL: Final = re.compile(r"\[[^\]\n]*\] ")
_SPACE: Final = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was returned, and the turns whose words may stand in it, by id."""

    text: str
    turns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """Shares of the evidence, 0..1: in the first `RECALL_AT` passages, and within each budget."""

    recall: float
    within: tuple[float, ...]


def judge(passages: Sequence[Passage], evidence: frozenset[str]) -> Found:
    """Where the evidence of one question stands.

    Args:
        passages: what was returned, best first.
        evidence: the ids of the turns that answer the question; not empty.
    """
    within = tuple(_share(_cut(passages, budget), evidence) for budget in BUDGETS)
    return Found(_share(passages[:RECALL_AT], evidence), within)


def mean(found: Iterable[Found]) -> Found:
    """The average over questions."""
    rows = list(found)
    if not rows:
        return Found(0.0, (0.0,) * len(BUDGETS))
    columns = zip(*(row.within for row in rows), strict=True)
    return Found(
        sum(row.recall for row in rows) / len(rows),
        tuple(sum(column) / len(rows) for column in columns),
    )


def _cut(passages: Iterable[Passage], budget: int) -> list[Passage]:
    kept: list[Passage] = []
    for passage in passages:
        text = passage.text.encode()[:budget].decode("utf-8", "ignore")
        kept.append(Passage(text, passage.turns))
        budget -= len(passage.text.encode())
        if budget <= 0:
            break
    return kept


def _share(passages: Iterable[Passage], evidence: frozenset[str]) -> float:
    covered: defaultdict[str, set[int]] = defaultdict(set)
    said: dict[str, str] = {}
    for passage in passages:
        for turn in evidence & passage.turns.keys():
            said[turn] = passage.turns[turn]
            covered[turn].update(_covered(said[turn], passage.text))
    whole = [turn for turn, text in said.items() if covered[turn] >= _words(text)]
    return len(whole) / len(evidence)


def _covered(turn: str, text: str) -> range:
    """Which characters of a turn stand in a text: all, or those of one part of a long turn."""
    if turn in text:
        return range(len(turn))
    part = _LABEL.sub("", text, count=1)
    start = turn.find(part) if part else -1
    return range(start, start + len(part)) if start >= 0 else range(0)


def _words(turn: str) -> set[int]:
    """The characters that must be there; blanks at a cut need not."""
    return {place for place, character in enumerate(turn) if not _SPACE.match(character)}
