"""A passage profits from the passages around it."""

from __future__ import annotations

import pytest

from agentscope_reme.store.inverted_index import InvertedIndex
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.passage_context import PassageContext
from agentscope_reme.store.postings import Document
from agentscope_reme.store.term_keys import TermCounts
from tests.store.builders import indexed

ONE = KeywordQuery((1,), (1.0,))


def index_of(files: list[list[dict[int, int]]], context: PassageContext | None) -> InvertedIndex:
    index = InvertedIndex(context=context)
    passages = [(owner, counts) for owner, file in enumerate(files) for counts in file]
    index.add([Document.of(s, o, TermCounts.of_mapping(c), 4) for s, (o, c) in enumerate(passages)])
    return index


def test_neighbours_and_the_best_of_the_file_add_their_share() -> None:
    files = [[{1: 1}, {1: 3}, {1: 1, 2: 1}], [{1: 1}], [{2: 1}]]
    plain = {slot: s for s, _o, slot in index_of(files, None).search(ONE, 9)}
    context = PassageContext(neighbours=0.5, file=0.25)
    found = {slot: s for s, _o, slot in index_of(files, context).search(ONE, 9)}
    best = plain[1]
    assert found == pytest.approx(
        {
            0: plain[0] + 0.5 * best + 0.25 * best,
            1: best + 0.5 * (plain[0] + plain[2]) + 0.25 * best,
            2: plain[2] + 0.5 * best + 0.25 * best,
            3: plain[3] * 1.25,
        }
    )


def test_a_passage_without_a_word_of_the_query_is_no_answer() -> None:
    index = index_of([[{1: 1}, {2: 1}]], PassageContext(neighbours=1, file=1))
    assert [slot for _s, _o, slot in index.search(ONE, 9)] == [0]


def test_the_answer_stands_next_to_the_question(local_store: LocalFileStore) -> None:
    talk = "\n\n".join(
        [
            f"## Where did Ann spend her summer holidays this year?\n\n{'filler ' * 20}",
            f"## Reply\n\nIn Lisbon, by the sea, her holidays were long. {'filler ' * 15}",
        ]
    )
    local_store.apply(
        [indexed("daily/2026-06-20/talk.md", talk)]
        + [
            indexed(f"digest/wiki/{i}.md", f"holidays in town {i}. {'filler ' * 22}")
            for i in range(9)
        ]
    )
    hits = local_store.keyword_search("Ann's summer holidays", limit=2)
    assert [hit.path for hit in hits] == ["daily/2026-06-20/talk.md"] * 2
