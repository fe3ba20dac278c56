"""``kill -9`` at a random moment: acknowledged changes stay, unfinished ones are old or new.

``REME_CRASH_ROUNDS`` says how often.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.vault.crash_house import LOGS, CrashHouse, digested, index_of, open_house, rebuilt_index

ROUNDS = int(os.environ.get("REME_CRASH_ROUNDS", "30"))
_LONGEST_STEP_SECONDS = 0.02


@dataclass
class State:
    """What the child said: digests of documents, texts by session, the session it appends to."""

    files: dict[str, str]
    logs: dict[str, list[str]]
    session: str


@pytest.mark.crash
def test_no_acknowledged_change_is_lost_and_none_is_half_done(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    for seed in range(ROUNDS):
        acknowledged, tried = _killed_run(root, seed)
        house = open_house(root)
        _check_files(house, root, acknowledged, tried)
        _check_index(house, tried)
        house.close()


def _killed_run(root: Path, seed: int) -> tuple[State, State]:
    """The last acknowledged state, and the one that was attempted after it."""
    chance = random.Random(seed)
    context = _context()
    listening, out = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(str(root), seed, out), daemon=True)
    child.start()
    out.close()
    said = [listening.recv() for _ in range(chance.randrange(1, 25))]
    end = time.monotonic() + chance.random() * _LONGEST_STEP_SECONDS
    while time.monotonic() < end:  # somewhere inside the next changes
        pass
    child.kill()
    said += _rest(listening)
    child.join()
    assert child.exitcode == -signal.SIGKILL
    steps = [(word, State(*state)) for word, *state in said]
    last = max(index for index, (word, _) in enumerate(steps) if word == "done")
    acknowledged = steps[last][1]
    return acknowledged, steps[last + 1][1] if last + 1 < len(steps) else acknowledged


def _context() -> Any:
    """Children start from a process that has imported everything already."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.vault.crashing_child"])
    return context


def _child(root: str, seed: int, out: Connection) -> None:
    from tests.vault.crashing_child import main

    main(root, seed, out)


def _rest(listening: Connection) -> list[Any]:
    said = []
    try:
        while True:
            said.append(listening.recv())
    except (EOFError, OSError):  # the end, perhaps in the middle of a message
        return said


def _check_files(house: CrashHouse, root: Path, acknowledged: State, tried: State) -> None:
    found = digested(house.documents())
    assert found in (acknowledged.files, tried.files)
    for session, texts in house.said().items():
        kept = acknowledged.logs[session]
        assert texts[: len(kept)] == kept
        assert texts == tried.logs[session][: len(texts)]
    assert not [p for p in root.rglob("*.tmp") if p.name.startswith(".")]
    assert house.vault.dirty == []
    for record in house.vault.history(limit=5):
        assert record.state in ("done", "aborted")
        house.vault.diff(record.change_id)


def _check_index(house: CrashHouse, tried: State) -> None:
    """What opening left of it is what the files say; a log cut short in the append excepted."""
    unsure = f"{LOGS}{tried.session}.jsonl" if tried.session else ""
    paths = house.vault.paths()
    assert _differences(house, paths, without=unsure) == []
    if unsure:
        house.vault.scan()
        assert _differences(house, paths, without="") == []
    assert house.vault.store.audit() == {}


def _differences(house: CrashHouse, paths: list[str], *, without: str) -> list[Any]:
    kept = index_of(house.vault.store, without=without)
    fresh = rebuilt_index(house.vault, paths, without=without)
    return [
        (kind, name, kept[kind].get(name), fresh[kind].get(name))
        for kind in fresh
        for name in kept[kind].keys() | fresh[kind].keys()
        if kept[kind].get(name) != fresh[kind].get(name)
    ]
