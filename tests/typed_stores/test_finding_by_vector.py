"""The nearest nodes by cosine, within a space and within what the filter means."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.nodes import MemoryType, NodeFilter
from agentscope_reme.typed.stores import BaseVectorStore, make_store
from tests.typed_stores.builders import EVERYTHING, node, of
from tests.typed_stores.elasticsearch_server import Server, address

SPACE = "model/3"


def found(
    store: BaseVectorStore,
    vector: list[float],
    where: NodeFilter = EVERYTHING,
    limit: int = 10,
    space: str = SPACE,
) -> list[str]:
    hits = store.search(vector, space_id=space, limit=limit, where=where)
    return [hit.node.memory_id for hit in hits]


def test_the_nearest_come_first_with_their_cosine(store: BaseVectorStore) -> None:
    vectors = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [-1, 0, 0], "d": [0, 0, 5]}
    store.put([node(key) for key in vectors], space_id=SPACE, vectors=vectors)
    hits = store.search([2, 0, 0], space_id=SPACE, limit=10, where=EVERYTHING)
    assert [hit.node.memory_id for hit in hits] == ["a", "b", "d", "c"]
    assert [hit.similarity for hit in hits] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-5)
    assert found(store, [2, 0, 0], limit=2) == ["a", "b"]
    assert found(store, [2, 0, 0], limit=0) == []


def test_a_search_never_changes_the_score_of_a_memory(store: BaseVectorStore) -> None:
    store.put([node("a", score=0.25)], space_id=SPACE, vectors={"a": [1, 0, 0]})
    hits = store.search([1, 0, 0], space_id=SPACE, limit=1, where=EVERYTHING)
    assert hits[0].node.score == 0.25
    assert store.get(["a"])[0].score == 0.25


def test_ties_are_broken_by_id(store: BaseVectorStore) -> None:
    names = [f"n{number:02}" for number in range(30)]
    order = np.random.default_rng(3).permutation(names).tolist()
    vectors = {key: [0.1, 0.2, 0.3] for key in order} | {"best": [0.2, 0.4, 0.6001]}
    store.put([node(key) for key in vectors], space_id=SPACE, vectors=vectors)
    assert found(store, [0.1, 0.2, 0.3], limit=5)[-4:] in (names[:4], names[1:5])
    store.delete(["best"])
    assert found(store, [0.1, 0.2, 0.3], limit=5) == names[:5]


def test_an_updated_text_loses_its_vector(store: BaseVectorStore) -> None:
    store.put([node("a", "tea")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    store.put([node("a", "coffee")])
    assert found(store, [1, 0, 0]) == []
    assert store.missing_vectors(SPACE, 5) == [("a", "coffee")]
    store.put([node("a", "coffee")], space_id=SPACE, vectors={"a": [0, 1, 0]})
    hits = store.search([0, 1, 0], space_id=SPACE, limit=5, where=EVERYTHING)
    assert hits[0].similarity == pytest.approx(1, abs=1e-5)
    assert store.spaces() == {SPACE: 1}


def test_the_same_text_keeps_its_vector(store: BaseVectorStore) -> None:
    store.put([node("a", "tea", when_to_use="thirst")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    store.put([node("a", "another tea", when_to_use="thirst", score=1, metadata={"new": 1})])
    hits = store.search(
        [1, 0, 0], space_id=SPACE, limit=5, where=NodeFilter(equal={"new": 1, "score": 1})
    )
    assert [hit.node.content for hit in hits] == ["another tea"]
    assert store.missing_vectors(SPACE, 5) == []


def test_a_filter_never_costs_an_answer(store: BaseVectorStore) -> None:
    random = np.random.default_rng(5)
    vectors = {f"n{number:03}": random.normal(size=3) for number in range(60)}
    near = random.normal(size=3)
    few = {f"n{number:03}" for number in range(3, 60, 12)}
    nodes = [
        node(key, target="bob" if key in few else "alice", metadata={"n": int(key[1:])})
        for key in vectors
    ]
    store.put(nodes, space_id=SPACE, vectors=vectors)

    def cosine(key: str) -> float:
        return float(vectors[key] @ near / np.linalg.norm(vectors[key]))

    assert found(store, near.tolist(), of("bob")) == sorted(few, key=lambda key: -cosine(key))
    some = NodeFilter(between={"n": (30, 37)}, targets=frozenset({"alice", "bob"}))
    wanted = [f"n{number:03}" for number in range(30, 38)]
    assert found(store, near.tolist(), some) == sorted(wanted, key=lambda key: -cosine(key))


def test_what_a_database_cannot_tell_apart_is_told_apart(store: BaseVectorStore) -> None:
    long = "a" * 300
    early, late = "2026-06-20 09:30:00", "2026-06-20 09:30:01"
    store.put(
        [node("a", target=long, message_time=early), node("b", target=f"{long}b"), node("c")],
        space_id=SPACE,
        vectors={"a": [1, 0, 0], "b": [1, 0, 0], "c": [1, 0, 0]},
    )
    assert found(store, [1, 0, 0], of(long)) == ["a"]
    assert found(store, [1, 0, 0], of(f"{long}b", "alice")) == ["b", "c"]
    for time, wanted in ((early, ["a"]), (late, [])):
        where = NodeFilter(between={"message_time": (time, late)})
        assert found(store, [1, 0, 0], where) == wanted


def test_spaces_live_beside_each_other(store: BaseVectorStore) -> None:
    store.put([node("a"), node("b")], space_id=SPACE, vectors={"a": [1, 0, 0], "b": [0, 1, 0]})
    store.put_vectors("wide/4", {"a": ("says a", [0, 0, 0, 1])})
    assert store.spaces() == {SPACE: 2, "wide/4": 1}
    assert found(store, [0, 0, 0, 1], space="wide/4") == ["a"]
    assert found(store, [0, 1, 0]) == ["b", "a"]
    assert found(store, [1, 0], space="unknown") == []
    assert store.missing_vectors("wide/4", 5) == [("b", "says b")]
    store.delete(["a"])
    assert store.spaces() == {SPACE: 1}


def test_a_third_space_takes_the_place_of_the_one_written_longest_ago(
    store: BaseVectorStore,
) -> None:
    store.put([node("a"), node("b")], space_id=SPACE, vectors={"a": [1, 0, 0], "b": [0, 1, 0]})
    store.put_vectors("wide/4", {"a": ("says a", [0, 0, 0, 1])})
    store.put_vectors(SPACE, {"a": ("says a", [1, 0, 0])})
    assert list(store.spaces()) == [SPACE, "wide/4"]
    store.put_vectors("third/2", {"b": ("says b", [0, 1])})
    assert store.spaces() == {"third/2": 1, SPACE: 2}
    assert found(store, [0, 0, 0, 1], space="wide/4") == []
    assert found(store, [0, 1, 0]) == ["b", "a"]
    assert sorted(store.missing_vectors("wide/4", 5)) == [("a", "says a"), ("b", "says b")]
    store.put_vectors("wide/4", {"b": ("says b", [0, 0, 1, 0])})
    assert store.spaces() == {"wide/4": 1, "third/2": 1}
    assert found(store, [0, 0, 0, 1], space="wide/4") == ["b"]
    assert store.vectors(SPACE, ["a", "b"]) == {}


def test_what_waits_for_a_vector_is_told_of_those_that_are_meant(store: BaseVectorStore) -> None:
    store.put([node("a"), node("b", target="bob"), node("c", target="bob")])
    store.put_vectors(SPACE, {"c": ("says c", [1, 0, 0])})
    assert store.missing_vectors(SPACE, 9, of("alice")) == [("a", "says a")]
    assert store.missing_vectors(SPACE, 9, of("bob")) == [("b", "says b")]
    assert store.missing_vectors(SPACE, 9, of("carol")) == []
    assert store.missing_vectors(SPACE, 9, NodeFilter(targets=frozenset())) == []


def test_another_width_is_refused_and_changes_nothing(store: BaseVectorStore) -> None:
    store.put([node("a")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    with pytest.raises(BadInput):
        store.put([node("a", "new"), node("b")], space_id=SPACE, vectors={"b": [1, 0]})
    with pytest.raises(BadInput):
        store.put_vectors(SPACE, {"a": ("says a", [1.0, 0, 0, 0])})
    with pytest.raises(BadInput):
        store.search([1, 0], space_id=SPACE, limit=1, where=EVERYTHING)
    with pytest.raises(BadInput):
        store.put([node("c"), node("d")], space_id="new", vectors={"c": [1], "d": [1, 0]})
    assert [found.memory_id for found in store.list(EVERYTHING)] == ["a"]
    assert store.get(["a"])[0].content == "says a"
    assert store.spaces() == {SPACE: 1}


def test_a_space_that_was_emptied_may_begin_with_another_width(store: BaseVectorStore) -> None:
    store.put([node("a")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    assert found(store, [1, 0, 0]) == ["a"]
    store.clear(EVERYTHING)
    store.put([node("b")], space_id=SPACE, vectors={"b": [1, 0]})
    assert found(store, [1, 0]) == ["b"]


@pytest.mark.parametrize("vector", [[float("nan"), 0, 1], [0, 0, 0], [float("inf"), 0, 0], []])
def test_vectors_without_a_direction_are_refused(
    store: BaseVectorStore, vector: list[float]
) -> None:
    store.put([node("a")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    with pytest.raises(BadInput):
        store.put([node("b")], space_id=SPACE, vectors={"b": vector})
    with pytest.raises(BadInput):
        store.put_vectors(SPACE, {"a": ("says a", vector)})
    with pytest.raises(BadInput):
        store.search(vector, space_id=SPACE, limit=1, where=EVERYTHING)
    assert found(store, [1, 0, 0]) == ["a"]


def test_vectors_are_made_later(store: BaseVectorStore) -> None:
    store.put([node(f"n{number}") for number in range(7)])
    assert len(store.missing_vectors(SPACE, 3)) == 3
    assert store.missing_vectors(SPACE, 0) == []
    missing = store.missing_vectors(SPACE, 100)
    assert sorted(missing) == [(f"n{number}", f"says n{number}") for number in range(7)]
    store.put([node("n1", "something else")])
    store.delete(["n2"])
    store.put_vectors(SPACE, {key: (text, [1, 0, int(key[1])]) for key, text in missing})
    assert store.missing_vectors(SPACE, 100) == [("n1", "something else")]
    assert found(store, [1, 0, 0]) == ["n0", "n3", "n4", "n5", "n6"]
    assert store.count(EVERYTHING) == 6


def test_vectors_can_be_read_back(store: BaseVectorStore) -> None:
    store.put([node("a"), node("b")], space_id=SPACE, vectors={"a": [3, 0, 4]})
    rows = store.vectors(SPACE, ["a", "b", "nobody"])
    assert list(rows) == ["a"]
    assert rows["a"].tolist() == pytest.approx([0.6, 0, 0.8], abs=1e-6)
    assert store.vectors("unknown", ["a"]) == {}


def test_types_are_kept_apart(store: BaseVectorStore) -> None:
    for memory_type in MemoryType:
        key = str(memory_type)
        store.put(
            [node(key, "same", memory_type=memory_type)], space_id=SPACE, vectors={key: [1, 0, 0]}
        )
    for memory_type in MemoryType:
        where = NodeFilter(types=frozenset({memory_type}), targets=frozenset({"alice"}))
        assert found(store, [1, 0, 0], where) == [str(memory_type)]
    assert found(store, [1, 0, 0], NodeFilter(types=frozenset())) == []
    assert found(store, [1, 0, 0], NodeFilter(targets=frozenset())) == []
    two = frozenset({MemoryType.TOOL, MemoryType.PROFILE})
    assert found(store, [1, 0, 0], NodeFilter(types=two)) == ["profile", "tool"]


def test_a_space_that_another_one_dropped_has_no_answers(
    elasticsearch_server: Server, tmp_path: Path
) -> None:
    options = {"hosts": address(elasticsearch_server), "collection": f"t{uuid4().hex}"}
    one, other = (make_store("es", tmp_path, **options) for _ in range(2))
    one.open()
    other.open()
    one.put([node("a")], space_id=SPACE, vectors={"a": [1, 0, 0]})
    assert found(one, [1, 0, 0]) == ["a"]
    for space in ("t", "u"):
        other.put_vectors(space, {"a": ("says a", [1, 0])})
    assert (found(one, [1, 0, 0]), one.vectors(SPACE, ["a"])) == ([], {})
    one.put([node("b")], space_id=SPACE, vectors={"b": [1, 0, 0]})
    assert found(one, [1, 0, 0]) == ["b"]
    assert other.missing_vectors(SPACE, 9) == [("a", "says a")]
    one.close()
    other.close()
