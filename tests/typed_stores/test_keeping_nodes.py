"""What is put is there, the same for good, until it is replaced or deleted."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.nodes import MemoryType, NodeFilter
from agentscope_reme.typed.stores import BaseVectorStore
from tests.typed_stores.builders import EVERYTHING, equal, ids, node, of

WHOLE = node(
    "m1",
    "likes tea",
    memory_type=MemoryType.TOOL,
    when_to_use="when drinks are served",
    message_time="2026-06-20 09:30:00",
    ref_memory_id="h1",
    time_created="2026-06-20 09:31:00",
    time_modified="2026-06-21 10:00:00",
    author="a model",
    score=0.75,
    metadata={"calls": 3, "rate": 0.5, "works": True, "note": "green", "big": 2**60 + 1},
)


def test_a_node_comes_back_as_it_was(store: BaseVectorStore) -> None:
    store.put([WHOLE])
    (found,) = store.get(["m1"])
    assert found == WHOLE
    assert type(found.metadata["works"]) is bool
    assert type(found.metadata["calls"]) is int


def test_get_keeps_the_order_that_was_asked_for(store: BaseVectorStore) -> None:
    store.put([node("a"), node("b"), node("c")])
    assert ids(store.get(["c", "unknown", "a"])) == ["c", "a"]
    assert store.get([]) == []
    assert store.get(["\ud800", "a"]) == [node("a")]
    assert store.delete(["\ud800"]) == []


def test_the_same_id_replaces(store: BaseVectorStore) -> None:
    store.put([node("a", "old", metadata={"gone": 1}), node("b")])
    store.put([node("a", "new", metadata={"here": 2})])
    assert store.get(["a"])[0].content == "new"
    assert store.count(EVERYTHING) == 2
    assert store.count(equal(gone=1)) == 0
    assert store.count(equal(here=2)) == 1


def test_the_last_of_two_with_one_id_in_a_call_stays(store: BaseVectorStore) -> None:
    store.put([node("a", "first"), node("a", "second")])
    assert store.get(["a"])[0].content == "second"
    assert store.count(EVERYTHING) == 1


def test_the_same_text_for_two_people_is_two_memories(store: BaseVectorStore) -> None:
    store.put([node("a", "likes tea", "alice"), node("b", "likes tea", "bob")])
    assert store.delete(["a"]) == ["a"]
    assert ids(store.list(of("bob"))) == ["b"]
    assert store.list(of("alice")) == []


def test_a_memory_may_move_to_another_target(store: BaseVectorStore) -> None:
    store.put([node("a", "x", "alice")], space_id="s", vectors={"a": [1.0, 0.0]})
    store.put([node("a", "x", "bob")])
    assert store.search([1, 0], space_id="s", limit=3, where=of("alice")) == []
    assert len(store.search([1, 0], space_id="s", limit=3, where=of("bob"))) == 1


def test_delete_tells_what_was_there(store: BaseVectorStore) -> None:
    store.put([node("a"), node("b"), node("c")])
    assert store.delete(["c", "nobody", "a", "a"]) == ["c", "a"]
    assert store.delete(["c"]) == []
    assert store.delete([]) == []
    assert ids(store.list(EVERYTHING)) == ["b"]


def test_clear_forgets_those_that_are_meant(store: BaseVectorStore) -> None:
    store.put(
        [
            node("a", target="alice"),
            node("b", target="bob"),
            node("h", target="alice", memory_type=MemoryType.HISTORY),
        ],
        space_id="s",
        vectors={"a": [1, 0], "b": [0, 1]},
    )
    personal = NodeFilter(types=frozenset({MemoryType.PERSONAL}), targets=frozenset({"alice"}))
    assert store.clear(personal) == 1
    assert ids(store.list(EVERYTHING)) == ["b", "h"]
    assert store.spaces() == {"s": 1}
    assert store.clear(EVERYTHING) == 2
    assert store.spaces() == {}
    assert store.count(EVERYTHING) == 0
    store.put([node("a")])
    assert store.count(EVERYTHING) == 1


def test_putting_nothing_is_nothing(store: BaseVectorStore) -> None:
    store.put([])
    assert store.count(EVERYTHING) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_that_cannot_be_compared_are_refused(store: BaseVectorStore, value: float) -> None:
    if type(store).__name__ == "ReferenceStore":
        return
    with pytest.raises(BadInput, match="finite"):
        store.put([node("a"), node("b", metadata={"n": value})])
    assert store.count(EVERYTHING) == 0


def test_pages_hold_every_node_once(store: BaseVectorStore) -> None:
    store.put([node(f"m{number:03}") for number in range(25)])
    pages = [*store.pages(10)]
    assert all(0 < len(page) <= 10 for page in pages)
    assert sorted(ids([found for page in pages for found in page])) == [
        f"m{number:03}" for number in range(25)
    ]


def test_closing_and_opening_again_keeps_everything(store: BaseVectorStore) -> None:
    store.put([WHOLE, node("b")], space_id="s", vectors={"m1": [1, 2, 3]})
    store.close()
    store.open()
    assert store.get(["m1", "b"]) == [WHOLE, node("b")]
    assert store.spaces() == {"s": 1}
    assert store.search([1, 2, 3], space_id="s", limit=1, where=EVERYTHING)[0].node == WHOLE
