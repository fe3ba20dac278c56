"""Readers see what others commit, without polling; several stores on one workspace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentscope_reme.settings import Settings
from agentscope_reme.store import index_writer as index_writer_module
from agentscope_reme.store import local_store as local_store_module
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.workspace import Workspace
from tests.store.builders import card, indexed, rare

WRITER = """
import sys
from agentscope_reme.workspace import Workspace
from agentscope_reme.settings import Settings
from agentscope_reme.store import FileIndexer, LocalFileStore
workspace, name, text = Workspace(sys.argv[1]), sys.argv[2], sys.argv[3]
store = LocalFileStore(workspace, settings=Settings())
store.open()
store.apply([FileIndexer(Settings()).index(name, text.encode(), mtime_ns=1)])
store.close()
"""


@pytest.fixture
def other(workspace: Workspace, local_store: LocalFileStore) -> Iterator[LocalFileStore]:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    yield store
    store.close()


def paths(store: LocalFileStore, query: str, where: SearchFilter | None = None) -> list[str]:
    return [hit.path for hit in store.keyword_search(query, limit=10, where=where)]


def test_another_process_writes(local_store: LocalFileStore, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path), "digest/wiki/a.md", "apple 苹果"]
    subprocess.run(command, check=True)
    assert paths(local_store, "apple") == ["digest/wiki/a.md"]
    assert paths(local_store, "苹果") == ["digest/wiki/a.md"]


def test_a_reader_sees_the_next_state(local_store: LocalFileStore, other: LocalFileStore) -> None:
    work = SearchFilter(tags=("work",))
    local_store.apply([indexed("a.md", card(body="apple [[b.md]]", tags="work"))])
    assert paths(other, "apple", work) == ["a.md"]
    assert other.inlinks("b.md")[0].source_path == "a.md"
    other.apply([indexed("a.md", card(body="avocado [[c.md]]", tags="play"))])
    assert paths(local_store, "apple") == []
    assert paths(local_store, "avocado", work) == []
    assert paths(local_store, "avocado") == ["a.md"]
    assert local_store.inlinks("b.md") == []
    assert len(local_store.inlinks("c.md")) == 1
    local_store.apply([], ["a.md"])
    assert paths(other, "avocado") == []
    assert other.stats().files == 0


def test_scores_are_the_same_whoever_wrote(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    for number in range(20):
        writer = local_store if number % 2 else other
        text = card("Fruit", "about fruit", f"apple {'pear ' * number}", "t")
        writer.apply([indexed(f"digest/wiki/{number % 7}.md", text)])
    for query in ("apple", "pear fruit", "t"):
        assert local_store.keyword_search(query, limit=9) == other.keyword_search(query, limit=9)


def test_segments_written_by_one_are_taken_over_by_the_other(
    local_store: LocalFileStore, other: LocalFileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer_module, "LARGEST_TAIL", 5)
    for number in range(40):
        writer = local_store if number % 3 else other
        writer.apply([indexed(f"digest/wiki/{number % 11}.md", f"apple {rare(number)}")])
        if number == 20:
            other.optimize()
    for store in (local_store, other):
        assert len(paths(store, "apple")) == 10
        assert paths(store, rare(38)) == ["digest/wiki/5.md"]
        assert paths(store, rare(5)) == []


def test_a_reader_far_behind_loads_everything(
    local_store: LocalFileStore, other: LocalFileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_store_module, "_KEPT_CHANGES", 2)
    for number in range(8):
        local_store.apply([indexed(f"{number}.md", f"apple number{number}")])
    local_store.optimize()
    assert len(paths(other, "apple")) == 8


def test_a_new_generation_is_noticed(local_store: LocalFileStore, other: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "apple")])
    assert paths(other, "apple") == ["a.md"]
    local_store.clear()
    assert paths(other, "apple") == []
    other.apply([indexed("b.md", "apple")])
    assert paths(local_store, "apple") == ["b.md"]


def test_vectors_written_by_another(local_store: LocalFileStore, other: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "apple")])
    assert other.vector_search([1.0, 0.0], limit=3) == []
    (key, _text) = local_store.missing_vectors("m", 3)[0]
    local_store.put_vectors("m", {key: [1.0, 0.0]})
    assert [h.path for h in other.vector_search([1.0, 0.0], limit=3)] == ["a.md"]
    other.apply([indexed("b.md", "apple")])
    assert [h.path for h in local_store.vector_search([1.0, 0.0], limit=3)] == ["a.md", "b.md"]
