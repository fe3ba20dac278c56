"""A log that is indexed turn by turn ends as if it had been indexed at once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme.files.disk import Disk
from agentscope_reme.settings import Settings
from agentscope_reme.store import index_writer as index_writer_module
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.log_indexer import LogIndexer
from agentscope_reme.store.records import FileGrowth, IndexedFile
from agentscope_reme.workspace import Workspace

PATH = "session/dialog/s.jsonl"
SETTINGS = Settings(chunk_byte_size=120)
QUERIES = ["apple", "pear plum", "user apple", "数据库选型", "s", "zebra"]
WORDS = st.sampled_from(["apple", "pear", "plum", "running", "数据库", "选型"])
TEXTS = st.lists(WORDS, max_size=25).map(" ".join)
LINES = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 5), TEXTS),
    st.tuples(st.just("say"), st.integers(0, 5), TEXTS),
    st.tuples(st.just("edit"), st.integers(0, 5), TEXTS),
    st.tuples(st.just("control"), st.just(0), st.just("")),
    st.tuples(st.just("foreign"), st.just(0), st.sampled_from(["{", "\ufeff", "", "\xa0"])),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(LINES, min_size=1, max_size=4)),
        st.tuples(st.just("append"), st.lists(LINES, min_size=1, max_size=4)),
        st.tuples(st.just("append elsewhere"), st.lists(LINES, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["optimize", "reopen", "other file", "replace"]), st.just([])),
    ),
    max_size=14,
)


class Side:
    """A store and the indexer that feeds it, as one process has them."""

    def __init__(self, workspace: Workspace) -> None:
        self.store = LocalFileStore(workspace, settings=SETTINGS)
        self.store.open()
        self.logs = LogIndexer(SETTINGS, Disk(fsync=False))

    def follow(self, place: Path) -> None:
        found = self.logs.follow(PATH, place)
        if isinstance(found, FileGrowth):
            if self.store.grow(found):
                return
            self.logs.forget(PATH)
            found = self.logs.follow(PATH, place)
        if found is None:  # no plain UTF-8 any more
            mtime_ns = place.stat().st_mtime_ns
            found = FileIndexer(SETTINGS).index(PATH, place.read_bytes(), mtime_ns=mtime_ns)
        assert isinstance(found, IndexedFile)
        self.store.apply([found])


def rendered(line: tuple[str, int, str]) -> str:
    kind, number, text = line
    row: dict[str, Any] = {"id": f"m{number}", "role": "user"}
    row["created_at"] = f"2023-03-{13 + len(text) % 3}T13:{50 + number % 2}:00"
    row["blocks"] = [{"type": "text", "text": text}]
    if kind == "edit":
        row["supersedes"] = row["id"]
    if kind == "control":
        return json.dumps({"type": "distilled", "through": "m0"})
    return text if kind == "foreign" else json.dumps(row, ensure_ascii=False)


def shown(store: LocalFileStore) -> list[Any]:
    hits = [store.keyword_search(query, limit=5) for query in QUERIES]
    return [[(h.path, h.chunk_id, h.start_line, h.end_line, h.score) for h in hs] for hs in hits]


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_any_growth_ends_in_what_a_fresh_index_says(
    steps: list[tuple[str, list[tuple[str, int, str]]]],
) -> None:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as rooms:
        patch.setattr(index_writer_module, "LARGEST_TAIL", 7)
        workspace = Workspace(rooms.enter_context(folder()))
        place = workspace.root / "log"
        place.write_bytes(b"")
        one, other = Side(workspace), Side(workspace)
        rooms.callback(one.store.close)
        rooms.callback(other.store.close)
        others = 0
        for step, lines in [*steps, ("append", [("say", 9, "apple")])]:
            if step.startswith("append"):
                with place.open("ab") as log:
                    log.write("".join(rendered(line) + "\n" for line in lines).encode())
                (one if step == "append" else other).follow(place)
            elif step == "optimize":
                one.store.optimize()
            elif step == "reopen":
                one.store.close()
                one.store.open()
            elif step == "replace":
                place.write_bytes(place.read_bytes()[: place.stat().st_size // 2] + b"\n")
            else:
                others += 1
                one.store.apply([_note(others)])
        fresh = LocalFileStore(Workspace(rooms.enter_context(folder())), settings=SETTINGS)
        fresh.open()
        rooms.callback(fresh.close)
        whole = FileIndexer(SETTINGS).index(
            PATH, place.read_bytes(), mtime_ns=place.stat().st_mtime_ns
        )
        fresh.apply([whole, *(_note(number) for number in range(1, others + 1))])
        for store in (one.store, other.store):
            assert store.chunks(PATH) == list(whole.chunks)
            assert store.nodes() == fresh.nodes()
            assert shown(store) == shown(fresh)


def _note(number: int) -> IndexedFile:
    text = f"# Note\n\napple pear {number}\n"
    return FileIndexer(SETTINGS).index(f"daily/{number}.md", text.encode(), mtime_ns=1)


def test_only_the_last_chunk_and_what_is_new_is_written(tmp_path: Path) -> None:
    side = Side(Workspace(tmp_path / "w"))
    place = tmp_path / "log"
    lines = [rendered(("say", n, f"apple number {n}")) for n in range(300)]
    place.write_text("\n".join(lines) + "\n", "utf-8")
    side.follow(place)
    with place.open("a", encoding="utf-8") as log:
        log.write(rendered(("say", 300, "one zebra more")) + "\n")
    grown = side.logs.follow(PATH, place)
    assert isinstance(grown, FileGrowth)
    assert len(grown.chunks) <= 2
    assert side.store.grow(grown)
    assert [hit.end_line for hit in side.store.keyword_search("zebra", limit=1)] == [301]
    assert not side.store.grow(grown)  # it is no continuation of itself


def test_an_edit_far_down_keeps_the_chunks_above(tmp_path: Path) -> None:
    side = Side(Workspace(tmp_path / "w"))
    sections = [f"## Part {n}\n\napple number {n}. {'filler ' * 12}\n" for n in range(60)]
    indexer = FileIndexer(SETTINGS)
    side.store.apply([indexer.index("daily/a.md", "\n".join(sections).encode(), mtime_ns=1)])
    live = side.store._session.state.index.live
    tail = len(side.store._session.state.index.tail)
    sections[50] = "## Part 50\n\nzebra\n"
    edited = indexer.index("daily/a.md", "\n".join(sections).encode(), mtime_ns=2)
    side.store.apply([edited])
    assert len(side.store._session.state.index.tail) - tail < live / 3
    assert side.store.chunks("daily/a.md") == list(edited.chunks)
