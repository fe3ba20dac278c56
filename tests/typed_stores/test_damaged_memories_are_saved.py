"""What a damaged file still tells is brought over: nothing made up, nothing deleted comes back."""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.damaged_file import DamagedFile
from agentscope_reme.typed.stores.local import LocalVectorStore
from agentscope_reme.typed.stores.set_aside import Salvage
from tests.typed_stores.builders import EVERYTHING, node

PAGE = 4096
COUNT = 300
NODES = {
    f"m{n}": node(
        f"m{n}",
        f"memory {n} " * (600 if n % 50 == 0 else 10 + n % 40),
        time_modified="2026-01-01 10:00:00",
        score=n / 7,
        metadata={"n": n, "说": "好"},
    )
    for n in range(COUNT)
}
"""Some are longer than a page."""
LATE = node("late", "only in the log")
FIRST = "memories.db.damaged-1"


def vector(memory_id: str) -> list[float]:
    row = random.Random(memory_id)
    return [row.uniform(-1, 1) for _ in range(64)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    with_nodes(folder, list(NODES.values())).close()
    return folder / "memories.db"


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return Path(shutil.copy(sound, tmp_path / "store" / "memories.db"))


def with_nodes(folder: Path, nodes: list[MemoryNode]) -> LocalVectorStore:
    store = LocalVectorStore(folder)
    store.open()
    vectors = {one.memory_id: vector(one.memory_id) for one in nodes}
    store.put(nodes, space_id="s", vectors=vectors)
    return store


def checked_in_full(place: Path) -> LocalVectorStore:
    """Opened as after a damage that a call has met."""
    place.with_name("memories.db.suspect").touch()
    store = LocalVectorStore(place.parent)
    store.open()
    return store


def assert_true(store: LocalVectorStore, *, texts: bool = True) -> set[str]:
    """What the store holds is what was written; the ids."""
    nodes = store.list(EVERYTHING)
    if texts:
        assert all(NODES[one.memory_id] == one for one in nodes)
    ids = [one.memory_id for one in nodes]
    for memory_id, found in store.vectors("s", ids).items():
        wanted = np.array(vector(memory_id))
        assert np.allclose(found, wanted / np.linalg.norm(wanted), atol=1e-5) or not texts
    return set(ids)


def overwrite(place: Path, at: int, content: bytes) -> None:
    with place.open("r+b") as file:
        file.seek(at)
        file.write(content)


def root_of(place: Path, name: str) -> int:
    connection = sqlite3.connect(place)
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
    ).fetchone()
    connection.close()
    return int(root)


