"""Exact or compressed: the same answers, whatever was put, replaced and deleted before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store import vector_index, vector_rows
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.vector_index import Kind, VectorIndex
from agentscope_reme.store.vectors import Floats, normalised, packed, unpacked, widened
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

WIDTH = 12
KINDS: tuple[Kind, ...] = ("exact", "compressed")


def opened(workspace: Workspace, **values: Any) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=Settings(**values))
    store.open()
    return store


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[LocalFileStore]:
    made = opened(workspace, vector_index=request.param)
    yield made
    made.close()


def around(centres: Floats, count: int, random: np.random.Generator) -> Floats:
    """Vectors near some of the centres, at length 1."""
    noise = 0.5 * random.standard_normal((count, centres.shape[1]))
    rows = centres[random.integers(0, len(centres), count)] + noise
    return np.stack([normalised(row) for row in rows])


def nearest(vectors: dict[str, Floats], query: Floats) -> list[float]:
    """The cosines with all of them as they are kept, best first."""
    kept = [widened(unpacked([packed(vector)]))[0] for vector in vectors.values()]
    return sorted((float(row @ query) for row in kept), reverse=True)


Step = tuple[str, int, list[int]]
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "replace", "delete", "search"]),
        st.integers(0, 7),
        st.lists(st.integers(-3, 3), min_size=WIDTH, max_size=WIDTH).filter(any),
    ),
    max_size=25,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=steps, data=st.data())
def test_any_history_answers_as_a_comparison_with_everything(
    store: LocalFileStore, steps: list[Step], data: st.DataObject
) -> None:
    store.apply([], [node.path for node in store.nodes()])
    there: dict[str, Floats] = {}
    for what, number, numbers in steps:
        path = f"daily/{number}.md" if number % 2 else f"digest/{number}.md"
        vector = normalised(numbers)
        if what == "put":
            store.apply([indexed(path, f"text {number}")])
        if what in ("put", "replace") and store.node(path) is not None:
            store.put_vectors("m", {text_hash(f"text {number}"): vector})
            there[path] = vector
        if what == "delete":
            store.apply([], [path])
            there.pop(path, None)
        limit = data.draw(st.integers(1, 5))
        hits = store.vector_search(vector.tolist(), limit=limit, space_id="m")
        scores = [hit.score for hit in hits]
        assert scores == pytest.approx(nearest(there, vector)[:limit], abs=1e-5)
        where = SearchFilter(path_prefix="daily/")
        daily = store.vector_search(vector.tolist(), limit=9, where=where, space_id="m")
        assert {hit.path for hit in daily} == {path for path in there if path.startswith("daily/")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "first"), [(64, 3000), (64, 1), (100, 3000)])
def test_the_best_ten_of_clustered_vectors_are_found(
    kind: Kind, width: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_rows, "_COMPARED_NUMBERS", 200 * width)
    random = np.random.default_rng(5)
    centres = random.standard_normal((40, width)).astype(np.float32)
    vectors = around(centres, 4000, random)
    index = VectorIndex(kind)
    keys = [number.to_bytes(4, "big") for number in range(len(vectors))]
    index.load(keys[:first], unpacked([packed(v) for v in vectors[:first]]))
    index.put(dict(zip(keys[first:3000], vectors[first:3000], strict=True)))
    vectors[:50] = around(centres, 50, random)
    index.put(dict(zip(keys[:50], vectors[:50], strict=True)))  # replaced
    index.put(dict(zip(keys[3000:], vectors[3000:], strict=True)))
    rows = np.array(sorted(random.choice(4000, 3500, replace=False)))
    found = 0
    for query in around(centres, 40, random):
        places, scores = index.nearest(query, rows, 10)
        assert scores == pytest.approx(vectors[rows[places]] @ query, abs=2e-3)
        right = np.argsort(-(vectors[rows] @ query))[:10]
        found += len(set(right.tolist()) & set(places.tolist()))
    assert found >= 0.99 * 400


@pytest.mark.parametrize("kind", KINDS)
def test_equal_vectors_tie_wherever_they_stand(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_rows, "_COMPARED_NUMBERS", 10 * 33)
    random = np.random.default_rng(6)
    vectors = np.stack([normalised(row) for row in random.standard_normal((700, 33))])
    vectors[::90] = vectors[0]
    index = VectorIndex(kind)
    index.load([n.to_bytes(4, "big") for n in range(700)], unpacked([packed(v) for v in vectors]))
    places, scores = index.nearest(vectors[0], np.arange(700), 3)
    assert set(places.tolist()) == set(range(0, 700, 90))
    assert len(set(scores.tolist())) == 1


def test_many_vectors_are_compressed_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_NUMBERS", 100 * WIDTH)
    random = np.random.default_rng(7)
    vectors = np.stack([normalised(row) for row in random.standard_normal((150, WIDTH))])
    index = VectorIndex()
    for number, vector in enumerate(vectors):
        index.put({number.to_bytes(2, "big"): vector})
    assert isinstance(index._kept, vector_rows.CompressedRows)
    for number in (0, 99, 100, 149):
        places, scores = index.nearest(vectors[number], np.arange(150), 1)
        assert places.tolist() == [number]
        assert scores[0] == pytest.approx(1.0, abs=1e-3)


def test_half_precision_is_read_exactly() -> None:
    numbers = np.array([[6.1e-5, 3e-8, -5.96e-8, 0.0, -0.75, 0.333]], np.float16)
    plain = numbers.astype(np.float32)
    assert widened(numbers) == pytest.approx(plain / np.linalg.norm(plain), abs=1e-7)


def test_what_is_on_the_disk_loses_no_hit() -> None:
    random = np.random.default_rng(8)
    vectors = np.stack([normalised(row) for row in random.standard_normal((3000, 128))])
    kept = widened(unpacked([packed(vector) for vector in vectors]))
    found = 0
    for query in random.standard_normal((50, 128)).astype(np.float32):
        single, half = (set(np.argsort(-(v @ query))[:10].tolist()) for v in (vectors, kept))
        found += len(single & half)
    assert found >= 0.99 * 500


def test_a_passage_whose_vector_comes_later_is_found(store: LocalFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    store.put_vectors("m", {text_hash("apple"): [1.0, 0.0]})
    assert [h.path for h in store.vector_search([0.0, 1.0], limit=5, space_id="m")] == ["a.md"]
    store.put_vectors("m", {text_hash("pear"): [0.0, 1.0]})
    store.apply([indexed("c.md", "pear")])
    found = [hit.path for hit in store.vector_search([0.0, 1.0], limit=5, space_id="m")]
    assert found == ["b.md", "c.md", "a.md"]


def test_an_index_in_single_precision_keeps_its_vectors(workspace: Workspace) -> None:
    store = opened(workspace, embedding_cache_vectors=0)
    store.apply([indexed("a.md", "apple")])
    store.put_vectors("m", {text_hash("apple"): [3.0, 4.0]})
    store.close()
    (place,) = workspace.metadata.glob("index-*.db")
    with sqlite3.connect(place) as earlier:
        (blob,) = earlier.execute("SELECT vector FROM vectors").fetchone()
        assert len(blob) == 4
        single = np.array([0.6, 0.8], "<f4").tobytes()
        earlier.execute("UPDATE vectors SET vector = ?", (single,))
        earlier.execute("UPDATE meta SET value = '3' WHERE key = 'schema'")
    earlier.close()
    again = opened(workspace, embedding_cache_vectors=0)
    again.apply([indexed("a.md", "apple")])
    assert again.missing_vectors("m", 5) == []
    (hit,) = again.vector_search([0.6, 0.8], limit=5, space_id="m")
    assert hit.score == pytest.approx(1.0, abs=1e-3)
    again.close()


def test_compacting_lets_go_of_the_vectors_of_texts_that_are_gone(store: LocalFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    store.put_vectors("m", {text_hash("apple"): [1.0, 0.0], text_hash("pear"): [0.0, 1.0]})
    assert len(store.vector_search([1.0, 0.0], limit=5, space_id="m")) == 2
    store.apply([], ["b.md"])
    store.optimize()
    assert [h.path for h in store.vector_search([1.0, 0.0], limit=5, space_id="m")] == ["a.md"]
    assert isinstance(store._session.vectors._index, VectorIndex)
    assert len(store._session.vectors._index) == 1
    store.apply([indexed("b.md", "pear")])
    assert store.missing_vectors("m", 5) == [(text_hash("pear"), "pear")]
    assert [h.path for h in store.vector_search([0.0, 1.0], limit=5, space_id="m")] == ["a.md"]
