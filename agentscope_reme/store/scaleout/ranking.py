"""Keyword search on a shared engine: the engine finds, the client ranks.

What an engine calls BM25 differs from one to the next, knows no worth of words, and counts the
documents of all workspaces together. So it is asked for candidates alone; they are scored here as
in a local index, with the numbers of the one workspace.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agentscope_reme.store.index_state import CONTEXT, K1, B
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.scaleout.engine import OPEN, ChunkRow, Engine, FoundChunk, Head
from agentscope_reme.store.scaleout.opaque_terms import GROUPS, OpaqueTerms
from agentscope_reme.store.scaleout.restricting import Plan
from agentscope_reme.store.scaleout.rows import is_raw

_LEAST_POOL: Final = 100
_PER_HIT: Final = 2
_WIDER: Final = 8
_OPEN_POOL: Final = 400
"""So many of the best of a whole workspace are sent sooner than a folder is searched for a common
word: an engine with other conditions to meet looks at every posting, else it stops at the best."""
_PER_POSTING: Final = 4
"""What a chunk of the open pool costs, in postings looked at: it is sent, and weighed here."""
_POSTINGS: Final = 300
"""Rare terms are looked up first, until so many chunks may answer: a word that half of all chunks
have costs a hundred times more than it says. Common ones still count in the scores."""
_SAMPLE: Final = 500
"""Chunks whose terms tell which are common; a workspace with fewer is counted exactly."""
_STALE_SECONDS: Final = 30.0
_STALE_SHARE: Final = 0.1
"""Numbers of chunks only weigh terms; nothing is missed because they are a little old."""

Ranked = list[tuple[float, FoundChunk]]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query: what it is worth, and its word in each of `GROUPS`, or a character."""

    worth: float
    words: tuple[str, ...] = ()
    character: str = ""

    def occurrences(self, chunk: ChunkRow, group: int) -> int:
        """How often it stands in a chunk of a file of this group."""
        if self.character:
            return chunk.text.decode("utf-8", "surrogatepass").count(self.character)
        # words have one length and stand between blanks, so that a part of one is no word
        return chunk.terms.count(self.words[group])


def query_terms(query: KeywordQuery, terms: OpaqueTerms) -> list[QueryTerm]:
    """A query in words of one workspace."""
    by_group = [terms.words(query.keys, raw=raw) for raw in GROUPS]
    return [
        *(
            QueryTerm(*term)
            for term in zip(query.weights, zip(*by_group, strict=True), strict=True)
        ),
        *(QueryTerm(1.0, character=character) for character in query.characters),
    ]


class WordStatistics:
    """How many chunks one workspace has, how long they are, and in how many a term stands.

    Args:
        engine: asked when that is not known, or may have changed much.
        workspace: whose.
    """

    def __init__(self, engine: Engine, workspace: str) -> None:
        self._engine: Final = engine
        self._workspace: Final = workspace
        self._looked = -math.inf
        self._head = Head()
        self._sample = _Sample()

    def changed(self) -> None:
        """Look again before the next query: this process wrote something."""
        self._looked = -math.inf

    def look(self) -> Head:
        """Numbers of the whole workspace, half a minute old at most."""
        now = time.monotonic()
        if now - self._looked > _STALE_SECONDS:  # two threads may both look: nothing is locked
            head = self._engine.head(self._workspace)
            if self._sample.is_outdated(head.answers):
                found = self._engine.sample(self._workspace, _SAMPLE)
                common = Counter(word for terms in found for word in set(terms.split()))
                self._sample = _Sample(common, len(found), head.answers)
            self._head, self._looked = head, now
        return self._head

    def frequency(self, term: QueryTerm) -> float:
        """In how many chunks a term stands, as far as known; 0 for one no sampled chunk has."""
        sample = self._sample
        often = sum(sample.common[word] for word in term.words)
        return often * self._head.answers / max(sample.size, 1)


@dataclass(frozen=True, slots=True)
class _Sample:
    """In how many sampled chunks each word stands, how many they were, and of how many."""

    common: Counter[str] = field(default_factory=Counter)
    size: int = 0
    of: int = 0

    def is_outdated(self, chunks: int) -> bool:
        """Whether it no longer stands for what there is; one of all chunks has to be exact."""
        allowed = 0.0 if min(chunks, self.of) <= _SAMPLE else _STALE_SHARE * chunks
        return abs(chunks - self.of) > allowed or self.size < min(chunks, _SAMPLE)