def test_a_zeroed_first_page_costs_nothing(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    overwrite(place, 0, b"\0" * PAGE)
    store = LocalVectorStore(place.parent)
    with caplog.at_level(logging.WARNING, "agentscope_reme"):
        store.open()
    assert assert_true(store) == set(NODES)
    assert store.spaces() == {"s": COUNT}
    assert (
        store.search(vector("m7"), space_id="s", limit=1, where=EVERYTHING)[0].node == NODES["m7"]
    )
    assert store.salvaged == {FIRST: Salvage(saved=COUNT, lost=0)}
    assert len([line for line in caplog.messages if "300 memories were saved" in line]) == 1
    store.close()
    caplog.clear()
    store.open()
    assert not caplog.messages
    store.close()


def test_a_lost_root_costs_nothing(place: Path) -> None:
    overwrite(place, (root_of(place, "nodes") - 1) * PAGE, b"\xff" * PAGE)
    store = checked_in_full(place)
    assert assert_true(store) == set(NODES)
    assert store.spaces() == {"s": COUNT}
    store.close()


@pytest.mark.parametrize("percent", range(10, 100, 10))
def test_the_rest_of_a_file_that_was_cut(place: Path, percent: int) -> None:
    size = place.stat().st_size * percent // 100
    os.truncate(place, size)
    store = LocalVectorStore(place.parent)
    store.open()
    ids = assert_true(store)
    saved = store.salvaged[FIRST]
    assert len(ids) == saved.saved
    assert ids or percent < 20
    assert place.with_name(FIRST).stat().st_size == size
    store.close()


def test_every_row_outside_the_damaged_pages_is_saved(place: Path) -> None:
    """Whole pages: what is in them is lost, and known by the index of ids."""
    pages = place.stat().st_size // PAGE
    for seed in range(5):
        shutil.rmtree(place.parent / "again", ignore_errors=True)
        copy = place.parent / "again" / "memories.db"
        copy.parent.mkdir()
        shutil.copy(place, copy)
        hit = random.Random(seed).randrange(4, pages)
        overwrite(copy, hit * PAGE, b"\xff" * PAGE)
        store = checked_in_full(copy)
        saved = store.salvaged[FIRST]
        assert len(assert_true(store)) == saved.saved >= COUNT - 60
        assert saved.saved + saved.lost == COUNT
        store.close()


def test_flipped_bytes(place: Path) -> None:
    """Thirty rounds. A letter within a text may be another one: no row has a checksum."""
    sound = place.read_bytes()
    for seed in range(30):
        dice = random.Random(seed)
        folder = place.parent / str(seed)
        folder.mkdir()
        content = bytearray(sound)
        for page in dice.sample(range(len(content) // PAGE), 5):
            for _ in range(20):
                content[page * PAGE + dice.randrange(PAGE)] ^= 1 << dice.randrange(8)
        (folder / "memories.db").write_bytes(content)
        store = checked_in_full(folder / "memories.db")
        ids = assert_true(store, texts=False)
        same = sum(NODES.get(one.memory_id) == one for one in store.list(EVERYTHING))
        assert same >= COUNT - 110, seed
        assert len(ids) <= COUNT + 5
        if store.set_aside:
            assert (folder / FIRST).read_bytes() == bytes(content)
            assert len(ids) == store.salvaged[FIRST].saved
        store.close()


@pytest.fixture
def with_log(place: Path, tmp_path: Path) -> Path:
    """A damaged file as a killed process leaves it: the newest memory stands in the log alone."""
    writer = with_nodes(place.parent, [LATE])
    (tmp_path / "killed").mkdir()
    killed = Path(shutil.copy(place, tmp_path / "killed" / "memories.db"))
    shutil.copy(place.with_name("memories.db-wal"), killed.with_name("memories.db-wal"))
    writer.close()
    overwrite(killed, (root_of(place, "nodes") - 1) * PAGE, b"\xff" * 100)
    killed.with_name("memories.db.suspect").touch()
    return killed


def test_the_log_beside_the_file_is_read(with_log: Path) -> None:
    store = LocalVectorStore(with_log.parent)
    store.open()
    assert store.get(["late"]) == [LATE]
    assert store.salvaged == {FIRST: Salvage(saved=COUNT + 1, lost=0)}
    store.close()


@pytest.mark.parametrize("left", [0, 5000, 4096 * 4])
def test_a_log_that_is_torn_or_gone_costs_what_was_in_it(with_log: Path, left: int) -> None:
    log = with_log.with_name("memories.db-wal")
    log.write_bytes(log.read_bytes()[:left])
    store = LocalVectorStore(with_log.parent)
    store.open()
    assert assert_true(store) == set(NODES)
    assert list(store.salvaged) == [FIRST]
    store.close()


def test_a_log_without_its_end_is_read_up_to_there(with_log: Path) -> None:
    log = with_log.with_name("memories.db-wal").read_bytes()
    file = with_log.read_bytes()
    assert {LATE.memory_id} <= ids_in(DamagedFile(file, log))
    assert LATE.memory_id not in ids_in(DamagedFile(file, log[:-1]))
    assert LATE.memory_id not in ids_in(DamagedFile(file, log[:5000] + b"x" + log[5001:]))


def ids_in(damaged: DamagedFile) -> set[object]:
    return {columns[1] for _, columns in damaged.rows() if len(columns) > 10}


@pytest.mark.parametrize("gone", [1, 100, 299])
def test_what_was_deleted_does_not_come_back(place: Path, gone: int) -> None:
    store = LocalVectorStore(place.parent)
    store.open()
    store.delete([f"m{number}" for number in range(gone)])
    store.close()
    overwrite(place, (root_of(place, "nodes") - 1) * PAGE, b"\xff" * 100)
    overwrite(place, 0, b"\0" * PAGE)
    store.open()
    ids = assert_true(store)
    assert not ids & {f"m{number}" for number in range(gone)}
    assert ids or gone == 299
    assert store.salvaged[FIRST].lost <= COUNT - gone
    store.delete(sorted(ids))
    store.close()
    store.open()  # nor does what is deleted after it
    assert store.count(EVERYTHING) == 0
    store.close()


def test_newer_memories_stand(place: Path) -> None:
    """As if somebody had gone on with an empty store beside the damaged file."""
    overwrite(place, 0, b"\0" * PAGE)
    damaged = place.rename(place.with_name("elsewhere"))
    newer = NODES["m1"].model_copy(
        update={"content": "newer", "time_modified": "2026-02-01 00:00:00"}
    )
    older = NODES["m2"].model_copy(
        update={"content": "older", "time_modified": "2025-02-01 00:00:00"}
    )
    store = with_nodes(place.parent, [newer, older])
    store.put([node("mine")], space_id="other", vectors={"mine": [1, 0]})
    store.close()
    damaged.rename(place.with_name(FIRST))
    store.open()
    assert store.get(["m1", "m2", "mine"]) == [newer, NODES["m2"], node("mine")]
    assert store.count(EVERYTHING) == COUNT + 1
    assert store.spaces() == {"other": 1, "s": COUNT}
    store.close()


def test_a_second_damage_does_not_bring_back_the_first(place: Path) -> None:
    overwrite(place, 0, b"\0" * PAGE)
    store = LocalVectorStore(place.parent)
    store.open()
    store.delete(["m1"])
    store.close()
    overwrite(place, 0, b"\0" * PAGE)
    store.open()
    assert assert_true(store) == set(NODES) - {"m1"}
    assert list(store.salvaged) == [FIRST, "memories.db.damaged-2"]
    store.close()


KILLED = """
import os, signal, sys
from agentscope_reme.typed.stores import {module} as module
from agentscope_reme.typed.stores.local import LocalVectorStore
left, whole = int(sys.argv[2]), {owner}.{name}
def dies(*args, **options):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*args, **options)
{owner}.{name} = dies
LocalVectorStore(sys.argv[1]).open()
"""


@pytest.mark.parametrize(
    ("module", "owner", "name", "left"),
    [
        ("salvage", "module", "write_node", 150),
        ("salvage", "module", "note_changes", 0),
        ("set_aside", "module.SetAside", "note", 0),
        ("local_database", "module.LocalDatabase", "_bring_over", 0),
        ("set_aside", "module.Disk", "rename", 0),
    ],
)
def test_a_killed_salvage_goes_on(
    with_log: Path, module: str, owner: str, name: str, left: int
) -> None:
    script = KILLED.format(module=module, owner=owner, name=name)
    child = subprocess.run(
        [sys.executable, "-c", script, str(with_log.parent), str(left)], check=False
    )
    assert child.returncode == -signal.SIGKILL
    store = LocalVectorStore(with_log.parent)
    store.open()
    assert store.count(EVERYTHING) == COUNT + 1
    assert store.spaces() == {"s": COUNT + 1}
    assert list(store.salvaged) == [FIRST]
    store.close()


def test_a_log_that_was_left_behind_by_a_kill_is_read(with_log: Path) -> None:
    """As if the process died after it had moved the file and before it moved the log."""
    with_log.rename(with_log.with_name(FIRST))
    store = LocalVectorStore(with_log.parent)
    store.open()
    assert store.get(["late"]) == [LATE]
    assert with_log.with_name(f"{FIRST}-wal").stat().st_size
    store.close()


def test_processes_that_open_it_at_once_save_it_once(place: Path) -> None:
    overwrite(place, 0, b"\0" * PAGE)
    script = (
        "import sys; from agentscope_reme.typed.nodes import NodeFilter\n"
        "from agentscope_reme.typed.stores.local import LocalVectorStore\n"
        "store = LocalVectorStore(sys.argv[1]); store.open()\n"
        "print(store.count(NodeFilter()), *store.set_aside); store.close()"
    )
    command = [sys.executable, "-c", script, str(place.parent)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [child.communicate()[0].split() for child in children]
    assert said == [[str(COUNT), FIRST]] * 3
