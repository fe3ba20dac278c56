"""A process that was stopped while it holds a lock costs others seconds, and no turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import StorageFailed

HASTY = Settings(watch=False, fsync=False, lock_patience_seconds=0.05, record_patience_seconds=0.02)
TURN = {"role": "user", "content": "The heron nests in May.", "id": "turn"}


@contextmanager
def held(reme: ReMe, name: str) -> Iterator[None]:
    """A lock as another process holds it."""
    with FileLock(Path(reme.workspace.locks, name)):
        yield


@pytest.fixture
def reme(open_memory: Callable[..., ReMe]) -> ReMe:
    return open_memory(settings=HASTY)


async def test_a_held_session_lock_refuses_turns_and_the_next_call_saves_them(reme: ReMe) -> None:
    await reme.start()
    with held(reme, "session-s.lock"):
        with pytest.raises(StorageFailed, match="another process keeps this lock"):
            await reme.record("s", [TURN])
        with pytest.raises(StorageFailed, match="another process keeps this lock"):
            await reme.archive("s", [TURN])
        assert (await reme.search("heron")).hits == []
    assert (await reme.record("s", [TURN])).appended == 1
    assert len((await reme.search("heron")).hits) == 1
    await reme.close()


async def test_a_held_commit_lock_costs_no_turn_only_its_place_in_the_index(reme: ReMe) -> None:
    await reme.start()
    with held(reme, "commit.lock"):
        saved = await reme.record("s", [TURN])
        assert saved.appended == 1
        assert (await reme.status()).dirty == [saved.session_path]
        with pytest.raises(StorageFailed, match="another process keeps this lock"):
            await reme.write("digest/a.md", "text")
    await reme.write("digest/a.md", "text")
    assert (await reme.status()).dirty == []
    assert [hit.path for hit in (await reme.search("heron")).hits] == [saved.session_path]
    await reme.close()


async def test_a_held_index_costs_no_turn_only_its_place_in_the_index(reme: ReMe) -> None:
    await reme.start()
    current = (reme.workspace.metadata / "CURRENT").read_text("utf-8").strip()
    with closing(sqlite3.connect(reme.workspace.metadata / current)) as other:
        other.execute("BEGIN IMMEDIATE")  # and then its process is stopped
        before = reme.clock.monotonic()
        saved = await reme.record("s", [TURN])
        assert saved.appended == 1
        assert reme.clock.monotonic() - before < 5  # SQLite alone would wait for ten seconds
        assert (await reme.status()).dirty == [saved.session_path]
        assert (await reme.search("heron")).hits == []
        other.execute("ROLLBACK")
    await reme.write("digest/a.md", "text")
    assert (await reme.status()).dirty == []
    assert [hit.path for hit in (await reme.search("heron")).hits] == [saved.session_path]
    await reme.close()
