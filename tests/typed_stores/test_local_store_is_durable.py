"""Every write of the local store reaches the disk before it is acknowledged, and only then."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme.errors import Closed, StorageFailed
from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.builders import EVERYTHING, ids, node

TRACED = """
import sys
from pathlib import Path
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.local import LocalVectorStore
store = LocalVectorStore(Path(sys.argv[1]))
store.open()
def one(number):
    return MemoryNode(
        memory_id=f"m{number}", memory_type="personal", memory_target="a", content="c"
    )
store.put([one(0)], space_id="s", vectors={"m0": [1.0] * 1024})
sys.stderr.write("begin\\n")
for number in range(1, 11):
    store.put([one(number)], space_id="s", vectors={f"m{number}": [1.0] * 1024})
sys.stderr.write("end\\n")
"""


def test_each_write_is_flushed_once(tmp_path: Path) -> None:
    """The write-ahead log is flushed by every commit; the system is asked which calls it saw."""
    strace = shutil.which("strace")
    if strace is None:
        return  # the setting alone is what can be looked at there, as below
    command = [strace, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(tmp_path / "trace")]
    child = [sys.executable, "-c", TRACED, str(tmp_path)]
    subprocess.run([*command, *child], check=True, stderr=subprocess.DEVNULL)
    trace = (tmp_path / "trace").read_text()
    between = trace.split('"begin\\n"')[1].split('"end\\n"')[0]
    assert between.count("sync(") == 10


def test_the_log_is_flushed_by_every_commit(local_store: LocalVectorStore) -> None:
    full = 2
    with local_store._database.reading() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == full
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_copy_taken_after_a_write_has_it(local_store: LocalVectorStore, tmp_path: Path) -> None:
    local_store.put([node("a"), node("b")], space_id="s", vectors={"a": [1, 0]})
    shutil.copytree(tmp_path, tmp_path / "copy")
    copy = LocalVectorStore(tmp_path / "copy")
    copy.open()
    assert sorted(ids(copy.list(EVERYTHING))) == ["a", "b"]
    assert copy.spaces() == {"s": 1}
    copy.close()


def test_a_failed_write_changes_nothing(local_store: LocalVectorStore) -> None:
    local_store.put([node("a", "old")], space_id="s", vectors={"a": [1, 0]})
    with local_store._database.writing() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON changes WHEN NEW.node > 1 "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
    with pytest.raises(StorageFailed, match="the disk is full"):
        local_store.put([node("a", "new"), node("b")], space_id="s", vectors={"b": [0, 1]})
    assert ids(local_store.list(EVERYTHING)) == ["a"]
    assert local_store.get(["a"])[0].content == "old"
    assert local_store.spaces() == {"s": 1}
    assert len(local_store.search([1, 0], space_id="s", limit=5, where=EVERYTHING)) == 1


def test_deleted_text_is_gone_from_the_disk(local_store: LocalVectorStore, tmp_path: Path) -> None:
    secret = "the-secret-of-alice"
    local_store.put([node("a", secret * 50), node("b", "harmless")])
    local_store.put([node("c", secret, target="bob")])
    local_store.delete(["a", "c"])
    for place in tmp_path.iterdir():
        assert secret.encode() not in place.read_bytes()
    assert ids(local_store.list(EVERYTHING)) == ["b"]


def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    store = LocalVectorStore(tmp_path)
    with pytest.raises(Closed):
        store.count(EVERYTHING)
    store.open()
    store.open()
    store.close()
    store.close()
    with pytest.raises(Closed):
        store.put([node("a")])


def test_a_file_that_was_taken_away_takes_no_more_writes(
    local_store: LocalVectorStore, tmp_path: Path
) -> None:
    local_store.put([node("a")])
    for place in list(tmp_path.iterdir()):
        place.rename(tmp_path.with_name(f"elsewhere-{place.name}"))
    with pytest.raises(StorageFailed, match="removed or replaced"):
        local_store.put([node("b")])


def test_a_busy_file_is_told(local_store: LocalVectorStore, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "memories.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with local_store._database.reading() as connection:
        connection.execute("PRAGMA busy_timeout = 1")
    with pytest.raises(StorageFailed, match="locked"):
        local_store.put([node("a")])
    other.execute("ROLLBACK")
    other.close()
    local_store.put([node("a")])
