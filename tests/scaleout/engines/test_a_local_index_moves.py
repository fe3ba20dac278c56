"""A workspace outgrows its machine: the shared index starts with what the local one knew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.scaleout import SharedIndex
from agentscope_reme.store.scaleout.migrate import SECRET_VARIABLE, Migrated, main, migrate
from agentscope_reme.workspace import Workspace
from tests.scaleout.conftest import Opener

pytestmark = pytest.mark.scaleout
QUIET = Settings(watch=False)
NOTES = {"digest/wiki/a.md": "apples and 苹果", "digest/wiki/b.md": "bananas", "daily/c.md": "figs"}


async def filled(folder: Path, user: str | None = None) -> dict[str, list[float]]:
    """A workspace with a local index and vectors; the vectors by text hash."""
    async with ReMe(folder, user=user, settings=QUIET) as memory:
        for path, text in NOTES.items():
            await memory.write(path, text)
    store = LocalFileStore(Workspace(folder, user=user), settings=QUIET)
    store.open()
    vectors = {
        key: [1.0, float(number), 0.5]
        for number, (key, _text) in enumerate(store.missing_vectors("m", 9))
    }
    store.put_vectors("older", {key: [1.0, 0.0] for key in vectors})
    store.put_vectors("m", vectors)
    store.close()
    return vectors


@pytest.mark.parametrize("lost", [None, "embeddings.db", "CURRENT"])
async def test_files_and_paid_vectors_are_taken_over(
    index: SharedIndex, opened: Opener, tmp_path: Path, lost: str | None
) -> None:
    vectors = await filled(tmp_path)
    if lost is not None:
        (tmp_path / "metadata" / lost).unlink()
    async with ReMe(tmp_path, settings=QUIET):
        pass  # an index that was lost is made anew, without its vectors
    workspace = Workspace(tmp_path)
    done = migrate(workspace, index, QUIET)
    assert (done.files, done.chunks) == (3, 3)
    store = opened(tmp_path)
    local = LocalFileStore(workspace, settings=QUIET)
    local.open()
    assert (store.nodes(), store.stamps()) == (local.nodes(), dict(local.stamps()))
    local.close()
    assert store.vector_counts("m") == (len(vectors), 0)
    assert store.vector_spaces()[0] == "m"
    assert store.vector_counts("older") == (len(vectors), 0)
    (hit, *_rest) = store.vector_search([1.0, 0.0, 0.5], limit=3, space_id="m")
    assert hit.score == pytest.approx(1.0, abs=0.001)
    assert migrate(workspace, index, QUIET).files == 0


async def test_a_worker_alone_asks_no_model_for_what_was_paid(
    index: SharedIndex, opened: Opener, tmp_path: Path
) -> None:
    vectors = await filled(tmp_path)
    async with ReMe(tmp_path, settings=QUIET, file_store=index) as memory:
        assert [hit.path for hit in (await memory.search("苹果")).hits] == ["digest/wiki/a.md"]
    store = opened(tmp_path)
    assert set(store.kept_vectors("m", list(vectors))) == set(vectors)
    assert store.vector_spaces() == ["m", "older"]


async def test_the_command_moves_users_one_by_one(
    opened: Opener,
    place: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for user in ("ann", "ben"):
        await filled(tmp_path, user)
    given = [str(tmp_path), "--namespace", place["namespace"], "--user", "ann", "--user", "ben"]
    if place["kind"] == "milvus":
        given += ["--engine", "milvus", "--uri", place["uri"]]
    else:
        monkeypatch.setenv(SECRET_VARIABLE, place["password"])
        given += ["--port", str(place["port"])]
    assert main(given) == 0
    told = capsys.readouterr().out
    assert "ann: 3 files, 3 chunks and 6 vectors taken over" in told
    assert len(opened(tmp_path, user="ben").stamps()) == 3
    assert main([*given[:2], "a/b"]) == 1
    assert "no namespace" in capsys.readouterr().err


def test_nothing_moves_from_an_empty_workspace(index: SharedIndex, tmp_path: Path) -> None:
    assert migrate(Workspace(tmp_path), index) == Migrated()
