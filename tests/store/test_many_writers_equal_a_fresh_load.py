"""Several stores on one database, each looking at it now and then, never disagree with it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.errors import StorageFailed
from agentscope_reme.settings import Settings
from agentscope_reme.store import index_writer as index_writer_module
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.workspace import Workspace
from tests.store.builders import card, indexed

STORES = 3
NAMES = 7
QUERIES = ["zebra", "zebra filler", "word1 word2", "card"]
PARTS = st.lists(st.sampled_from(["zebra", "filler", "word1", "word2"]), max_size=40)
FILES = st.lists(st.tuples(st.integers(0, NAMES - 1), PARTS), max_size=4)
STEPS = st.lists(
    st.tuples(
        st.integers(0, STORES - 1),
        st.sampled_from(["apply", "apply", "apply", "look", "optimize", "reopen", "vectors"]),
        FILES,
        st.lists(st.integers(0, NAMES - 1), max_size=3),
    ),
    max_size=30,
)
Step = tuple[int, str, list[tuple[int, list[str]]], list[int]]


@pytest.fixture
def other(workspace: Workspace, local_store: LocalFileStore) -> Iterator[LocalFileStore]:
    store = opened(workspace)
    yield store
    store.close()


def opened(workspace: Workspace) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    return store


def name(number: int) -> str:
    return f"digest/{number}.md"


def take(store: LocalFileStore, step: Step) -> None:
    _store, what, files, gone = step
    if what == "apply":
        texts = {number: " ".join(parts) for number, parts in files}
        upserts = [
            indexed(name(n), card("card", tags="t") + f"# A\n\n{t}\n") for n, t in texts.items()
        ]
        store.apply(upserts, [name(n) for n in gone])
    elif what == "look":
        store.refresh()
    elif what == "optimize":
        store.optimize()
    elif what == "reopen":
        store.close()
        store.open()
    elif texts_without := store.missing_vectors("space", 2):
        store.put_vectors("space", {key: [1.0, 0.5] for key, _text in texts_without})


def shown(store: LocalFileStore) -> list[Any]:
    found = []
    for query in QUERIES:
        for where in (None, SearchFilter(tags=("t",)), SearchFilter(path_prefix=name(3))):
            hits = store.keyword_search(query, limit=50, where=where)
            found.append([(h.chunk_id, h.path, h.start_line, round(h.score, 4)) for h in hits])
    return found


def run(steps: list[Step], *, check_often: bool = False) -> None:
    with ExitStack() as rooms:
        patch = rooms.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(index_writer_module, "LARGEST_TAIL", 9)
        workspace = Workspace(rooms.enter_context(tempfile.TemporaryDirectory()))
        stores = [opened(workspace) for _ in range(STORES)]
        for store in stores:
            rooms.callback(store.close)
        for step in steps:
            take(stores[step[0]], step)
            if check_often:
                assert stores[step[0]].audit() == {}
        fresh = opened(workspace)
        rooms.callback(fresh.close)
        assert fresh.audit() == {}
        expected = shown(fresh)
        for store in stores:
            assert shown(store) == expected
            assert store.audit() == {}
            assert_in_order(store)


def assert_in_order(store: LocalFileStore) -> None:
    index = store._session.state.index
    slots = np.concatenate([part.slots for part in (*index.segments, index.tail)])
    assert np.all(slots[1:] > slots[:-1])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_any_order_of_writers_ends_in_what_a_fresh_load_says(steps: list[Step]) -> None:
    run(steps)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_run_of_writers_is_right_at_every_step(seed: int) -> None:
    chance = random.Random(seed)
    words = ["zebra", "filler", "word1", "word2"]

    def files() -> list[tuple[int, list[str]]]:
        return [
            (chance.randrange(NAMES), chance.choices(words, k=chance.randrange(40)))
            for _ in range(chance.randrange(4))
        ]

    kinds = ["apply"] * 8 + ["look", "optimize", "reopen"]
    steps = [
        (
            chance.randrange(STORES),
            chance.choice(kinds),
            files(),
            chance.sample(range(NAMES), chance.randrange(3)),
        )
        for _ in range(120)
    ]
    run(steps, check_often=True)


def test_files_taken_over_at_once_are_gone_when_they_are_deleted(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    other.apply([indexed("b.md", "zebra one"), indexed("a.md", "zebra two")])
    other.apply([indexed("b.md", "zebra three")])
    local_store.refresh()
    other.apply([], ["a.md"])
    other.apply([], ["b.md"])
    assert local_store.keyword_search("zebra", limit=5) == []
    assert local_store.audit() == {}


def test_lists_that_name_no_file_are_read_anew(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "zebra"), indexed("b.md", "zebra")])
    local_store._session.state.files.pop("a.md")
    hits = local_store.keyword_search("zebra", limit=5)
    assert [hit.path for hit in hits] == ["a.md", "b.md"]
    assert local_store.audit() == {}


def test_lists_that_name_no_chunk_are_read_anew(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "zebra"), indexed("b.md", "zebra")])
    local_store._session.state.index.tail.slots[0] = 99
    hits = local_store.keyword_search("zebra", limit=5)
    assert [hit.path for hit in hits] == ["a.md", "b.md"]
    assert local_store.audit() == {}


def test_a_broken_filter_table_is_read_anew(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("digest/a.md", "zebra")])
    where = SearchFilter(path_prefix="digest/")
    local_store.keyword_search("zebra", limit=5, where=where)
    local_store._session.state.index.tail.owners[0] = 10_000_000
    assert [h.path for h in local_store.keyword_search("zebra", limit=5, where=where)] == [
        "digest/a.md"
    ]


def test_what_stays_contradictory_is_a_storage_error(local_store: LocalFileStore) -> None:
    def work() -> None:
        raise KeyError("no such file")

    with pytest.raises(StorageFailed, match="contradicts itself"):
        local_store._run(work)


def test_writing_over_a_broken_table_mends_it(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    local_store.apply([indexed("a.md", "zebra one"), indexed("b.md", "zebra two")])
    other.apply([indexed("b.md", "zebra three")])
    other._session.state.index.tail.slots[0] = 99  # further down than the next one
    local_store.apply([indexed("c.md", "zebra four")])
    assert len(other.keyword_search("zebra", limit=5)) == 3
    assert other.audit() == {}
    assert_in_order(other)


def test_a_segment_out_of_order_is_not_trusted(workspace: Workspace) -> None:
    store = opened(workspace)
    store.apply([indexed("a.md", "zebra one"), indexed("b.md", "zebra two")])
    tail = store._session.state.index.tail
    tail.slots[:] = tail.slots[::-1].copy()
    store._session.run(store._session.seal)
    store.close()
    again = opened(workspace)
    assert again.condition().incomplete  # made anew, to be filled from the files
    again.close()


def test_a_refresh_that_fails_half_way_is_made_up_for(
    local_store: LocalFileStore, other: LocalFileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.apply([indexed("b.md", "zebra one"), indexed("a.md", "zebra two")])
    files = local_store._session.state.files
    put = files.put

    def failing(*arguments: Any) -> None:
        monkeypatch.setattr(files, "put", put)
        raise MemoryError

    monkeypatch.setattr(files, "put", failing)
    with pytest.raises(MemoryError):
        local_store.refresh()
    other.apply([indexed("a.md", "zebra three")])
    assert len(local_store.keyword_search("zebra", limit=5)) == 2
    assert local_store.audit() == {}
    assert_in_order(local_store)


def test_a_contradiction_on_the_disk_starts_an_index_to_be_filled(
    local_store: LocalFileStore,
) -> None:
    local_store.apply([indexed("a.md", "zebra"), indexed("b.md", "zebra")])
    local_store.optimize()
    lost: list[str] = []
    local_store.on_lost = lambda: lost.append("lost")
    local_store._connection.execute("DELETE FROM chunks WHERE slot = 0")
    assert local_store.keyword_search("zebra", limit=5) == []
    assert lost == ["lost"]
    assert local_store.condition().incomplete
