"""A vector that cannot be what was written counts as missing: it is not compared with anything."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.vector_cache import VectorCache
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed

WORDS = ("apple", "pear", "plum", "fig")
APPLE = text_hash("apple")
VECTORS = {text_hash(word): [1.0, float(number)] for number, word in enumerate(WORDS)}


def halves(*numbers: float) -> bytes:
    return np.array(numbers, "<f2").tobytes()


DAMAGE = {
    "not a number": halves(np.nan, 0.0),
    "endless": halves(np.inf, 0.0),
    "all zero": halves(0.0, 0.0),
    "far too long": halves(900.0, 3.0),
    "narrow": halves(1.0),
    "wide": halves(0.6, 0.8, 0.0),
    "half a number": b"abc",
    "nothing": b"",
    "a text": "ab12",
    "a number": 7,
}
damaged = pytest.mark.parametrize("value", DAMAGE.values(), ids=DAMAGE.keys())


def opened(workspace: Workspace, **values: Any) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=Settings(**values))
    store.open()
    return store


def overwrite(place: Path, value: object) -> None:
    with sqlite3.connect(place) as other:
        other.execute(
            "UPDATE vectors SET vector = ? WHERE text_hash = ?", (value, bytes.fromhex(APPLE))
        )
    other.close()


@pytest.fixture
def damage(workspace: Workspace) -> Callable[[object], None]:
    """Fill the index of the workspace, then overwrite one vector in it."""

    def fill_and_damage(value: object) -> None:
        store = opened(workspace)
        store.apply([indexed(f"{word}.md", word) for word in WORDS])
        store.put_vectors("m", VECTORS)
        store.close()
        (place,) = workspace.metadata.glob("index-*.db")
        overwrite(place, value)

    return fill_and_damage


@pytest.mark.parametrize("kind", ["exact", "compressed"])
@damaged
def test_a_search_finds_the_others_and_the_damaged_one_is_missing(
    workspace: Workspace, damage: Callable[[object], None], value: object, kind: str
) -> None:
    damage(value)
    store = opened(workspace, vector_index=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for limit in (2, 9):
            hits = store.vector_search([1.0, 0.0], limit=limit, space_id="m")
            assert [hit.path for hit in hits] == ["pear.md", "plum.md", "fig.md"][:limit]
    assert store.missing_vectors("m", 9) == [(APPLE, "apple")]
    store.put_vectors("m", store.kept_vectors("m", [APPLE]))
    assert store.vector_search([1.0, 0.0], limit=1, space_id="m")[0].path == "apple.md"
    store.close()


@damaged
def test_new_vectors_are_taken_beside_a_damaged_one(
    workspace: Workspace, damage: Callable[[object], None], value: object
) -> None:
    damage(value)
    store = opened(workspace)
    store.apply([indexed("kiwi.md", "kiwi")])
    store.put_vectors("m", {text_hash("kiwi"): [-1.0, 0.0]})
    hits = store.vector_search([-1.0, 0.0], limit=1, space_id="m")
    assert [hit.path for hit in hits] == ["kiwi.md"]
    store.close()


@damaged
def test_what_was_paid_for_is_given_out_without_the_damaged_one(
    tmp_path: Path, value: object
) -> None:
    cache = VectorCache(tmp_path / "embeddings.db", most=9)
    cache.put("m", VECTORS)
    overwrite(tmp_path / "embeddings.db", value)
    assert cache.get("m", list(VECTORS)).keys() == VECTORS.keys() - {APPLE}
    cache.put("m", {APPLE: [1.0, 0.0]})
    assert cache.get("m", list(VECTORS)).keys() == VECTORS.keys()


def test_a_file_with_other_tables_is_begun_anew(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "embeddings.db")
    other.execute("CREATE TABLE vectors (of_somebody_else)")
    other.close()
    cache = VectorCache(tmp_path / "embeddings.db", most=9)
    assert cache.get("m", [APPLE]) == {}
    cache.put("m", {APPLE: [1.0, 0.0]})
    assert cache.get("m", [APPLE]).keys() == {APPLE}


@pytest.mark.parametrize(
    "value",
    [b"abc", np.array([np.nan, 1.0], "<f4").tobytes(), halves(0.6, 0.8), "ab12", 7],
    ids=["half a number", "not a number", "of a later layout", "a text", "a number"],
)
def test_an_earlier_index_with_a_damaged_vector_opens(workspace: Workspace, value: object) -> None:
    store = opened(workspace, embedding_cache_vectors=0)
    files = [indexed(f"{word}.md", word) for word in WORDS]
    store.apply(files)
    store.put_vectors("m", VECTORS)
    store.close()
    (place,) = workspace.metadata.glob("index-*.db")
    with sqlite3.connect(place) as earlier:
        for key, vector in earlier.execute("SELECT text_hash, vector FROM vectors").fetchall():
            single = np.frombuffer(vector, "<f2").astype("<f4").tobytes()
            earlier.execute("UPDATE vectors SET vector = ? WHERE text_hash = ?", (single, key))
        earlier.execute("UPDATE meta SET value = '3' WHERE key = 'schema'")
    earlier.close()
    overwrite(place, value)
    again = opened(workspace, embedding_cache_vectors=0)
    again.apply(files)
    assert again.missing_vectors("m", 9) == [(APPLE, "apple")]
    hits = again.vector_search([1.0, 0.0], limit=9, space_id="m")
    assert [hit.path for hit in hits] == ["pear.md", "plum.md", "fig.md"]
    again.close()
