"""The scores of `BM25Index`, and what stays true while documents come and go."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.store import bm25
from agentscope_reme.store.bm25 import BM25Index


class Words:
    def terms(self, text: str) -> list[str]:
        return text.split()

    def query_terms(self, query: str) -> list[str]:
        return list(dict.fromkeys(query.split()))


def written_out(docs: dict[str, str], query: str, k1: float, b: float) -> dict[str, float]:
    """The formula, document by document."""
    counts = {i: Counter(text.split()) for i, text in docs.items()}
    average = sum(c.total() for c in counts.values()) / len(docs)
    scores: dict[str, float] = {}
    for term in dict.fromkeys(query.split()):
        df = sum(term in c for c in counts.values())
        idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
        for i, c in counts.items():
            if c[term]:
                norm = k1 * (1 - b + b * c.total() / average)
                gain = idf * c[term] * (k1 + 1) / (c[term] + norm)
                scores[i] = scores.get(i, 0.0) + gain
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.0), (2.0, 1.0)])
def test_scores_are_those_of_the_formula_through_any_history(
    monkeypatch: pytest.MonkeyPatch, k1: float, b: float
) -> None:
    monkeypatch.setattr(bm25, "LARGEST_TAIL", 40)  # many segments and merges
    rng = random.Random(5)
    vocabulary = [f"w{i}" for i in range(60)]
    index, docs = BM25Index(k1, b, Words()), dict[str, str]()
    for step in range(40):
        added = {
            f"d{rng.randrange(200)}": " ".join(rng.choices(vocabulary, k=rng.randrange(1, 12)))
            for _ in range(rng.randrange(1, 60))
        }
        gone = [f"d{rng.randrange(200)}" for _ in range(8)]
        index.add_docs(added)
        index.delete_docs(gone)
        docs = {i: text for i, text in {**docs, **added}.items() if i not in gone}
        if step % 13 == 12:
            index.optimize_index()
        assert len(index) == len(docs)
        query = " ".join(rng.choices(vocabulary, k=3))
        expected = written_out(docs, query, k1, b)
        found = dict(index.retrieve(query, 1000))
        assert found == pytest.approx(expected, rel=1e-5)
        best = sorted(expected.values(), reverse=True)[:10]
        assert [s for _, s in index.retrieve(query, 10)] == pytest.approx(best, rel=1e-5)


def test_ties_stand_in_the_order_they_were_added() -> None:
    index = BM25Index()
    index.add_docs({"z": "same", "a": "same"})
    index.add_docs({"m": "same"})
    assert [i for i, _ in index.retrieve("same", 2)] == ["z", "a"]
    index.add_docs({"z": "same"})
    assert [i for i, _ in index.retrieve("same", 3)] == ["a", "m", "z"]


def test_a_deleted_document_is_gone_at_once() -> None:
    index = BM25Index()
    index.add_docs({"a": "apple", "b": "apple pie"})
    index.delete_docs(["a", "unknown"])
    assert [i for i, _ in index.retrieve("apple", 5)] == ["b"]
    assert "a" not in index
    index.delete_docs(["b"])
    assert index.retrieve("apple", 5) == []
    index.optimize_index()
    assert len(index) == 0


def test_a_text_without_terms_only_removes() -> None:
    index = BM25Index()
    index.add_docs({"a": "apple"})
    index.add_docs({"a": "…"})
    assert (len(index), index.retrieve("apple", 5)) == (0, [])


def test_optimizing_changes_no_answer() -> None:
    index = BM25Index()
    index.add_docs({str(i): f"word{i % 7} common" for i in range(100)})
    index.delete_docs([str(i) for i in range(0, 100, 3)])
    before = index.retrieve("word3 common", 20)
    index.optimize_index()
    assert index.retrieve("word3 common", 20) == before


def test_answers_can_be_limited_to_some_documents() -> None:
    index = BM25Index()
    index.add_docs({"a": "apple", "b": "apple", "c": "apple"})
    assert [i for i, _ in index.retrieve("apple", 5, only={"c", "b", "x"})] == ["b", "c"]
    assert index.retrieve("apple", 5, only=()) == []


def test_weighted_terms() -> None:
    index = BM25Index(tokenizer=Words())
    index.add_counts({"title": {"apple": 3, "pie": 1}, "text": {"apple": 1, "pie": 3}})
    assert [i for i, _ in index.retrieve("apple", 2)] == ["title", "text"]


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (1, -0.1), (1, 1.1)])
def test_parameters_out_of_range_are_refused(k1: float, b: float) -> None:
    with pytest.raises(BadInput):
        BM25Index(k1, b)
