"""A search answers what adding up every score one by one and sorting all of them would."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.schema import SearchHit
from agentscope_reme.store.columns import FoundTerms
from agentscope_reme.store.inverted_index import InvertedIndex
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.passage_context import PassageContext
from agentscope_reme.store.postings import LARGEST_COUNT, Document, Segment
from agentscope_reme.store.term_keys import TermCounts
from agentscope_reme.store.top_scores import reaching
from agentscope_reme.store.zeros import Zeros

F = np.float32
TERMS = 7
CONTEXTS = (None, PassageContext(neighbours=0.3, file=0.5, pool=3))
Passage = tuple[int, int, dict[int, int], int]
"""Slot, owner, counts and length."""


@st.composite
def indexes(draw: st.DrawFn) -> tuple[list[list[Passage]], set[int]]:
    """Passages in the parts they are added in, and the slots of those that are deleted."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    slot, owner, parts = 0, 0, []
    for size in draw(st.lists(st.integers(1, 60), min_size=1, max_size=4)):
        part: list[Passage] = []
        for _ in range(size):
            slot += int(random.integers(1, 3))
            owner = max(0, owner + int(random.integers(0, 2)) - 4 * int(random.integers(0, 9) == 0))
            rare = random.random(TERMS) < 1 / (1 + np.arange(TERMS))
            counts = {int(t): int(random.geometric(0.6)) for t in rare.nonzero()[0]}
            part.append((slot, owner, counts, sum(counts.values()) + int(random.integers(0, 5))))
        parts.append(part)
    slots = [passage[0] for part in parts for passage in part]
    share = draw(st.sampled_from((0.0, 0.1, 0.6)))
    return parts, {slot for slot in slots if random.random() < share}


asked = st.lists(st.integers(0, TERMS), min_size=1, max_size=5, unique=True)


@settings(max_examples=200)
@given(
    indexes(),
    st.tuples(asked, asked),
    st.integers(1, 12),
    st.sampled_from(CONTEXTS),
    st.booleans(),
    st.booleans(),
)
def test_a_search_equals_the_plain_sum(
    written: tuple[list[list[Passage]], set[int]],
    keys: tuple[list[int], list[int]],
    limit: int,
    context: PassageContext | None,
    sealed: bool,
    filtered: bool,
) -> None:
    parts, deleted = written
    index = InvertedIndex(context=context)
    for number, part in enumerate(parts):
        index.add([Document.of(s, o, TermCounts.of_mapping(c), n) for s, o, c, n in part])
        if sealed or number < len(parts) - 1:
            index.settle([*index.segments, *_segment_of_tail(index)])
    index.delete(sorted(deleted))
    owners = max(owner for part in parts for _slot, owner, _counts, _length in part)
    allowed = np.arange(owners + 1) % 2 == 0 if filtered else None
    living = [p for part in parts for p in part if p[0] not in deleted]
    first, other = (KeywordQuery(tuple(some), tuple(1.0 + key for key in some)) for some in keys)
    for query in (first, other, first):  # what the one before borrowed is as it was
        hits = index.search(query, limit, allowed)
        found = {slot: score for score, _owner, slot in hits}
        assert len(found) == len(hits)
        assert found == plain(index, living, query, limit, filtered)


