"""A write to a database that stops anywhere leaves no wrong vector, and can simply be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import FoundNode
from agentscope_reme.typed.stores import make_store
from agentscope_reme.typed.stores.attributes import Condition
from agentscope_reme.typed.stores.elasticsearch import ElasticsearchVectorStore
from agentscope_reme.typed.stores.engine import Engine, Near, Page, Record
from agentscope_reme.typed.stores.engine_store import EngineStore
from agentscope_reme.typed.stores.qdrant import QdrantEngine
from tests.typed_stores.builders import EVERYTHING, ids, node, of
from tests.typed_stores.elasticsearch_server import Server, address

SPACE = "s/2"


class Unplugged(Exception):
    """The power is gone."""


class MortalEngine(Engine):
    """Qdrant, until a chosen write."""

    name: ClassVar = "Qdrant"
    faults: ClassVar = (*QdrantEngine.faults, Unplugged)

    def __init__(self) -> None:
        self._engine = QdrantEngine({"location": ":memory:"})
        self.writes_left: int | None = None
        self.writes = 0

    def _count(self) -> None:
        self.writes += 1
        if self.writes_left is not None:
            if not self.writes_left:
                raise Unplugged("no power")
            self.writes_left -= 1

    def open(self) -> None:
        self._engine.open()

    def close(self) -> None:
        self._engine.close()

    def ensure(self, collection: str, width: int | None) -> None:
        self._count()
        self._engine.ensure(collection, width)

    def drop(self, collection: str) -> None:
        self._count()
        self._engine.drop(collection)

    def put(self, collection: str, records: Sequence[Record]) -> None:
        self._count()
        self._engine.put(collection, records)

    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        self._count()
        self._engine.flag(collection, keys, name, value)

    def delete(self, collection: str, keys: Sequence[str]) -> None:
        self._count()
        self._engine.delete(collection, keys)

    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> Mapping[str, Record]:
        return self._engine.fetch(collection, keys, with_vectors=with_vectors)

    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        return self._engine.page(collection, conditions, size, after)

    def count(self, collection: str, conditions: Sequence[Condition]) -> int:
        return self._engine.count(collection, conditions)

    def nearest(
        self, collection: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> Sequence[Near]:
        return self._engine.nearest(collection, vector, limit, conditions)


def first_state(store: EngineStore) -> None:
    store.put(
        [node("a", "tea"), node("b", "coffee"), node("c", "milk")],
        space_id=SPACE,
        vectors={"a": [1, 0], "b": [0, 1], "c": [1, 1]},
    )
    store.put_vectors("t/2", {"a": ("tea", [0, 1])})


def change(store: EngineStore) -> None:
    store.put(
        [node("a", "juice"), node("b", "coffee", "bob"), node("new", "water")],
        space_id=SPACE,
        vectors={"a": [-1, 0], "new": [0, -1]},
    )


def forget(store: EngineStore) -> None:
    store.delete(["a", "b"])


def backfill(store: EngineStore) -> None:
    store.put_vectors("t/2", {"b": ("coffee", [1, 0]), "c": ("milk", [1, 1])})


OLD = {("tea", "alice"), ("coffee", "alice"), ("milk", "alice")}
MADE_OF = {"tea": [1, 0], "coffee": [0, 1], "milk": [1, 1], "juice": [-1, 0], "water": [0, -1]}


def turn_to_a_third_model(store: EngineStore) -> None:
    store.put_vectors("u/2", {"a": ("tea", [1, 1]), "c": ("milk", [1, 1])})


@pytest.mark.parametrize("work", [change, forget, backfill, turn_to_a_third_model])
def test_it_stops_before_each_write(work: Callable[[EngineStore], None], tmp_path: Path) -> None:
    engine = MortalEngine()
    store = EngineStore(engine, "reme", tmp_path)
    store.open()
    first_state(store)
    before = engine.writes
    work(store)
    writes = engine.writes - before
    wanted = told(store)
    store.close()
    assert writes >= 2
    for write in range(writes):
        engine = MortalEngine()
        store = EngineStore(engine, "reme", tmp_path)
        store.open()
        first_state(store)
        engine.writes_left = write
        with pytest.raises(StorageFailed, match="no power"):
            work(store)
        engine.writes_left = None
        assert_no_wrong_vector(store)
        fill_up(store)
        assert_no_wrong_vector(store)
        assert store.missing_vectors(SPACE, 9) == []
        assert len(found(store)) == store.count(EVERYTHING)
        work(store)
        assert told(store) == wanted
        store.close()


def told(store: EngineStore) -> object:
    fill_up(store)
    nodes = [(n.memory_id, n.content, n.memory_target) for n in store.list(EVERYTHING)]
    return sorted(nodes), [hit.node.memory_id for hit in found(store)], store.spaces()[SPACE]


def found(store: EngineStore) -> list[FoundNode]:
    return store.search([1, 0.1], space_id=SPACE, limit=9, where=EVERYTHING)


def fill_up(store: EngineStore) -> None:
    for space in (SPACE, "t/2", SPACE):  # an old third one may have taken the place of the first
        missing = store.missing_vectors(space, 9)
        store.put_vectors(space, {key: (text, MADE_OF[text]) for key, text in missing})


def assert_no_wrong_vector(store: EngineStore) -> None:
    """Who is found is found by what it says now, in the scope it is in now."""
    for memory in store.list(EVERYTHING):
        hits = store.search(
            MADE_OF[memory.content], space_id=SPACE, limit=9, where=of(memory.memory_target)
        )
        similarity = {hit.node.memory_id: hit.similarity for hit in hits}
        assert similarity.get(memory.memory_id, 1.0) == pytest.approx(1, abs=1e-5)
        assert all(hit.node.memory_target == memory.memory_target for hit in hits)


def test_vectors_nobody_knows_are_no_answers(tmp_path: Path) -> None:
    """What another process left behind: a vector of an older text, and one of a node that went."""
    engine = MortalEngine()
    store = EngineStore(engine, "reme", tmp_path)
    store.open()
    first_state(store)
    other = EngineStore(engine, "reme", tmp_path)
    other._nodes = "elsewhere-nodes"  # type: ignore[misc]
    other.open()
    other.put(
        [node("a", "an old text"), node("gone")],
        space_id=SPACE,
        vectors={"a": [1, 0], "gone": [1, 0]},
    )
    assert ids([hit.node for hit in found(store)]) == ["c", "b"]
    assert list(store.vectors(SPACE, ["a", "b", "gone"])) == ["b"]
    store.close()


def test_a_server_that_refuses_is_told_and_may_be_asked_again(
    elasticsearch_server: Server, tmp_path: Path
) -> None:
    store = make_store("es", tmp_path, hosts=address(elasticsearch_server), collection="refused")
    assert isinstance(store, ElasticsearchVectorStore)
    store.open()
    elasticsearch_server.refused_writes = 1
    with pytest.raises(StorageFailed, match="queue is full"):
        store.put([node("a")])
    assert store.count(EVERYTHING) == 0
    store.put([node("a")])
    assert store.count(EVERYTHING) == 1
    store.close()


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    for backend, options in (
        ("elasticsearch", {"hosts": "http://127.0.0.1:9"}),
        ("qdrant", {"host": "127.0.0.1", "port": 9}),
    ):
        store = make_store(backend, tmp_path, **options)
        with pytest.raises(StorageFailed, match="could not be reached"):
            store.open()


class WatchedEngine(MortalEngine):
    """Remembers which collections were read page by page."""

    def __init__(self) -> None:
        super().__init__()
        self.scanned: list[str] = []

    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        self.scanned.append(collection)
        return super().page(collection, conditions, size, after)


@pytest.mark.parametrize("work", [change, backfill])
def test_a_write_reads_the_catalogue_of_spaces_once(
    work: Callable[[EngineStore], None], tmp_path: Path
) -> None:
    engine = WatchedEngine()
    store = EngineStore(engine, "reme", tmp_path)
    store.open()
    first_state(store)
    engine.scanned.clear()
    work(store)
    assert engine.scanned == ["reme-spaces"]
