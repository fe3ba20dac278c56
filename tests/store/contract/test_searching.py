"""What every store answers to a query."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.records import SearchFilter
from tests.store.builders import card, indexed

NOTES = [
    indexed("daily/2026-06-20/plan.md", card("Plan", "the parser plan", "We chose Rust.", "work")),
    indexed(
        "daily/2026-06-21/talk.md", card("Talk", "", "Rust was praised again.", "work, Team A")
    ),
    indexed("digest/wiki/rust.md", card("Rust", "a language", "Memory safe and fast.", "lang")),
    indexed(
        "session/dialog/s1.jsonl",
        '{"id":"1","role":"user","name":"Ann","blocks":[{"type":"text","text":"Rust?"}]}\n',
    ),
]


@pytest.fixture
def filled(store: BaseFileStore) -> BaseFileStore:
    store.apply(NOTES)
    return store


def paths(store: BaseFileStore, query: str, where: SearchFilter | None = None) -> list[str]:
    return [hit.path for hit in store.keyword_search(query, limit=10, where=where)]


def test_an_empty_store_answers_nothing(store: BaseFileStore) -> None:
    assert store.keyword_search("anything", limit=5) == []
    assert store.vector_search([1.0, 0.0], limit=5) == []


@pytest.mark.parametrize("query", ["", "   ", "?!", "zzzunknown"])
def test_a_query_without_known_words_answers_nothing(filled: BaseFileStore, query: str) -> None:
    assert paths(filled, query) == []


@pytest.mark.parametrize("limit", [0, -3])
def test_no_limit_no_hits(filled: BaseFileStore, limit: int) -> None:
    assert filled.keyword_search("rust", limit=limit) == []


def test_a_hit_says_where_it_stands_and_why(filled: BaseFileStore) -> None:
    (hit,) = filled.keyword_search("parser", limit=5)
    assert (hit.path, hit.start_line, hit.end_line) == ("daily/2026-06-20/plan.md", 6, 6)
    assert (hit.text, hit.date, hit.name) == ("We chose Rust.", "2026-06-20", "Plan")
    assert hit.description == "the parser plan"
    assert hit.scores == {"keyword": hit.score}
    assert hit.ranks == {"keyword": 1}
    assert hit.chunk_id == filled.chunks(hit.path)[0].id


def test_the_name_of_a_file_weighs_more_than_a_word_in_its_text(filled: BaseFileStore) -> None:
    assert paths(filled, "rust")[0] == "digest/wiki/rust.md"


def test_every_hit_scores_and_the_best_comes_first(filled: BaseFileStore) -> None:
    scores = [hit.score for hit in filled.keyword_search("rust memory", limit=10)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_ties_stand_in_the_order_of_their_paths(store: BaseFileStore) -> None:
    for number in (3, 1, 2):
        store.apply([indexed(f"digest/wiki/{number}.md", "the same words")])
    expected = [f"digest/wiki/{number}.md" for number in (1, 2, 3)]
    assert paths(store, "same words") == expected
    assert [h.path for h in store.keyword_search("same words", limit=2)] == expected[:2]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (SearchFilter(), {0, 1, 2, 3}),
        (SearchFilter(layers=("daily",)), {0, 1}),
        (SearchFilter(exclude_layers=("session", "digest")), {0, 1}),
        (SearchFilter(path_prefix="daily/2026-06-2"), {0, 1}),
        (SearchFilter(start_date="2026-06-21"), {1, 2, 3}),
        (SearchFilter(end_date="2026-06-20"), {0, 2, 3}),
        (SearchFilter(start_date="2026-06-20", end_date="2026-06-20", layers=("daily",)), {0}),
        (SearchFilter(tags=("WORK",)), {0, 1}),
        (SearchFilter(tags=("team a", "lang")), {1, 2}),
        (SearchFilter(fields={"name": "Plan"}), {0}),
        (SearchFilter(fields={"memory_tags": "lang"}), {2}),
        (SearchFilter(fields={"name": ["Plan", "Talk"]}), {0, 1}),
        (SearchFilter(paths=frozenset({"digest/wiki/rust.md", "gone.md"})), {2}),
        (SearchFilter(paths=frozenset()), set()),
    ],
)
def test_filters(filled: BaseFileStore, where: SearchFilter, expected: set[int]) -> None:
    assert set(paths(filled, "rust", where)) == {NOTES[i].node.path for i in expected}


def test_a_filter_sees_files_that_came_after_its_first_use(filled: BaseFileStore) -> None:
    where = SearchFilter(tags=("work",))
    assert len(paths(filled, "rust", where)) == 2
    filled.apply(
        [indexed("digest/wiki/new.md", card(body="rust", tags="work"))], [NOTES[0].node.path]
    )
    assert set(paths(filled, "rust", where)) == {"daily/2026-06-21/talk.md", "digest/wiki/new.md"}
    filled.apply([indexed("digest/wiki/new.md", card(body="rust", tags="play"))])
    assert paths(filled, "rust", where) == ["daily/2026-06-21/talk.md"]


@pytest.mark.parametrize(
    "where",
    [
        SearchFilter(start_date="yesterday"),
        SearchFilter(end_date="2026-02-30"),
        SearchFilter(start_date="2026-6-1"),
        SearchFilter(tags=("!!", "")),
    ],
)
def test_a_filter_that_would_mislead_is_refused(filled: BaseFileStore, where: SearchFilter) -> None:
    with pytest.raises(BadInput):
        filled.keyword_search("rust", limit=3, where=where)


def test_day_pages_and_lone_headings_are_linked_but_no_answers(store: BaseFileStore) -> None:
    page = "- [[daily/2026-06-20/plan.md]] name: zebra"
    headings = "# Zebra\n\ntext\n\n## Zebra too\n\n### Zebra three\n"
    store.apply([indexed("daily/2026-06-20.md", page), indexed("digest/wiki/z.md", headings)])
    assert set(paths(store, "zebra")) == {"digest/wiki/z.md"}
    assert [k.target_path for k in store.outlinks("daily/2026-06-20.md")] == [
        "daily/2026-06-20/plan.md"
    ]
    assert len(store.chunks("daily/2026-06-20.md")) == 1


def test_a_file_of_headings_alone_can_be_found(store: BaseFileStore) -> None:
    store.apply([indexed("digest/wiki/todo.md", "# Buy milk\n")])
    assert paths(store, "milk") == ["digest/wiki/todo.md"]


def test_front_matter_alone_can_be_found(store: BaseFileStore) -> None:
    text = card("Nebula notes", "astronomy of nebulae")
    store.apply([indexed("digest/wiki/n.md", text), indexed("digest/wiki/o.md", "nebula")])
    (hit, *_rest) = store.keyword_search("nebula astronomy", limit=3)
    assert (hit.path, hit.start_line, hit.end_line) == ("digest/wiki/n.md", 1, 5)


def test_vectors_rank_by_angle_and_obey_filters(filled: BaseFileStore) -> None:
    texts = dict(filled.missing_vectors("m", 10))
    by_text = {text: key for key, text in texts.items()}
    filled.put_vectors(
        "m",
        {
            by_text["We chose Rust."]: [3.0, 0.0],
            by_text["Rust was praised again."]: [0.5, 0.5],
            by_text["Memory safe and fast."]: [-1.0, 0.0],
        },
    )
    hits = filled.vector_search([2.0, 0.0], limit=5)
    assert [hit.text for hit in hits] == [
        "We chose Rust.",
        "Rust was praised again.",
        "Memory safe and fast.",
    ]
    assert [round(hit.score, 4) for hit in hits] == [1.0, 0.7071, -1.0]
    assert hits[0].ranks == {"vector": 1}
    only = filled.vector_search([2.0, 0.0], limit=5, where=SearchFilter(tags=("lang",)))
    assert [hit.text for hit in only] == ["Memory safe and fast."]
    assert len(filled.vector_search([2.0, 0.0], limit=1)) == 1
    with pytest.raises(BadInput):
        filled.vector_search([1.0, 2.0, 3.0], limit=1)


def test_vectors_of_another_model_are_no_answer(filled: BaseFileStore) -> None:
    """Two models of one width measure different things."""
    keys = [key for key, _ in filled.missing_vectors("m", 10)]
    filled.put_vectors("m", {key: [1.0, 0.0] for key in keys})
    assert filled.vector_search([1.0, 0.0], limit=5, space_id="m")
    assert filled.vector_search([1.0, 0.0], limit=5, space_id="n") == []
    assert filled.vector_search([1.0, 0.0, 0.0], limit=5, space_id="n") == []
    filled.put_vectors("n", {keys[0]: [0.0, 1.0]})
    own = [round(h.score, 4) for h in filled.vector_search([1.0, 0.0], limit=9, space_id="m")]
    other = [round(h.score, 4) for h in filled.vector_search([1.0, 0.0], limit=9, space_id="n")]
    assert set(own) <= {1.0}  # a store may keep one space only, but never mixes two
    assert set(other) == {0.0}
