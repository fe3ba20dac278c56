"""Nodes by filter, in the order of a field or metadata key, alike in every store."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.nodes import MemoryNode, MemoryType, NodeFilter, Scalar
from agentscope_reme.typed.stores import BaseVectorStore, engine
from agentscope_reme.typed.stores.engine_store import EngineStore
from tests.typed_stores.builders import EVERYTHING, between, equal, ids, node, of


def sorted_by(store: BaseVectorStore, key: str | None, **options: bool) -> list[str]:
    return ids(store.list(EVERYTHING, sort_key=key, **options))  # type: ignore[arg-type]


def test_the_newest_come_first_unless_said_otherwise(store: BaseVectorStore) -> None:
    days = {"a": "2026-06-02", "b": "2026-06-10", "c": "2025-12-31", "unknown": ""}
    store.put([node(k, time_created=day and f"{day} 08:00:00") for k, day in days.items()])
    assert sorted_by(store, None) == ["b", "a", "c", "unknown"]
    assert sorted_by(store, None, reverse=False) == ["c", "a", "b", "unknown"]
    assert ids(store.list(EVERYTHING, limit=2)) == ["b", "a"]
    assert store.list(EVERYTHING, limit=0) == []


def test_numbers_sort_as_numbers(store: BaseVectorStore) -> None:
    values = {"a": 10, "b": 9, "c": -2.5, "d": 100, "e": 9.5}
    store.put([node(key, metadata={"n": value}, score=value) for key, value in values.items()])
    store.put([node("z"), node("y")])
    assert sorted_by(store, "n", reverse=False) == ["c", "b", "e", "a", "d", "y", "z"]
    assert sorted_by(store, "n") == ["d", "a", "e", "b", "c", "y", "z"]
    assert sorted_by(store, "score", reverse=False)[:3] == ["c", "y", "z"]


def test_ties_are_broken_by_id_whichever_way(store: BaseVectorStore) -> None:
    store.put([node(key, metadata={"n": 1}) for key in "dbca"])
    assert sorted_by(store, "n") == [*"abcd"]
    assert sorted_by(store, "n", reverse=False) == [*"abcd"]


def test_kinds_do_not_mix(store: BaseVectorStore) -> None:
    values: dict[str, Scalar] = {"a": "5", "b": 5, "c": True, "d": False, "e": "", "f": 1}
    store.put([node(key, metadata={"v": value}) for key, value in values.items()])
    store.put([node("g")])
    assert sorted_by(store, "v", reverse=False) == [*"dcfbaeg"]
    assert sorted_by(store, "v") == [*"abfcdeg"]
    for key, value in values.items():
        assert ids(store.list(equal(v=value))) == [key]
    assert ids(store.list(equal(v=5.0))) == ["b"]
    assert ids(store.list(between(v=(0, 9)), sort_key="v")) == ["b", "f"]
    assert ids(store.list(between(v=("0", "9")))) == ["a"]


@pytest.mark.parametrize(
    "key",
    [
        "n; DROP TABLE nodes",
        "' OR 1=1 --",
        '$."a"',
        "a.b",
        "a[0]",
        "[x]",
        "#",
        "é 漢",
        "type",
        "key",
    ],
)
def test_a_key_is_only_ever_a_name(store: BaseVectorStore, key: str) -> None:
    store.put([node("a", metadata={key: 2}), node("b", metadata={key: 10}), node("c")])
    assert sorted_by(store, key, reverse=False) == ["a", "b", "c"]
    assert ids(store.list(NodeFilter(equal={key: 2}))) == ["a"]
    assert ids(store.list(NodeFilter(between={key: (3, 11)}))) == ["b"]
    assert store.count(EVERYTHING) == 3


def test_every_field_can_be_asked_for(store: BaseVectorStore) -> None:
    full = MemoryNode(
        memory_id="x",
        memory_type=MemoryType.TOOL,
        memory_target="search",
        when_to_use="w",
        content="c",
        message_time="2026-06-20 09:00:00",
        ref_memory_id="h",
        time_created="2026-06-20 10:00:00",
        time_modified="2026-06-20 11:00:00",
        author="m",
        score=0.5,
    )
    store.put([full, node("other")])
    for key, value in full.model_dump(mode="json", exclude={"metadata"}).items():
        assert ids(store.list(NodeFilter(equal={key: value}))) == ["x"]
        assert "x" in ids(store.list(NodeFilter(between={key: (value, value)})))
    assert ids(store.list(equal(author=""))) == ["other"]
    assert ids(store.list(equal(score=""))) == []
    assert ids(store.list(equal(author=0))) == []


def test_ranges_of_times_include_both_ends(store: BaseVectorStore) -> None:
    store.put(
        [node(f"d{day:02}", message_time=f"2026-06-{day:02} 12:00:00") for day in range(1, 29)]
    )
    store.put([node("unknown")])
    june = between(message_time=("2026-06-05 12:00:00", "2026-06-07 12:00:00"))
    assert sorted(ids(store.list(june))) == ["d05", "d06", "d07"]
    assert store.count(june) == 3
    assert store.count(between(message_time=("2026-06-05 12:00:01", "2026-06-07 11:59:59"))) == 1
    assert store.count(between(message_time=("2026-06-08", "2026-06-07"))) == 0
    assert store.count(between(message_time=("2026-06-10", "2026-06-19~"))) == 10


def test_every_condition_must_hold(store: BaseVectorStore) -> None:
    store.put(
        [
            node("a", target="alice", metadata={"x": 1, "y": "k"}),
            node("b", target="alice", metadata={"x": 1, "y": "l"}),
            node("c", target="bob", metadata={"x": 1, "y": "k"}),
        ]
    )
    where = NodeFilter(targets=frozenset({"alice"}), equal={"x": 1, "y": "k"})
    assert ids(store.list(where)) == ["a"]
    assert store.count(where) == 1
    assert store.count(of("alice", "bob")) == 3
    assert store.count(of()) == 0


def test_long_texts_are_compared_whole(store: BaseVectorStore) -> None:
    stem = "word " * 2000
    store.put([node("a", f"{stem}one"), node("b", f"{stem}two"), node("c", stem[:-1])])
    assert ids(store.list(equal(content=f"{stem}two"))) == ["b"]
    assert store.count(equal(content=f"{stem}two")) == 1
    assert sorted(ids(store.list(between(content=(stem, f"{stem}p"))))) == ["a"]
    assert sorted_by(store, "content", reverse=False) == ["c", "a", "b"]


def test_more_than_a_page_is_no_limit(
    store: BaseVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 10_200
    if isinstance(store, EngineStore):
        monkeypatch.setattr(engine, "AT_ONCE", 20)
        size = 50
    nodes = [node(f"n{number:05}", metadata={"n": number}) for number in range(size)]
    store.put(nodes)
    assert store.count(EVERYTHING) == size
    assert ids(store.list(EVERYTHING, sort_key="n", limit=2)) == ids(nodes[-1:-3:-1])
    assert len(store.list(EVERYTHING)) == size


@pytest.mark.parametrize(
    "where",
    [
        NodeFilter(between={"n": (1, "2")}),
        NodeFilter(between={"n": (False, True)}),
        NodeFilter(between={"n": (1,)}),  # type: ignore[dict-item]
        NodeFilter(equal={"n": float("nan")}),
        NodeFilter(equal={"n": None}),  # type: ignore[dict-item]
        NodeFilter(equal={"n": "\ud800"}),
    ],
)
def test_filters_that_make_no_sense_are_refused(store: BaseVectorStore, where: NodeFilter) -> None:
    if type(store).__name__ == "ReferenceStore":
        return
    for ask in (store.list, store.count, store.clear):
        with pytest.raises(BadInput):
            ask(where)
    with pytest.raises(BadInput):
        store.search([1], space_id="s", limit=1, where=where)


def test_the_words_of_nodes_come_in_the_order_of_a_list(store: BaseVectorStore) -> None:
    store.put(
        [
            node("a", "likes tea", time_created="2026-06-02 08:00:00"),
            node("b", "a\0b\n", when_to_use="odd 字", time_created="2026-06-10 08:00:00"),
            node("c", "likes tea", target="bob", time_created="2026-06-11 08:00:00"),
            node("d", "old", metadata={"n": 1}),
        ]
    )
    found = store.words(of("alice"))
    assert list(found.items()) == [("b", "odd 字\na\0b\n"), ("a", "\nlikes tea"), ("d", "\nold")]
    assert store.words(equal(n=1)) == {"d": "\nold"}
    assert store.words(of("nobody")) == {}
