"""Vectors in Chroma answer like those of the local store, and can be lost without harm."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.chroma_store import ChromaFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

pytestmark = pytest.mark.chroma

SPACE = "model/8"
NOTES = [
    indexed(f"{('daily/2026-06-20', 'digest/wiki')[n % 2]}/{n:03}.md", f"note number {n}\n")
    for n in range(200)
]


def open_store(kind: type[LocalFileStore], workspace: Workspace) -> LocalFileStore:
    store = kind(workspace, settings=Settings(fsync=False))
    store.open()
    return store


def fill(store: BaseFileStore, space: str = SPACE) -> None:
    random = np.random.default_rng(7)
    while missing := store.missing_vectors(space, 64):
        rows = {key: random.normal(size=8).round(1).tolist() for key, _ in missing}
        store.put_vectors(space, rows)


def answers(store: BaseFileStore, where: SearchFilter | None = None) -> list[tuple[str, float]]:
    query = [1.0, 0.5, 0, 0, 0, 0, 0, -1]
    hits = store.vector_search(query, limit=10, where=where, space_id=SPACE)
    # the local store keeps half precision
    return [(hit.path, pytest.approx(hit.score, abs=5e-4)) for hit in hits]


@pytest.fixture
def filled(workspace: Workspace) -> ChromaFileStore:
    store = open_store(ChromaFileStore, workspace)
    store.apply(NOTES)
    fill(store)
    return store


@pytest.mark.parametrize(
    "where",
    [None, SearchFilter(path_prefix="digest/"), SearchFilter(path_prefix="digest/wiki/001")],
    ids=["everything", "half of it", "one file"],
)
def test_it_finds_what_the_local_store_finds(
    filled: ChromaFileStore, tmp_path: Path, where: SearchFilter | None
) -> None:
    local = open_store(LocalFileStore, Workspace(tmp_path / "other"))
    local.apply(NOTES)
    fill(local)
    assert answers(filled, where) == answers(local, where)
    filled.close()
    local.close()


def test_the_next_open_has_them_all(filled: ChromaFileStore, workspace: Workspace) -> None:
    before = answers(filled)
    filled.close()
    again = open_store(ChromaFileStore, workspace)
    assert answers(again) == before
    assert again.stats().vectors == len(NOTES)
    assert again.missing_vectors(SPACE, 5) == []
    again.close()


def lose(folder: Path) -> None:
    shutil.rmtree(folder)


def damage(folder: Path) -> None:
    (next(folder.glob("chroma-*")) / "chroma.sqlite3").write_bytes(b"not a database" * 1000)


def be_a_file(folder: Path) -> None:
    shutil.rmtree(next(folder.glob("chroma-*")))
    (folder / "chroma-1").write_text("in the way")


@pytest.mark.parametrize("harm", [lose, damage, be_a_file])
def test_a_lost_database_is_missing_vectors_and_nothing_more(
    filled: ChromaFileStore, workspace: Workspace, harm: Callable[[Path], None]
) -> None:
    before = answers(filled)
    filled.close()
    harm(workspace.metadata / "chroma")
    again = open_store(ChromaFileStore, workspace)
    assert answers(again) == []
    assert again.keyword_search("note", limit=3)
    fill(again)
    assert answers(again) == before
    again.close()


def test_a_change_of_the_model_drops_the_old_vectors(filled: ChromaFileStore) -> None:
    assert len(filled.missing_vectors("other/4", 1000)) == len(NOTES)
    key, _ = filled.missing_vectors("other/4", 1)[0]
    filled.put_vectors("other/4", {key: [1.0, 0, 0, 0]})
    assert answers(filled) == []
    assert len(filled.missing_vectors("other/4", 1000)) == len(NOTES) - 1
    assert len(filled.missing_vectors(SPACE, 1000)) == len(NOTES)
    with pytest.raises(BadInput):
        filled.put_vectors("other/4", {key: [1.0, 0]})
    filled.close()


def test_both_stores_may_follow_each_other_and_keep_what_they_have(
    filled: ChromaFileStore, workspace: Workspace
) -> None:
    before = answers(filled)
    filled.close()
    local = open_store(LocalFileStore, workspace)
    assert answers(local) == []
    fill(local)
    assert answers(local) == before
    local.close()
    chroma = open_store(ChromaFileStore, workspace)
    assert answers(chroma) == before
    chroma.close()


def test_vectors_of_deleted_texts_go(filled: ChromaFileStore, workspace: Workspace) -> None:
    filled.apply([], [file.node.path for file in NOTES[:150]])
    filled.optimize()
    assert filled.stats().vectors == 50
    assert filled._vectors._database.count() == 50
    before = answers(filled)
    filled.erase()
    assert answers(filled) == before
    assert [place.name for place in (workspace.metadata / "chroma").iterdir()] == ["chroma-2"]
    filled.close()


def test_a_new_index_beside_the_old_one_has_the_vectors(filled: ChromaFileStore) -> None:
    before = answers(filled)
    shadow = filled.shadow()
    shadow.store.apply(NOTES)
    shadow.ready()
    assert shadow.take_over(lambda paths: None)
    assert answers(filled) == before
    assert filled.stats().vectors_pending == 0
    filled.close()
