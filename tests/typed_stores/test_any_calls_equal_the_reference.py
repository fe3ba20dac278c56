"""Whatever is called in whatever order, a store answers what the written contract answers.

``REME_STORE_EXAMPLES`` sets how many sequences are tried.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.nodes import FoundNode, MemoryNode, MemoryType, NodeFilter
from agentscope_reme.typed.stores import BaseVectorStore, make_store
from tests.typed_stores.conftest import SHIPPED, backend, options_of
from tests.typed_stores.reference_store import ReferenceStore

EXAMPLES = int(os.environ.get("REME_STORE_EXAMPLES", "15"))

IDS = st.sampled_from(["a", "b", "B", "é", "e\u0301", "漢字", "x" * 700, " ", "a\x00b", "'; --"])
TARGETS = st.sampled_from(["alice", "Alice", "al", "", "a" * 300, "a" * 300 + "b"])
TEXTS = st.sampled_from(["", "tea", "Tea", "2026-06-20 09:30:00", "2026-06-20", "茶", "t" * 450])
NUMBERS = st.sampled_from([0, 1, -1, 1.0, 0.5, 2**53 + 1, -(10**18), 1e300, 10])
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans())
KEYS = st.sampled_from(["n", "author", "a.b", "message_time", "content", "score", 'q"', "Ω"])
SPACES = st.sampled_from(["s/2", "t/2", "u/2"])
VECTORS = st.sampled_from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.25], [3.0, 3.0]])

NODES = st.builds(
    MemoryNode,
    memory_id=IDS,
    memory_type=st.sampled_from([MemoryType.PERSONAL, MemoryType.TOOL]),
    memory_target=TARGETS,
    content=TEXTS,
    when_to_use=st.sampled_from(["", "thirst"]),
    message_time=TEXTS,
    time_created=TEXTS,
    author=TEXTS,
    score=NUMBERS.map(float),
    metadata=st.dictionaries(KEYS, SCALARS, max_size=3),
)
RANGES = st.one_of(st.tuples(TEXTS, TEXTS), st.tuples(NUMBERS, NUMBERS))
FILTERS = st.builds(
    NodeFilter,
    types=st.none() | st.frozensets(st.sampled_from(MemoryType), max_size=2),
    targets=st.none() | st.frozensets(TARGETS, max_size=2),
    equal=st.dictionaries(KEYS, SCALARS, max_size=1),
    between=st.dictionaries(KEYS, RANGES, max_size=1),
)
LIMITS = st.integers(0, 4)
CALLS = st.one_of(
    st.tuples(st.just("put"), st.lists(NODES, max_size=3), SPACES, st.lists(VECTORS, max_size=3)),
    st.tuples(st.just("delete"), st.lists(IDS, max_size=2)),
    st.tuples(st.just("clear"), FILTERS),
    st.tuples(st.just("backfill"), SPACES, VECTORS),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("list"), FILTERS, st.none() | LIMITS, st.none() | KEYS, st.booleans()),
    st.tuples(st.just("search"), FILTERS, SPACES, VECTORS, LIMITS),
)


def done(store: BaseVectorStore, call: tuple[Any, ...]) -> object:
    """What a call answers, without what two engines may differ in."""
    match call:
        case ("put", nodes, space, vectors):
            given = {node.memory_id: vector for node, vector in zip(nodes, vectors, strict=False)}
            return store.put(nodes, space_id=space, vectors=given)
        case ("delete", memory_ids):
            return store.delete(memory_ids)
        case ("clear", where):
            return store.clear(where)
        case ("backfill", space, vector):
            missing = sorted(store.missing_vectors(space, 100))
            store.put_vectors(space, {key: (text, vector) for key, text in missing[:2]})
            return missing
        case ("reopen",):
            store.close()
            return store.open()
        case ("list", where, limit, key, reverse):
            found = store.list(where, limit=limit, sort_key=key, reverse=reverse)
            return found, store.count(where)
        case ("search", where, space, vector, limit):
            return list(map(told, store.search(vector, space_id=space, limit=limit, where=where)))
    raise AssertionError(call)


def told(hit: FoundNode) -> tuple[MemoryNode, float]:
    return hit.node, round(hit.similarity, 4) + 0.0


def state(store: BaseVectorStore) -> object:
    nodes = sorted((n for page in store.pages(2) for n in page), key=lambda n: n.memory_id)
    ids = [node.memory_id for node in nodes]
    spaces = store.spaces()
    return nodes, spaces, {space: sorted(store.vectors(space, ids)) for space in spaces}


def answer(store: BaseVectorStore, call: tuple[Any, ...]) -> object:
    try:
        return done(store, call)
    except BadInput:
        return BadInput


@pytest.fixture(params=SHIPPED)
def made(request: pytest.FixtureRequest) -> Any:
    """Makes an empty store of one kind in a folder."""
    return lambda folder: make_store(backend(request.param), folder, **options_of(request))


def test_any_calls(made: Any, tmp_path: Path) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(CALLS, min_size=1, max_size=12))
    def compared(calls: list[tuple[Any, ...]]) -> None:
        with TemporaryDirectory(dir=tmp_path) as folder:
            reference, store = ReferenceStore(), made(folder)
            store.open()
            try:
                for call in calls:
                    assert answer(store, call) == answer(reference, call), call
                    assert state(store) == state(reference), call
            finally:
                store.close()

    compared()