class Ranker:
    """Answers keyword queries of one workspace.

    Args:
        engine: finds candidates.
        workspace: whose.
        statistics: weighs terms.
    """

    def __init__(self, engine: Engine, workspace: str, statistics: WordStatistics) -> None:
        self._engine: Final = engine
        self._workspace: Final = workspace
        self._statistics: Final = statistics

    def best(self, terms: Sequence[QueryTerm], limit: int, plan: Plan) -> Ranked:
        """The best chunks with their scores, best first; ties by path and position."""
        self._statistics.look()
        by_rarity = sorted(terms, key=self._statistics.frequency)
        pool, postings = max(_PER_HIT * limit, _LEAST_POOL), _POSTINGS
        while True:
            asked = self._rare(by_rarity, postings)
            found = self._look(asked, pool, plan)
            passing = [one for one in found if plan.passes(one)]
            if len(passing) >= limit or (len(found) < pool and len(asked) == len(terms)):
                return self._ranked(passing, terms)[:limit]
            if len(found) < pool:
                postings *= _WIDER
                passing = self._of_all(self._rare(by_rarity, postings), plan)
                if len(passing) >= limit:
                    return self._ranked(passing, terms)[:limit]
            else:
                pool *= _WIDER

    def _of_all(self, terms: Sequence[QueryTerm], plan: Plan) -> list[FoundChunk]:
        """Those of the best of the whole workspace that may answer, where that is quick to ask."""
        postings = sum(map(self._statistics.frequency, terms))
        is_cheaper = postings > _PER_POSTING * _OPEN_POOL
        if plan.only == OPEN or not is_cheaper or any(term.character for term in terms):
            return []
        found = self._look(terms, _OPEN_POOL, replace(plan, only=OPEN))
        return [one for one in found if plan.passes(one)]

    def _look(self, terms: Sequence[QueryTerm], pool: int, plan: Plan) -> list[FoundChunk]:
        words = [
            word
            for term in terms
            for raw, word in zip(GROUPS, term.words, strict=False)  # characters have none
            if raw in plan.groups
        ]
        characters = [term.character for term in terms if term.character]
        found = self._engine.matching(self._workspace, words, pool, plan.only) if words else []
        if characters:
            known = {one.chunk.chunk_id for one in found}
            more = self._engine.containing(self._workspace, characters, pool, plan.of_texts)
            found += [one for one in more if one.chunk.chunk_id not in known]
        return found

    def _rare(self, by_rarity: Sequence[QueryTerm], postings: int) -> Sequence[QueryTerm]:
        """The rarest terms, as many as there is room for; one at least."""
        total = 0.0
        for place, term in enumerate(by_rarity):
            total += self._statistics.frequency(term)
            if total > postings and place:
                return by_rarity[:place]
        return by_rarity

    def _ranked(self, found: Sequence[FoundChunk], terms: Sequence[QueryTerm]) -> Ranked:
        head = self._statistics.look()
        average = max(head.length, 1) / max(head.answers, 1)
        groups = [GROUPS.index(is_raw(one.path)) for one in found]
        counts = [
            [term.occurrences(one.chunk, group) for term in terms]
            for one, group in zip(found, groups, strict=True)
        ]
        weights = []
        for place, term in enumerate(terms):
            seen = sum(1 for of_chunk in counts if of_chunk[place])
            often = max(self._statistics.frequency(term), seen)
            weights.append(term.worth * _idf(often, max(head.answers, seen)))
        scores = [
            sum(w * _gain(n, one.chunk.length / average) for w, n in zip(weights, ns, strict=True))
            for one, ns in zip(found, counts, strict=True)
        ]
        scored = [(s, one) for s, one in zip(scores, found, strict=True) if s > 0]
        return sorted(in_context(scored), key=_order)


def in_context(scored: Ranked) -> Ranked:
    """Each score with its share of the neighbours' and of its file's best: `PassageContext`."""
    best: dict[str, float] = {}
    places: dict[tuple[str, int], float] = {}
    for score, one in scored:
        best[one.path] = max(score, best.get(one.path, 0.0))
        places[one.path, one.chunk.answer] = score
    return [
        (
            score
            + CONTEXT.neighbours
            * sum(places.get((one.path, one.chunk.answer + step), 0.0) for step in (-1, 1))
            + CONTEXT.file * best[one.path],
            one,
        )
        for score, one in scored
    ]


def _order(scored: tuple[float, FoundChunk]) -> tuple[float, str, int]:
    score, one = scored
    return -round(score, 6), one.path, one.chunk.position


def _idf(frequency: float, documents: int) -> float:
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def _gain(count: int, length: float) -> float:
    """BM25's share of a term; `length` as a multiple of the average."""
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length)) if count else 0.0
