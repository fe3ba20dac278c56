"""The comparison runs from corpus to verdicts; here with a tiny corpus and without the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.bars import BARS, Bar, judged
from benchmarks.peers.driving import read_files
from benchmarks.peers.material import note_mark, note_path, write_material


def test_a_tiny_run_fills_every_line_and_judges_every_bar_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tiny = ["--chunks", "200", "--notes", "4", "--ours-only", "--idle-seconds", "0.1"]

    assert compare.main(tiny) == 0

    out = capsys.readouterr().out
    assert "failed" not in out
    rows = dict(line.strip("| ").split(" | ", 1) for line in out.splitlines() if " | " in line)
    for label, key, _ in compare.LINES:
        empty = rows[label].startswith("-")
        assert empty == (key == "snapshot_seconds"), (label, rows[label])
    assert rows["changed files found"].startswith("100%")
    for bar in BARS:
        compares = "times faster" in bar.label
        assert rows[bar.label].endswith("not measured") == compares, (bar.label, rows[bar.label])


def test_without_their_environment_the_others_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(compare, "is_prepared", lambda: False)
    material = write_material(tmp_path, chunks=10, notes=1)

    assert compare.measure_others(material, tmp_path) == {}

    assert "benchmarks/peers/prepare.py" in capsys.readouterr().out


def test_every_engine_is_given_the_same_material(tmp_path: Path) -> None:
    first = write_material(tmp_path / "a", chunks=100, notes=3)
    second = write_material(tmp_path / "b", chunks=100, notes=3)

    for place in ("corpus", "changes", "queries", "questions"):
        assert getattr(first, place).read_bytes() == getattr(second, place).read_bytes()
    files = list(read_files(first.corpus))
    assert [len(file.chunks) for file in files] == [10] * 10
    changed = {file.path for file in read_files(first.changes)}
    assert changed <= {file.path for file in files}
    note = (first.notes / note_path(2)).read_text("utf-8")
    assert note_mark(2) in note
    assert 2500 < len(note.encode()) <= 2701


def test_a_bar_passes_on_its_good_side_only() -> None:
    fast = Bar("query", 0.5, False, lambda ours, reme: ours.get("ms"))
    share = Bar("recall", 0.99, True, lambda ours, reme: ours.get("recall"))

    assert fast.line({"ms": 0.4}, {}) == "| query | <= 0.50 | 0.40 | pass |"
    assert fast.line({"ms": 0.6}, {}) == "| query | <= 0.50 | 0.60 | **MISS** |"
    assert share.line({"recall": 0.98}, {}) == "| recall | >= 0.99 | 0.98 | **MISS** |"
    assert share.line({}, {}) == "| recall | >= 0.99 | - | not measured |"


def test_ratios_to_reme_are_of_the_same_run() -> None:
    ours = {"query_p50_ms": 0.2, "durable_build_chunks_per_second": 9000.0}
    reme = {"query_p50_ms": 1.0, "durable_build_chunks_per_second": 3000.0}

    table = judged(ours, reme, chunks=100_000, idle_notes=8000)

    assert "| 2-3 words, times faster than ReMe | >= 2.50 | 5.00 | pass |" in table
    assert "| into the store and saved, times faster than ReMe | >= 2.20 | 3.00 | pass |" in table
    assert "The bars are for" not in table


def test_flushes_are_counted_apart_from_a_durable_change() -> None:
    ours = {"durable_change_p50_ms": 9.0, "fsyncs_per_change": 3.0, "fsync_ms": 1.5}

    table = judged(ours, None, chunks=100_000, idle_notes=8000)

    line = next(line for line in table.splitlines() if "fsyncs apart" in line)
    assert line.endswith("| 4.50 | pass |")
    assert "9.0 ms, of which 3.0 fsyncs at 1.50 ms each" in table
