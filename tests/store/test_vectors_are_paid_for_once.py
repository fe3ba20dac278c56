"""What a model was asked for outlives the index, stays bounded, and goes when it is forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.vector_cache import VectorCache
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

APPLE, PEAR, PLUM = (text_hash(word) for word in ("apple", "pear", "plum"))


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "embeddings.db", most=3)


def opened(workspace: Workspace, **settings: int) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=Settings.model_validate(settings))
    store.open()
    return store


@pytest.fixture
def filled(workspace: Workspace) -> Iterator[LocalFileStore]:
    store = opened(workspace)
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    store.put_vectors("m/2", {APPLE: [3.0, 4.0], PEAR: [0.0, 1.0]})
    yield store
    store.close()


def test_a_deleted_index_finds_its_vectors_again(
    filled: LocalFileStore, workspace: Workspace
) -> None:
    filled.close()
    for place in [*workspace.metadata.glob("index-*"), workspace.metadata / "CURRENT"]:
        place.unlink()
    again = opened(workspace)
    assert again.vector_spaces() == ["m/2"]
    kept = again.kept_vectors("m/2", [APPLE, PEAR, PLUM])
    assert {key: np.round(vector, 3).tolist() for key, vector in kept.items()} == {
        APPLE: pytest.approx([0.6, 0.8], abs=1e-3),
        PEAR: [0.0, 1.0],
    }
    again.close()
    filled.open()


def test_a_text_that_left_and_came_back_is_not_paid_for_again(filled: LocalFileStore) -> None:
    filled.apply([], ["a.md"])
    filled.optimize()
    filled.apply([indexed("again.md", "apple")])
    assert filled.missing_vectors("m/2", 9) == [(APPLE, "apple")]
    assert filled.kept_vectors("m/2", [APPLE]).keys() == {APPLE}


def test_spaces_are_kept_apart(filled: LocalFileStore) -> None:
    assert filled.kept_vectors("n/2", [APPLE]) == {}
    filled.put_vectors("n/2", {APPLE: [1.0, 0.0]})
    assert filled.kept_vectors("n/2", [APPLE, PEAR]).keys() == {APPLE}
    assert filled.vector_spaces() == ["n/2", "m/2"]


def test_forgetting_reaches_it(filled: LocalFileStore, workspace: Workspace) -> None:
    place = workspace.metadata / "embeddings.db"
    secret = np.array([0.6, 0.8], "<f2").tobytes()
    assert secret in place.read_bytes()
    filled.apply([], ["a.md"])
    filled.erase()
    assert filled.kept_vectors("m/2", [APPLE, PEAR]).keys() == {PEAR}
    data = place.read_bytes()
    assert secret not in data
    assert bytes.fromhex(APPLE) not in data


def test_a_vector_that_arrives_after_its_text_was_forgotten_is_dropped(
    filled: LocalFileStore,
) -> None:
    filled.apply([], ["a.md"])
    filled.erase()
    filled.put_vectors("m/2", {APPLE: [3.0, 4.0]})
    assert filled.kept_vectors("m/2", [APPLE]) == {}
    filled.apply([indexed("a.md", "apple")])
    assert filled.missing_vectors("m/2", 9) == [(APPLE, "apple")]


def test_the_oldest_go_first(cache: VectorCache) -> None:
    for key in (APPLE, PEAR, PLUM, text_hash("fig")):
        cache.put("m", {key: [1.0, 0.0]})
    assert cache.get("m", [APPLE, PEAR, PLUM]).keys() == {PEAR, PLUM}
    cache.put("m", {PEAR: [0.0, 1.0]})  # paid for again: the newest now
    cache.put("n", {APPLE: [1.0, 0.0]})
    assert cache.get("m", [PEAR, PLUM]).keys() == {PEAR}


def test_a_space_holds_vectors_of_one_width(cache: VectorCache) -> None:
    cache.put("m", {APPLE: [1.0, 0.0]})
    cache.put("m", {PEAR: [1.0, 0.0, 0.0]})
    assert cache.get("m", [APPLE, PEAR]).keys() == {PEAR}


def test_none_are_kept_when_none_are_wanted(workspace: Workspace) -> None:
    store = opened(workspace, embedding_cache_vectors=0)
    store.apply([indexed("a.md", "apple")])
    store.put_vectors("m", {APPLE: [1.0, 0.0]})
    assert store.kept_vectors("m", [APPLE]) == {}
    assert not (workspace.metadata / "embeddings.db").exists()
    store.close()


@pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0 but not really" * 99])
def test_a_damaged_file_is_begun_anew(cache: VectorCache, tmp_path: Path, damage: bytes) -> None:
    cache.put("m", {APPLE: [1.0, 0.0]})
    (tmp_path / "embeddings.db").write_bytes(damage)
    assert cache.get("m", [APPLE]) == {}
    cache.put("m", {APPLE: [1.0, 0.0]})
    assert cache.get("m", [APPLE]).keys() == {APPLE}


def test_a_busy_file_is_deleted_rather_than_left_with_what_is_forgotten(
    cache: VectorCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentscope_reme.store.vector_cache._BUSY_SECONDS", 0.0)
    cache.put("m", {APPLE: [1.0, 0.0], PEAR: [0.0, 1.0]})
    other = sqlite3.connect(tmp_path / "embeddings.db")
    other.execute("BEGIN EXCLUSIVE")
    assert cache.get("m", [PEAR]) == {}
    cache.keep_only([bytes.fromhex(PEAR)])
    other.close()
    assert not (tmp_path / "embeddings.db").exists()
    assert cache.get("m", [APPLE, PEAR]) == {}
