"""An index that lived through changes answers like one built at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.settings import Settings
from agentscope_reme.store import index_writer as index_writer_module
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.workspace import Workspace
from tests.store.builders import card, indexed
from tests.store.reference_store import ReferenceStore

WORDS = ["apple", "pear", "plum", "running", "数据库", "选型", "getUserName", "C"]
QUERIES = ["apple", "pear plum", "数据库选型", "user name", "C apple running", "zebra"]
FILTERS = [None, SearchFilter(layers=("digest",)), SearchFilter(tags=("t1",))]

PATHS = st.sampled_from([f"{layer}/x/{i}.md" for layer in ("daily", "digest") for i in range(4)])
TEXTS = st.builds(
    lambda name, tag, words: card(name, "", "\n\n".join(words), tag),
    st.sampled_from(["", "apple card", "plums"]),
    st.sampled_from(["", "t1", "t1, t2"]),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join), max_size=4),
)
CHANGED = st.dictionaries(PATHS, TEXTS, max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), CHANGED, st.lists(PATHS, max_size=2)),
        st.tuples(st.just("optimize"), st.just({}), st.just([])),
        st.tuples(st.just("reopen"), st.just({}), st.just([])),
    ),
    max_size=12,
)  # fmt: skip


@contextmanager
def opened() -> Iterator[LocalFileStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = LocalFileStore(Workspace(folder), settings=Settings())
        store.open()
        yield store
        store.close()


def answers(store: BaseFileStore) -> list[list[tuple[str, int, float]]]:
    return [
        [(h.path, h.start_line, h.score) for h in store.keyword_search(q, limit=4, where=where)]
        for q in QUERIES
        for where in FILTERS
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_any_history_ends_in_the_answers_of_a_fresh_index(
    steps: list[tuple[str, dict[str, str], list[str]]],
) -> None:
    with pytest.MonkeyPatch.context() as patch, opened() as lived, opened() as fresh:
        patch.setattr(index_writer_module, "LARGEST_TAIL", 6)
        texts: dict[str, str] = {}
        for step, upserts, deletes in steps:
            if step == "optimize":
                lived.optimize()
            elif step == "reopen":
                lived.close()
                lived.open()
            else:
                lived.apply([indexed(p, t) for p, t in upserts.items()], deletes)
                texts = {p: t for p, t in texts.items() if p not in deletes} | upserts
        files = [indexed(path, text) for path, text in sorted(texts.items(), reverse=True)]
        fresh.apply(files)
        reference = ReferenceStore()
        reference.apply(files)
        assert answers(lived) == answers(fresh)
        assert lived.nodes() == fresh.nodes() == reference.nodes()
        assert lived.tags() == reference.tags()
        for ours, theirs in zip(answers(lived), answers(reference), strict=True):
            assert [s for *_, s in ours] == pytest.approx([s for *_, s in theirs], rel=1e-4)
