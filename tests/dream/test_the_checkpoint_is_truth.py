"""The progress of dreams survives torn lines, growth and the loss of the index."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.dream_checkpoint import DreamCheckpoint
from agentscope_reme.files.dream_progress import Outcome, Prepared, ReadFile, WaitingUnit
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.testing import FakeClock
from agentscope_reme.workspace import Workspace
from tests.dream.conftest import note
from tests.dream.models import Dreamer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "checkpoints" / "dream.jsonl"


@pytest.fixture
def checkpoint(tmp_path: Path) -> DreamCheckpoint:
    workspace = Workspace(tmp_path)
    workspace.create()
    return DreamCheckpoint(workspace, disk=Disk(fsync=False), locks=WorkspaceLocks(workspace))


def unit(name: str, *paths: str) -> WaitingUnit:
    return WaitingUnit(name, name, f"about {name}", "wiki", paths or ("daily/2026-06-20/a.md",))


def test_an_event_is_one_line_and_the_state_is_their_sum(
    checkpoint: DreamCheckpoint, place: Path
) -> None:
    checkpoint.note_read({"a": ReadFile("1" * 64)}, [unit("u"), unit("v")], topics=[{"title": "t"}])
    checkpoint.note_read({}, [])  # nothing to say
    outcome = Outcome("2026-06-20", ("u",), {"v": "too hard"}, used_topics=True)
    checkpoint.prepare(Prepared(outcome, "change", ("digest/wiki/u.md",)))
    assert checkpoint.load().prepared == Prepared(outcome, "change", ("digest/wiki/u.md",))
    checkpoint.finish(outcome)
    state = checkpoint.load()
    assert place.read_bytes().count(b"\n") == 3
    assert (state.prepared, state.last_day, state.topics) == (None, "2026-06-20", [])
    assert [(u.id, u.attempts, u.reason) for u in state.units.values()] == [("v", 1, "too hard")]


def test_torn_and_foreign_lines_cost_nothing_else(checkpoint: DreamCheckpoint, place: Path) -> None:
    checkpoint.note_read({"a": ReadFile("1" * 64)}, [unit("u")])
    with place.open("ab") as file:
        file.write(b'{"type": "read", "files": {"b"')
    checkpoint.note_read({"c": ReadFile("2" * 64)}, [])
    with place.open("ab") as file:
        file.write(b'[]\n"x"\n{"type": "other"}\n{"type": "done"}\n\xff\n{"type": "read"}\n')
    checkpoint.note_read({"d": ReadFile("3" * 64)}, [])
    assert set(checkpoint.load().files) == {"a", "c", "d"}
    assert set(checkpoint.load().units) == {"u"}


def test_a_long_file_is_rewritten_as_its_state(checkpoint: DreamCheckpoint, place: Path) -> None:
    for number in range(230):
        checkpoint.note_read({f"f{number % 7}": ReadFile(f"{number:064d}")}, [unit("u")])
    state = checkpoint.load()
    assert place.read_bytes().count(b"\n") < 60
    assert len(state.files) == 7
    assert state.files["f1"].content_hash == f"{229 - (229 - 1) % 7:064d}"


def test_what_a_forgetting_took_out_of_a_line_costs_nothing_else(
    checkpoint: DreamCheckpoint, place: Path
) -> None:
    checkpoint.note_read(
        {"a": ReadFile("1" * 64), "b": ReadFile("2" * 64)}, [unit("private"), unit("kept")]
    )
    [line] = place.read_text().splitlines()
    row = json.loads(line)
    del row["units"][0]["summary"], row["files"]["a"]["content_hash"]
    place.write_text(json.dumps(row) + "\n")
    assert set(checkpoint.load().units) == {"kept"}
    assert set(checkpoint.load().files) == {"b"}


async def test_forgetting_a_note_leaves_no_trace_in_it(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(Dreamer()) as reme:
        facts = [f"[wiki] Subject{n}: {n}" for n in range(5)]
        await note(reme, "2026-06-20", "talk", *facts)
        card = await note(reme, "2026-06-20", "zebra", "[personal] Zebraphone: 4711-4712")
        assert (await reme.auto_dream()).carried == ["Zebraphone"]
        kept = reme.workspace.root / "journal/checkpoints/dream.jsonl"
        assert "Zebraphone" in kept.read_text()
        await reme.forget(path=card)
        await reme.forget(path=card, dry_run=False)
        assert "zebraphone" not in kept.read_text().casefold()
        result = await reme.auto_dream()
    assert (result.success, result.units, result.pending) == (True, [], False)


async def test_it_outlives_the_index_and_the_retention_of_the_journal(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, "2026-06-20", "talk", *(f"[wiki] Subject{n}: {n}" for n in range(6)))
        first = await reme.auto_dream()
        root = reme.workspace.root
    assert first.carried == ["Subject5"]
    shutil.rmtree(root / "metadata")
    clock.advance(days=200)
    async with open_memory(dreamer) as reme:
        result = await reme.auto_dream()
        assert len((await reme.history()).changes) == 1  # the older months have expired
    assert [i.unit for i in result.integrated] == ["Subject5"]
