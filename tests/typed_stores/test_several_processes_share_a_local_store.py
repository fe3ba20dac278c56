"""Stores on one file, in this process and in others, see what the others wrote at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentscope_reme.typed.stores import local_database, local_spaces
from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.builders import EVERYTHING, ids, node, of

WRITER = """
import sys
from pathlib import Path
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.local import LocalVectorStore
folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = LocalVectorStore(folder)
store.open()
for number in range(count):
    one = MemoryNode(
        memory_id=f"{name}{number}", memory_type="personal", memory_target=name, content="c"
    )
    store.put([one], space_id="s", vectors={one.memory_id: [1.0, number]})
store.close()
"""


@pytest.fixture
def other(tmp_path: Path, local_store: LocalVectorStore) -> Iterator[LocalVectorStore]:
    store = LocalVectorStore(tmp_path)
    store.open()
    yield store
    store.close()


def near(store: LocalVectorStore, vector: list[float], limit: int = 9) -> list[str]:
    return ids(
        [hit.node for hit in store.search(vector, space_id="s", limit=limit, where=EVERYTHING)]
    )


def test_writers_in_other_processes_lose_nothing(
    local_store: LocalVectorStore, tmp_path: Path
) -> None:
    local_store.put([node("mine")], space_id="s", vectors={"mine": [1, 0]})
    assert near(local_store, [1, 0]) == ["mine"]
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    children = [subprocess.Popen([*command, name, "20"]) for name in ("alice", "bob")]
    for number in range(20):
        local_store.put([node(f"mine{number}")], space_id="s", vectors={f"mine{number}": [0, 1]})
        near(local_store, [1, 0])
    assert [child.wait() for child in children] == [0, 0]
    assert local_store.count(EVERYTHING) == 61
    assert len(near(local_store, [1, 0], 100)) == 61
    assert local_store.count(of("bob")) == 20


def test_changes_of_every_kind_are_seen(
    local_store: LocalVectorStore, other: LocalVectorStore
) -> None:
    local_store.put([node("a"), node("b")], space_id="s", vectors={"a": [1, 0], "b": [0, 1]})
    assert near(other, [1, 0]) == ["a", "b"]
    other.put([node("b", "something else")], space_id="s", vectors={"b": [1, 0.01]})
    other.put([node("c", target="bob")], space_id="s", vectors={"c": [1, 0.001]})
    assert near(local_store, [1, 0]) == ["a", "c", "b"]
    local_store.delete(["a"])
    local_store.put([node("c", "says nothing", target="bob")])
    assert near(other, [1, 0]) == ["b"]
    other.clear(EVERYTHING)
    other.put([node("wide")], space_id="s", vectors={"wide": [1, 2, 3]})
    assert near(local_store, [1, 2, 3]) == ["wide"]


def test_one_that_is_far_behind_loads_everything(
    local_store: LocalVectorStore, other: LocalVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_spaces, "KEPT_CHANGES", 3)
    other.put([node("first")], space_id="s", vectors={"first": [1, 0]})
    assert near(other, [1, 0]) == ["first"]
    for number in range(9):
        local_store.put([node(f"n{number}")], space_id="s", vectors={f"n{number}": [0, 1 + number]})
    local_store.delete(["first"])
    assert sorted(near(other, [0, 1], 20)) == [f"n{number}" for number in range(9)]


def test_threads_share_one_store(local_store: LocalVectorStore) -> None:
    def write(name: str) -> int:
        for number in range(15):
            key = f"{name}{number}"
            local_store.put([node(key, target=name)], space_id="s", vectors={key: [1, number]})
            assert key in near(local_store, [1, number], 100)
            if number % 5 == 4:
                assert local_store.delete([key]) == [key]
        return local_store.count(of(name))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(write, "abcd")) == [12] * 4
    assert local_store.count(EVERYTHING) == 48
    assert local_store.spaces() == {"s": 48}


def test_who_opens_it_does_not_wait_for_one_who_writes(
    local_store: LocalVectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_store.put([node("a")])
    monkeypatch.setattr(local_database, "_BUSY_SECONDS", 0.0)
    with local_store.changing():
        local_store.put([node("b")])
        reader = LocalVectorStore(tmp_path)
        reader.open()
        assert ids(reader.list(EVERYTHING)) == ["a"]
    assert reader.count(EVERYTHING) == 2
    reader.close()
