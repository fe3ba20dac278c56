"""Which engine keeps an index makes no difference to what it answers."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentscope_reme.files.disk import Disk
from agentscope_reme.schema import SearchHit, text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.log_indexer import LogIndexer
from agentscope_reme.store.records import FileGrowth, FileStamp, IndexedFile, SearchFilter
from agentscope_reme.store.scaleout import SharedFileStore, ranking, shared_vectors
from agentscope_reme.store.scaleout.engine import OPEN, FoundChunk, Restriction
from tests.scaleout.conftest import Opener
from tests.store.builders import card, indexed
from tests.store.reference_store import ReferenceStore

pytestmark = pytest.mark.scaleout
ENGLISH = ["parser", "Rust", "getUserName", "node-js", "running", "runs", "C++", "memory", "x86_64"]
CHINESE = ["数据库", "选型", "向量检索", "猫", "北京", "大学生", "苹果", "ひらがな"]
LOG = "session/dialog/s.jsonl"


def files() -> list[IndexedFile]:
    chance = random.Random(5)
    made = []
    for number in range(40):
        words = [chance.choice(ENGLISH if chance.random() < 0.6 else CHINESE) for _ in range(90)]
        parts = "\n\n".join(f"## {words[i]}\n\n{' '.join(words[i : i + 25])}" for i in (0, 30, 60))
        day = f"2026-06-{1 + number % 28:02}"
        text = card(chance.choice(ENGLISH), chance.choice(CHINESE), parts, f"tag{number % 5}")
        made.append(indexed(f"daily/{day}/{number}.md", text))
    line = '{{"id":"{}","role":"user","name":"Ann","blocks":[{{"type":"text","text":"{}"}}]}}\n'
    said = "".join(
        line.format(n, f"{chance.choice(ENGLISH)} {chance.choice(CHINESE)}") for n in range(30)
    )
    return [*made, indexed(LOG, said)]


@pytest.fixture(scope="module")
def corpus() -> tuple[list[IndexedFile], ReferenceStore]:
    made, reference = files(), ReferenceStore()
    reference.apply(made)
    return made, reference


def shown(hits: list[SearchHit]) -> list[tuple[str, int, float]]:
    return [(hit.path, hit.start_line, round(hit.score, 3)) for hit in hits]


QUERIES = [
    *("parser", "rust memory", "getUserName", "username", "node-js x86_64", "c++", "running"),
    *("数据库选型", "向量检索 Rust", "北京大学生", "ひらがな", "苹果 2026-06-03"),
]
FILTERS = [
    None,
    SearchFilter(exclude_layers=("session",)),
    SearchFilter(layers=("session",)),
    SearchFilter(layers=("daily",), tags=("tag3",)),
    SearchFilter(path_prefix="daily/2026-06-0", start_date="2026-06-04"),
]


def test_scores_and_order_are_the_same(
    opened: Opener, tmp_path: Path, corpus: tuple[list[IndexedFile], ReferenceStore]
) -> None:
    made, reference = corpus
    store = opened(tmp_path)
    store.apply(made)
    for query in QUERIES:
        for where in FILTERS:
            ours = store.keyword_search(query, limit=200, where=where)
            assert shown(ours) == shown(reference.keyword_search(query, limit=200, where=where)), (
                query, where
            )  # fmt: skip
    for character in ("猫", "京"):  # no word of the texts, and no index for it either
        hits = {hit.chunk_id for hit in store.keyword_search(character, limit=300)}
        everywhere = [c for f in made for c in f.chunks if character in c.text]
        assert hits == {c.id for c in everywhere}


def test_a_search_that_looks_at_little_first_finds_as_much_in_the_end(
    opened: Opener,
    tmp_path: Path,
    corpus: tuple[list[IndexedFile], ReferenceStore],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "_LEAST_POOL", 2)
    monkeypatch.setattr(ranking, "_POSTINGS", 1)
    made, reference = corpus
    store = opened(tmp_path)
    store.apply(made)
    for where in FILTERS[1:]:
        for query in ("rust memory parser", "苹果 数据库"):
            ours = store.keyword_search(query, limit=200, where=where)
            expected = reference.keyword_search(query, limit=200, where=where)
            assert {hit.chunk_id for hit in ours} == {hit.chunk_id for hit in expected}


def test_a_folder_among_the_best_of_all_answers_alone(
    opened: Opener,
    tmp_path: Path,
    corpus: tuple[list[IndexedFile], ReferenceStore],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where words are common, the whole workspace is asked, and what is elsewhere left out."""
    monkeypatch.setattr(ranking, "_POSTINGS", 1)
    monkeypatch.setattr(ranking, "_PER_POSTING", 0)
    made, reference = corpus
    store = opened(tmp_path)
    store.apply(made)
    asked = list[Restriction]()
    matching = store._engine.matching

    def noted(name: str, words: Sequence[str], limit: int, only: Restriction) -> list[FoundChunk]:
        asked.append(only)
        return matching(name, words, limit, only)

    monkeypatch.setattr(store._engine, "matching", noted)
    where = SearchFilter(path_prefix="daily/2026-06-0", start_date="2026-06-04")
    few = len(reference.keyword_search("rust", limit=200, where=where)) + 1
    hits = store.keyword_search("rust memory", limit=few, where=where)
    expected = reference.keyword_search("rust memory", limit=few, where=where)
    assert OPEN in asked
    assert shown(hits) == shown(expected)


