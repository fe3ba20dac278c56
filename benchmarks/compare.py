"""The index next to other engines, in one table: ``python -m benchmarks.compare [--full]``.

Every engine runs in processes of its own, the others in ``.venv-peers``, over the same corpus and
the same queries, each with its own tokenizer. Then the bars are judged. An engine whose
environment is missing is left out, and the bars that compare with it are not judged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bars import IDLE_BAR_IS_FOR_NOTES, judged
from benchmarks.peers.material import Material, write_material
from benchmarks.peers.prepare import interpreter, is_prepared

ROOT: Final = Path(__file__).resolve().parents[1]
Measures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Peer:
    """One column: a title, and the module that drives it."""

    title: str
    module: str


OURS: Final = Peer("ours", "ours")
REME: Final = Peer("ReMe 0.4.2", "reme_engine")
OTHERS: Final = (
    REME,
    Peer("tantivy", "tantivy_engine"),
    Peer("bm25s", "bm25s_engine"),
    Peer("rank-bm25", "rank_bm25_engine"),
)
LINES: Final = (
    ("tokenize and index in memory, chunks/s", "memory_build_chunks_per_second", ",.0f"),
    ("into the store, chunks/s", "build_chunks_per_second", ",.0f"),
    ("into the store and saved, chunks/s", "durable_build_chunks_per_second", ",.0f"),
    ("2-3 words, top-10, ms p50", "query_p50_ms", ".2f"),
    ("2-3 words, top-10, ms p95", "query_p95_ms", ".2f"),
    ("whole questions, top-10, ms p50", "question_p50_ms", ".2f"),
    ("whole questions, top-10, ms p95", "question_p95_ms", ".2f"),
    ("change a file of 10 chunks, ms p50", "change_p50_ms", ".1f"),
    ("then durable after, s", "snapshot_seconds", ".2f"),
    ("changed files found", "changed_files_found", ".0%"),
    ("open to first answer, s", "open_seconds", ".3f"),
    ("RSS serving, MB", "rss_mb", ",.0f"),
    ("RSS after build, MB", "build_rss_mb", ",.0f"),
    ("disk, MB", "disk_mb", ",.0f"),
    ("Markdown notes to searchable, notes/s", "notes_per_second", ",.0f"),
)


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables; 0 even when a bar is missed, for a slow machine is no failure.

    Args:
        words: the command line; that of the process without it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000, help="size of the index")
    parser.add_argument("--notes", type=int, default=500, help="Markdown files")
    parser.add_argument("--idle-notes", type=int, default=2000, help="Markdown files to idle over")
    parser.add_argument(
        "--full", action="store_true", help="100,000 chunks, 5,000 notes, 8,000 to idle over"
    )
    parser.add_argument("--ours-only", action="store_true", help="leave the other engines out")
    parser.add_argument(
        "--idle-seconds", type=float, default=8.0, help="how long to watch idleness"
    )
    arguments = parser.parse_args(words)
    chunks, notes = (100_000, 5000) if arguments.full else (arguments.chunks, arguments.notes)
    idle_notes = IDLE_BAR_IS_FOR_NOTES if arguments.full else arguments.idle_notes
    with tempfile.TemporaryDirectory(prefix="reme-compare-") as name:
        folder = Path(name)
        material = write_material(folder / "material", chunks=chunks, notes=notes)
        found = {OURS: measure(OURS, material, folder, Path(sys.executable))}
        found[OURS] |= extras(material, folder, arguments.idle_seconds, idle_notes)
        if not arguments.ours_only:
            found |= measure_others(material, folder)
    print(f"{chunks:,} chunks, {notes:,} notes, {os.cpu_count()} cores\n")
    print(table(found))
    print(f"\n{judged(found[OURS], found.get(REME), chunks=chunks, idle_notes=idle_notes)}")
    return 0


def measure_others(material: Material, folder: Path) -> dict[Peer, Measures]:
    """The measures of every other engine, or nothing when their environment is missing."""
    if not is_prepared():
        print("The other engines are not installed: run benchmarks/peers/prepare.py.\n")
        return {}
    return {peer: measure(peer, material, folder, interpreter()) for peer in OTHERS}


def measure(peer: Peer, material: Material, folder: Path, python: Path) -> Measures:
    """Everything one engine can do; a failing phase costs its own lines only."""
    home = folder / peer.module
    found: Measures = {}
    for phase in ("build", "memory", "serve", "notes"):
        place = home / ("index" if phase in ("build", "serve") else phase)
        found |= _run(python, peer.module, [phase], material, place)
    return found


def extras(material: Material, folder: Path, idle_seconds: float, idle_notes: int) -> Measures:
    """What is measured on this project alone, with the index that `measure` left."""
    home = folder / OURS.module / "index"
    words = ["--idle-seconds", str(idle_seconds), "--idle-notes", str(idle_notes)]
    return _run(Path(sys.executable), "ours_extras", words, material, home)


def table(found: Mapping[Peer, Measures]) -> str:
    """One line a measure, one column an engine, and how ours compares with ReMe."""
    titles = [peer.title for peer in found]
    lines = [f"| | {' | '.join(titles)} | ours to ReMe |", "|---" * (len(titles) + 2) + "|"]
    for label, key, form in LINES:
        cells = [_cell(measures.get(key), form) for measures in found.values()]
        ratio = _ratio(found[OURS].get(key), found.get(REME, {}).get(key), key)
        lines.append(f"| {label} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _ratio(ours: float | None, theirs: float | None, key: str) -> str:
    """How many times better; what is counted per second is better when it is more."""
    if not ours or not theirs or key == "changed_files_found":
        return "-"
    better = ours / theirs if key.endswith("per_second") else theirs / ours
    return f"{better:.1f}x"


def _run(python: Path, module: str, words: list[str], material: Material, home: Path) -> Measures:
    command = [
        *(str(python), "-m", f"benchmarks.peers.{module}", *words),
        *("--material", str(material.folder), "--home", str(home)),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{module} {' '.join(words)} failed; its lines are missing\n", flush=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"measure"')]
    return {row["measure"]: row["value"] for row in rows}


if __name__ == "__main__":
    sys.exit(main())
