"""Programs with different embedding models on one workspace do not delete each other's vectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed
from tests.store.reference_store import ReferenceStore

APPLE = text_hash("apple")


@pytest.fixture(params=["local", "reference"])
def store(request: pytest.FixtureRequest) -> BaseFileStore:
    if request.param == "reference":
        return ReferenceStore()
    local: BaseFileStore = request.getfixturevalue("local_store")
    return local


@pytest.fixture
def other(workspace: Workspace, local_store: LocalFileStore) -> Iterator[LocalFileStore]:
    """A second process on the workspace of `local_store`, as far as the index can tell."""
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    yield store
    store.close()


def found(store: BaseFileStore, vector: list[float], space: str) -> list[tuple[str, float]]:
    hits = store.vector_search(vector, limit=9, space_id=space)
    return [(hit.path, round(hit.score, 4)) for hit in hits]


def test_two_spaces_stand_side_by_side(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    store.put_vectors("m", {key: [1.0, 0.0] for key, _ in store.missing_vectors("m", 5)})
    store.put_vectors("n", {APPLE: [0.0, 2.0, 0.0]})
    assert store.missing_vectors("m", 5) == []
    assert store.missing_vectors("n", 5) == [(text_hash("pear"), "pear")]
    assert found(store, [1.0, 0.0], "m") == [("a.md", 1.0), ("b.md", 1.0)]
    assert found(store, [0.0, 1.0, 0.0], "n") == [("a.md", 1.0)]
    assert found(store, [1.0, 0.0], "m") == [("a.md", 1.0), ("b.md", 1.0)]


def test_a_third_space_takes_the_place_of_the_one_written_longest_ago(
    store: BaseFileStore,
) -> None:
    store.apply([indexed("a.md", "apple")])
    for space in ("m", "n", "m", "o"):
        store.put_vectors(space, {APPLE: [1.0, 0.0]})
    assert [len(store.missing_vectors(space, 5)) for space in "mno"] == [0, 1, 0]
    assert [len(found(store, [1.0, 0.0], space)) for space in "mno"] == [1, 0, 1]


def test_two_programs_take_turns_and_pay_once(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    local_store.apply([indexed("a.md", "apple")])
    for text in ("pear", "plum"):
        local_store.put_vectors(
            "m", {k: [1.0, 0.0] for k, _ in local_store.missing_vectors("m", 9)}
        )
        other.put_vectors("n", {k: [0.0, 1.0] for k, _ in other.missing_vectors("n", 9)})
        assert found(local_store, [1.0, 0.0], "m")[0] == ("a.md", 1.0)
        assert found(other, [1.0, 0.0], "n")[0] == ("a.md", 0.0)
        other.apply([indexed(f"{text}.md", text)])
        assert [len(local_store.missing_vectors(space, 9)) for space in "mn"] == [1, 1]


def test_both_outlive_a_rebuild(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "apple")])
    for space in ("m", "n"):
        local_store.put_vectors(space, {APPLE: [1.0, 0.0]})
    local_store.clear()
    local_store.apply([indexed("moved.md", "apple")])
    assert [local_store.missing_vectors(space, 5) for space in "mn"] == [[], []]
    assert found(local_store, [1.0, 0.0], "m") == [("moved.md", 1.0)]


def test_vectors_of_deleted_texts_go_from_both(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "apple")])
    for space in ("m", "n"):
        local_store.put_vectors(space, {APPLE: [1.0, 0.0]})
    local_store.apply([], ["a.md"])
    local_store.optimize()
    local_store.apply([indexed("a.md", "apple")])
    assert [len(local_store.missing_vectors(space, 5)) for space in "mn"] == [1, 1]


def test_a_third_space_keeps_no_vector_of_the_space_it_replaces(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    both = {key: [1.0, 0.0] for key, _ in store.missing_vectors("m", 9)}
    store.put_vectors("m", both)
    store.put_vectors("n", both)
    store.put_vectors("o", {APPLE: [1.0, 0.0]})
    assert len(store.missing_vectors("o", 9)) == 1
    assert len(found(store, [1.0, 0.0], "o")) == 1
