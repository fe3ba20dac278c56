"""A new index is built beside the one in use and takes its place at once, in every process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

OLD, NEW = Settings(), Settings(chunk_byte_size=500)


def opened(workspace: Workspace, settings: Settings = OLD) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=settings)
    store.open()
    return store


@pytest.fixture
def store(workspace: Workspace) -> Iterator[LocalFileStore]:
    store = opened(workspace)
    store.apply([indexed("a.md", "apple"), indexed("b.md", "banana")])
    store.settle(store.condition())
    yield store
    store.close()


def paths(store: LocalFileStore, query: str) -> list[str]:
    return [hit.path for hit in store.keyword_search(query, limit=9)]


def generations(workspace: Workspace) -> list[str]:
    return sorted(f.name for f in workspace.metadata.glob("index-*.db"))


def current(workspace: Workspace) -> str:
    return (workspace.metadata / "CURRENT").read_text("utf-8").strip()


def nothing(_missed: list[str]) -> None:
    raise AssertionError("nothing was missed")


def test_searches_answer_from_the_old_index_until_the_new_one_takes_over(
    store: LocalFileStore, workspace: Workspace
) -> None:
    shadow = store.shadow()
    assert paths(store, "apple") == ["a.md"]
    shadow.store.apply([indexed("a.md", "avocado")])
    assert (paths(store, "apple"), paths(store, "avocado")) == (["a.md"], [])
    assert current(workspace) == "index-1.db"
    shadow.ready()
    assert shadow.take_over(nothing)
    shadow.close()
    assert (paths(store, "apple"), paths(store, "avocado")) == ([], ["a.md"])
    assert current(workspace) == "index-2.db"
    assert generations(workspace) == ["index-2.db"]
    store.apply([indexed("c.md", "cherry")])
    assert paths(store, "cherry") == ["c.md"]


def test_another_store_turns_to_the_new_index(store: LocalFileStore, workspace: Workspace) -> None:
    other = opened(workspace)
    assert paths(other, "apple") == ["a.md"]
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "avocado")])
    shadow.take_over(nothing)
    assert (paths(other, "apple"), paths(other, "avocado")) == ([], ["a.md"])
    other.apply([indexed("c.md", "cherry")])
    assert paths(store, "cherry") == ["c.md"]
    other.close()


def test_a_half_built_index_is_gone_on_with_and_never_read(
    store: LocalFileStore, workspace: Workspace
) -> None:
    assert not store.condition().half_built
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "avocado")])
    shadow.close()
    assert store.condition().half_built
    assert paths(store, "avocado") == []
    store.close()
    again = opened(workspace)
    assert paths(again, "banana") == ["b.md"]
    assert again.condition().half_built
    resumed = again.shadow()
    assert list(resumed.store.stamps()) == ["a.md"]
    resumed.store.apply([indexed("b.md", "blueberry")])
    assert resumed.take_over(nothing)
    assert paths(again, "avocado") == ["a.md"]
    assert not again.condition().half_built
    again.close()


def test_without_current_a_half_built_index_is_not_trusted(
    store: LocalFileStore, workspace: Workspace
) -> None:
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "avocado")])
    shadow.close()
    store.close()
    (workspace.metadata / "CURRENT").unlink()
    again = opened(workspace)
    assert again.stats().files == 0
    assert again.condition().incomplete
    again.close()


def test_a_half_built_index_of_other_rules_is_begun_anew(
    store: LocalFileStore, workspace: Workspace
) -> None:
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "avocado")])
    shadow.close()
    other = opened(workspace, NEW)
    fresh = other.shadow()
    assert fresh.store.stamps() == {}
    fresh.close()
    other.close()


def test_what_is_written_meanwhile_is_named(store: LocalFileStore, workspace: Workspace) -> None:
    other = opened(workspace)
    shadow = store.shadow()
    assert shadow.missed() == []
    store.apply([indexed("c.md", "cherry")])
    other.apply([indexed("d.md", "date")], ["a.md"])
    assert sorted(shadow.missed() or []) == ["a.md", "c.md", "d.md"]
    assert shadow.missed() == []
    other.apply([], ["d.md"])
    told: list[str] = []
    assert shadow.take_over(told.extend)
    assert told == ["d.md"]
    other.close()


def test_a_writer_that_comes_too_late_writes_to_the_new_index(
    store: LocalFileStore, workspace: Workspace
) -> None:
    other = opened(workspace)
    shadow = store.shadow()
    other.apply([indexed("c.md", "cherry")])
    late = threading.Thread(target=lambda: other.apply([indexed("late.md", "lime")]))

    def catch_up(missed: list[str]) -> None:
        late.start()
        shadow.store.apply([indexed(path, "caught") for path in missed])

    assert shadow.take_over(catch_up)
    late.join()
    assert paths(store, "caught") == ["c.md"]
    assert paths(store, "lime") == ["late.md"]
    other.close()


def test_a_generation_that_changed_under_the_builder_is_noticed(
    store: LocalFileStore, workspace: Workspace
) -> None:
    shadow = store.shadow()
    store.clear()
    assert shadow.missed() is None
    with pytest.raises(StorageFailed, match="removed"):
        shadow.take_over(nothing)
    shadow.close()
    assert store.stats().files == 0
    assert len(generations(workspace)) == 1


def test_vectors_come_along_by_text(store: LocalFileStore) -> None:
    store.put_vectors("m", {text_hash("apple"): [1.0, 0.0]})
    shadow = store.shadow()
    shadow.store.apply([indexed("moved.md", "apple"), indexed("b.md", "banana")])
    shadow.ready()
    store.put_vectors("m", {text_hash("banana"): [0.0, 1.0]})
    shadow.take_over(nothing)
    assert (store.stats().vectors, store.stats().vectors_pending) == (2, 0)
    assert [h.path for h in store.vector_search([1.0, 0.1], limit=1)] == ["moved.md"]


def test_vectors_of_another_space_that_came_meanwhile_are_carried_too(
    store: LocalFileStore,
) -> None:
    store.put_vectors("m", {text_hash("apple"): [1.0, 0.0]})
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "apple"), indexed("b.md", "banana")])
    shadow.ready()
    store.put_vectors("n", {text_hash("banana"): [0.0, 1.0, 0.0]})
    shadow.take_over(nothing)
    assert store.missing_vectors("n", 9) == [(text_hash("apple"), "apple")]
    assert store.missing_vectors("m", 9) == [(text_hash("banana"), "banana")]


def test_an_index_of_other_rules_answers_until_it_is_replaced(
    store: LocalFileStore, workspace: Workspace
) -> None:
    store.close()
    newer = opened(workspace, NEW)
    assert newer.condition().outdated
    assert paths(newer, "apple") == ["a.md"]
    shadow = newer.shadow()
    shadow.store.apply([indexed("a.md", "apple")])
    shadow.take_over(nothing)
    assert not newer.condition().outdated
    newer.close()
    newer.open()
    assert not newer.condition().outdated
    newer.close()


def test_two_processes_with_different_rules_do_not_undo_each_other(
    store: LocalFileStore, workspace: Workspace
) -> None:
    newer = opened(workspace, NEW)
    shadow = newer.shadow()
    shadow.store.apply([indexed("a.md", "apple")])
    shadow.take_over(nothing)
    place = current(workspace)
    assert paths(store, "apple") == ["a.md"]
    assert store.condition().outdated
    store.apply([indexed("b.md", "banana")])
    assert paths(newer, "banana") == ["b.md"]
    assert current(workspace) == place
    newer.close()
    newer.open()
    assert newer.condition().outdated, "it holds files cut by other rules"
    newer.close()


def test_a_damaged_shadow_is_given_up(store: LocalFileStore, workspace: Workspace) -> None:
    shadow = store.shadow()
    shadow.store.apply([indexed("a.md", "avocado")])
    with closing(sqlite3.connect(workspace.metadata / "index-2.db")) as connection, connection:
        connection.execute("DROP TABLE chunks")
    with pytest.raises(StorageFailed, match="damaged"):
        shadow.store.apply([indexed("b.md", "blueberry")])
    shadow.close()
    assert paths(store, "apple") == ["a.md"]
    assert not store.condition().half_built
    fresh = store.shadow()
    assert fresh.store.stamps() == {}
    fresh.close()


def test_a_generation_that_could_not_be_removed_goes_at_the_next_open(
    store: LocalFileStore, workspace: Workspace
) -> None:
    shadow = store.shadow()
    shadow.take_over(nothing)
    store.close()
    for name in ("index-1.db", "index-1.db-wal", ".CURRENT.0123abcd.tmp"):
        (workspace.metadata / name).write_bytes(b"left behind")
    store.open()
    assert generations(workspace) == ["index-2.db"]
    assert not list(workspace.metadata.glob("index-1.*"))