@pytest.mark.parametrize("seed", range(4))
def test_a_query_of_a_thousand_terms_misses_nothing(seed: int) -> None:
    """Bounds and scores round a thousand times each; many scores lie on the bound itself."""
    random = np.random.default_rng(seed)
    terms, alike = 1000, dict.fromkeys(range(900), 1)
    passages: list[Passage] = []
    for slot in range(60):
        some = random.random(terms) < 1 / (1 + np.arange(terms) / 40)
        drawn = {int(key): int(random.geometric(0.6)) for key in some.nonzero()[0]}
        passages.append((slot, slot // 3, alike if slot % 4 == 0 else drawn, 950))
    index = InvertedIndex()
    index.add([Document.of(s, o, TermCounts.of_mapping(c), n) for s, o, c, n in passages])
    weights = tuple(0.1 + float(weight) for weight in random.random(terms))
    query = KeywordQuery(tuple(range(terms)), weights)
    for limit in (1, 3, 10, 20):
        found = {slot: score for score, _owner, slot in index.search(query, limit)}
        assert found == plain(index, passages, query, limit, filtered=False)


def test_bounds_that_are_reached_exactly_leave_nobody_out() -> None:
    """A passage of common terms alone, each with its best gain: its score is the bound."""
    terms = 300
    random = np.random.default_rng(1)
    gains = [np.float32(gain) for gain in random.random(terms) + 0.1]
    score = np.float32(0)
    for gain in gains:
        score += gain
    two, rare = [2] * terms, [1]  # the rare term's only passage has none of the others
    ends = np.cumsum(two + rare).tolist()
    found = FoundTerms(
        np.array([0, 1] * terms + [2]), np.ones(ends[-1], F), two + rare, ends, [1.0] * (terms + 1)
    )
    entries = np.array([g for gain in gains for g in (gain, gain)] + [score], F)
    assert set(found.essential(entries, float(score)).tolist()) == {0, 1, 2}
    above = float(np.nextafter(score, F(np.inf)))
    assert set(found.essential(entries, above).tolist()) == {2}


def _segment_of_tail(index: InvertedIndex) -> list[Segment]:
    """The tail as a segment of its own, so that there are several."""
    alone = InvertedIndex()
    alone.tail = index.tail
    return alone.sealed()


def plain(
    index: InvertedIndex,
    living: Sequence[Passage],
    query: KeywordQuery,
    limit: int,
    filtered: bool,
) -> dict[int, float]:
    """The best slots with their scores, and all tied with the last; by the book, in float32."""
    average = max(sum(length for *_rest, length in living), 1) / max(len(living), 1)
    scores = {slot: F(0) for slot, *_rest in living}
    lists = [
        (-sum(key in counts for _s, _o, counts, _l in living), at, key)
        for at, key in enumerate(query.keys)
    ]
    for less, at, key in sorted(lists):  # the commonest first: the order of a sum decides ties
        idf = math.log1p((len(living) + less + 0.5) / (-less + 0.5))
        worth = F(query.weights[at] * (index.k1 + 1) * idf)
        for slot, owner, counts, length in living:
            if key in counts and (not filtered or owner % 2 == 0):
                count = F(min(counts[key], LARGEST_COUNT))
                norm = F(length) * F(index.k1 * index.b / average) + F(index.k1 * (1 - index.b))
                scores[slot] += count / (norm + count) * worth
    context = index.context
    if context is None:
        return best(scores, limit)
    pool = best(scores, max(limit, context.pool))
    files: dict[int, list[int]] = {}
    for slot, owner, _counts, _length in living:
        files.setdefault(owner, []).append(slot)
    rescored = {}
    for of_file in files.values():
        for at, slot in enumerate(of_file):
            if slot in pool:
                before = scores[of_file[at - 1]] if at else F(0)
                after = scores[of_file[at + 1]] if at + 1 < len(of_file) else F(0)
                top = max(pool[s] for s in of_file if s in pool)
                around = (before + after) * F(context.neighbours)
                rescored[slot] = around + pool[slot] + top * F(context.file)
    return best(rescored, limit)


def best(scores: dict[int, np.float32], limit: int) -> dict[int, np.float32]:
    """The best positive scores and all tied with the last."""
    positive = sorted((score for score in scores.values() if score > 0), reverse=True)
    floor = positive[limit - 1] if len(positive) >= limit else 0
    return {slot: score for slot, score in scores.items() if score > 0 and score >= floor}


def test_a_document_several_terms_found_is_a_candidate_once() -> None:
    scores = np.zeros(1000, np.float32)
    scores[[5, 700, 900]] = (2, 1, 3)
    found = reaching(scores, np.array([900, 5, 700, 5, 900]), 2.0)
    assert found.tolist() == [5, 900]


@pytest.mark.parametrize("touched", [[5], list(range(100))])  # cleared one by one, and at once
def test_what_is_lent_is_zero_whatever_the_last_one_wrote(touched: list[int]) -> None:
    zeros, places = Zeros(), np.array(touched)
    scores = zeros.borrow(100)
    scores[places] = 7
    zeros.give_back(scores, places)
    again = zeros.borrow(100)
    assert not again.any()
    again[:] = 7  # and then the search is stopped
    assert not zeros.borrow(100).any()
    assert len(zeros.borrow(101)) == 101


def test_a_hit_that_was_not_checked_is_as_good_as_one_that_was() -> None:
    fields = {
        "media_type": "",
        "chunk_id": "0" * 32,
        "path": "digest/wiki/a.md",
        "start_line": 1,
        "end_line": 2,
        "text": "word",
        "score": 1.5,
        "scores": {"keyword": 1.5},
        "date": None,
    }
    unchecked, checked = SearchHit.unchecked(fields), SearchHit(**fields)
    assert unchecked == checked
    assert unchecked.model_dump_json() == checked.model_dump_json()
    assert repr(unchecked) == repr(checked)
    assert unchecked.model_fields_set == checked.model_fields_set
    changed = {"parts": {"keyword": 1.0}}
    assert unchecked.model_copy(update=changed) == checked.model_copy(update=changed)
    assert SearchHit.unchecked(fields).parts is not unchecked.parts