@pytest.mark.parametrize("exact", [True, False])
def test_nearest_by_vector_with_every_filter(
    opened: Opener,
    tmp_path: Path,
    corpus: tuple[list[IndexedFile], ReferenceStore],
    monkeypatch: pytest.MonkeyPatch,
    exact: bool,
) -> None:
    monkeypatch.setattr(shared_vectors, "EXACT_UP_TO", 10_000 if exact else 0)
    monkeypatch.setattr(shared_vectors, "_PER_HIT", 1)
    made, reference = corpus
    store, chance = opened(tmp_path), random.Random(2)
    store.apply(made)
    texts = {text_hash(chunk.text) for file in made for chunk in file.chunks}
    vectors = {key: [chance.gauss(0, 1) for _ in range(8)] for key in sorted(texts)}
    for target in (store, reference):
        target.put_vectors("m", vectors)
    if not exact:
        store.close()
        store.open()  # the index is loaded while searches go on
        store._vectors._warm_up.stop()
    for where in (*FILTERS, SearchFilter(paths=frozenset({LOG}))):
        asked = [chance.gauss(0, 1) for _ in range(8)]
        ours = store.vector_search(asked, limit=12, where=where)
        assert shown(ours) == shown(reference.vector_search(asked, limit=12, where=where))


def test_a_log_that_grew_is_as_if_indexed_at_once(opened: Opener, tmp_path: Path) -> None:
    store, fresh = opened(tmp_path / "growing"), opened(tmp_path / "fresh", user="fresh")
    place = tmp_path / "growing" / LOG
    place.parent.mkdir(parents=True, exist_ok=True)
    grown = LogIndexer(Settings(chunk_byte_size=120), Disk(fsync=False))
    changes: list[type] = []
    for turn in range(90):
        said = [{"type": "text", "text": f"turn{turn} 苹果 pear"}]
        row = {"id": f"m{turn}", "role": "user", "blocks": said}
        with place.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row, ensure_ascii=False) + "\n")
        changes.append(follow(store, grown, place))
    assert changes.count(FileGrowth) > 80
    whole = LogIndexer(Settings(chunk_byte_size=120), Disk(fsync=False)).follow(LOG, place)
    assert isinstance(whole, IndexedFile)
    fresh.apply([whole])
    assert store.nodes() == fresh.nodes()
    assert store.chunks(LOG) == fresh.chunks(LOG)
    assert store.stats().chunks == fresh.stats().chunks
    for query in ("pear", "turn7", "苹果", "turn89"):
        ours, theirs = (s.keyword_search(query, limit=300) for s in (store, fresh))
        assert shown(ours) == shown(theirs)


def follow(store: SharedFileStore, logs: LogIndexer, place: Path) -> type:
    """Bring a log in step, as a vault does; tells in which way."""
    found = logs.follow(LOG, place)
    if isinstance(found, FileGrowth):
        if store.grow(found):
            return FileGrowth
        logs.forget(LOG)
        found = logs.follow(LOG, place)
    assert isinstance(found, IndexedFile)
    store.apply([found])
    return IndexedFile


def test_growth_of_another_version_changes_nothing(opened: Opener, tmp_path: Path) -> None:
    store = opened(tmp_path)
    before = indexed(LOG, '{"id":"1","role":"user","blocks":[{"type":"text","text":"pear"}]}\n')
    growth = FileGrowth(LOG, store_stamp(before), store_stamp(indexed(LOG, "{}\n{}\n")), 2, ())
    assert not store.grow(growth)
    store.apply(
        [indexed(LOG, '{"id":"2","role":"user","blocks":[{"type":"text","text":"fig"}]}\n')]
    )
    assert not store.grow(growth)
    assert [hit.path for hit in store.keyword_search("fig", limit=2)] == [LOG]


def store_stamp(file: IndexedFile) -> FileStamp:
    node = file.node
    return FileStamp(node.st_mtime_ns, node.size, node.content_hash)


def test_files_indexed_by_other_rules_answer_and_are_asked_for_again(
    opened: Opener, tmp_path: Path
) -> None:
    old = opened(tmp_path)
    old.apply([indexed("digest/wiki/a.md", "pear")])
    new: BaseFileStore = opened(tmp_path, settings=Settings(chunk_byte_size=300))
    assert [hit.path for hit in new.keyword_search("pear", limit=2)] == ["digest/wiki/a.md"]
    assert new.stamps()["digest/wiki/a.md"].content_hash == ""
    new.apply(
        [FileIndexer(Settings(chunk_byte_size=300)).index("digest/wiki/a.md", b"pear", mtime_ns=1)]
    )
    assert new.stamps()["digest/wiki/a.md"].content_hash != ""
