"""Every node and every vector, from any store to any other, and to a file and back."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.stores import BaseVectorStore, copy_store, dump, engine, load
from agentscope_reme.typed.stores.engine_store import EngineStore
from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.builders import EVERYTHING, ids, node

SMALL, LARGE = 30, 1_020


@pytest.fixture
def filled(store: BaseVectorStore, monkeypatch: pytest.MonkeyPatch) -> BaseVectorStore:
    monkeypatch.setattr(engine, "AT_ONCE", 20)
    random = np.random.default_rng(11)
    size = SMALL if isinstance(store, EngineStore) else LARGE
    nodes = [
        node(f"n{number:04} 漢", target=f"u{number % 7}", metadata={"n": number, "ok": True})
        for number in range(size)
    ]
    store.put(
        nodes,
        space_id="s/5",
        vectors={found.memory_id: random.normal(size=5) for found in nodes[20:]},
    )
    few = {found.memory_id: (found.content, random.normal(size=3)) for found in nodes[::9]}
    store.put_vectors("t/3", few)
    return store


@pytest.fixture
def other(tmp_path: Path) -> LocalVectorStore:
    store = LocalVectorStore(tmp_path / "other")
    store.open()
    return store


def assert_same(one: BaseVectorStore, two: BaseVectorStore) -> None:
    assert one.list(EVERYTHING, sort_key="n") == two.list(EVERYTHING, sort_key="n")
    assert one.spaces() == two.spaces()
    assert set(one.spaces()) == {"s/5", "t/3"}
    every = ids(one.list(EVERYTHING))
    for space in one.spaces():
        ours, theirs = one.vectors(space, every), two.vectors(space, every)
        assert ours.keys() == theirs.keys()
        assert all(np.allclose(ours[key], theirs[key], atol=1e-6) for key in ours)


def test_a_copy_is_the_same_and_may_be_made_twice(
    filled: BaseVectorStore, other: LocalVectorStore
) -> None:
    other.put([node("was here before", metadata={"n": -1})])
    size = filled.count(EVERYTHING)
    assert copy_store(filled, other) == size
    assert copy_store(filled, other) == size
    assert other.count(EVERYTHING) == size + 1
    other.delete(["was here before"])
    assert_same(filled, other)
    other.close()


def test_a_copy_into_it_is_the_same(store: BaseVectorStore, other: LocalVectorStore) -> None:
    other.put([node("a"), node("b")], space_id="s", vectors={"a": [1, 0]})
    assert copy_store(other, store) == 2
    assert store.spaces() == {"s": 1}
    assert sorted(ids(store.list(EVERYTHING))) == ["a", "b"]
    other.close()


def test_a_dump_is_read_back_exactly(filled: BaseVectorStore, other: LocalVectorStore) -> None:
    file = io.StringIO()
    size = filled.count(EVERYTHING)
    assert dump(filled, file) == size
    file.seek(0)
    assert load(other, file) == size
    assert_same(filled, other)
    other.close()


def test_a_dump_without_vectors_leaves_them_missing(other: LocalVectorStore) -> None:
    other.put([node("a")], space_id="s", vectors={"a": [1, 0]})
    file = io.StringIO()
    dump(other, file, with_vectors=False)
    header, line = file.getvalue().splitlines()
    assert json.loads(header) == {"format": "agentscope-reme typed memories", "version": 1}
    assert json.loads(line)["vectors"] == {}
    other.clear(EVERYTHING)
    file.seek(0)
    load(other, file)
    assert other.missing_vectors("s", 9) == [("a", "says a")]
    other.close()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "line 1"),
        ("{}\n", "no dump"),
        ('{"format": "agentscope-reme typed memories", "version": 9}\n', "no dump"),
        ("HEADER[1]\n", "line 2"),
        ("HEADER{\n", "line 2"),
        ('HEADER{"node": {"memory_id": "a"}}\n', "line 2"),
        ('HEADER{"node": NODE, "vectors": {"s": "no base64"}}\n', "line 2"),
        ('HEADER{"node": NODE, "vectors": {"s": "AAAA"}}\n', "line 2"),
    ],
)
def test_what_is_no_dump_is_refused(other: LocalVectorStore, text: str, wrong: str) -> None:
    header = '{"format":"agentscope-reme typed memories","version":1}\n'
    text = text.replace("HEADER", header).replace("NODE", node("a").model_dump_json())
    with pytest.raises(BadInput, match=wrong):
        load(other, io.StringIO(text))
    assert other.count(EVERYTHING) == 0
    other.close()
