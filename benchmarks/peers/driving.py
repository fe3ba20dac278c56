"""Drives one engine through the same tasks; one measure a line, as JSON, on standard output.

Runs in every engine's environment, so it needs the standard library alone. Usage::

    python -m benchmarks.peers.<engine> build|memory|serve|notes --material FOLDER --home FOLDER

``build`` fills a new index in `--home`; ``memory`` cuts the same texts into terms and indexes them
without a store around; ``serve`` opens it in a fresh process, asks and changes;
``notes`` indexes the Markdown notes of the material. Reading the material is never timed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

FILES_PER_BATCH: Final = 100
TOP: Final = 10
_SECONDS_FOR_QUERIES: Final = 20.0
_FEWEST_QUERIES: Final = 50


@dataclass(frozen=True, slots=True)
class File:
    """A path and the texts of its chunks."""

    path: str
    chunks: list[str]


class Engine:
    """What a driver implements. `home` is a folder of its own, and the working directory."""

    has_increments = True
    """Whether one file can be replaced without building everything again."""
    saves_by_itself = True
    """Whether a change is durable when the call returns."""
    has_bare_index = False
    """Whether its index can be had without a store, in memory."""
    has_notes = False
    """Whether it reads Markdown files itself."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def open(self) -> None:
        """Open the index in `home`, or an empty one."""
        raise NotImplementedError

    def add(self, files: list[File]) -> None:
        """Index new files."""
        raise NotImplementedError

    def finish(self) -> None:
        """Called after the last `add`: from now on everything is found."""

    def search(self, query: str) -> list[str]:
        """The texts of the `TOP` best chunks, best first."""
        raise NotImplementedError

    def replace(self, file: File) -> None:
        """Index a file anew; found when the call returns."""
        raise NotImplementedError

    def save(self) -> None:
        """Make everything durable."""

    def close(self) -> None:
        """Release what is open."""

    def index_in_memory(self, texts: dict[str, str]) -> None:
        """Cut texts into terms and index them; nothing is kept on the disk."""
        raise NotImplementedError

    def index_notes(self, workspace: Path) -> None:
        """Index every Markdown file below a folder, durably."""
        raise NotImplementedError

    def query_seconds(self, queries: list[str]) -> list[float]:
        """How long each query takes; stops early when the engine is very slow."""
        spent: list[float] = []
        for query in queries:
            spent.append(seconds(lambda query=query: self.search(query)))  # type: ignore[misc]
            if len(spent) >= _FEWEST_QUERIES and sum(spent) > _SECONDS_FOR_QUERIES:
                break
        return spent


def main(engine_class: type[Engine]) -> None:
    """Run the phase the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=("build", "memory", "serve", "notes"))
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    arguments = parser.parse_args()
    material = arguments.material.resolve()
    home = arguments.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    os.chdir(home)
    engine = engine_class(home)
    phases = {"build": build, "memory": memory, "serve": serve, "notes": notes}
    phases[arguments.phase](engine, material)


def build(engine: Engine, material: Path) -> None:
    """Fill a new index."""
    engine.open()
    found = read_files(material / "corpus.jsonl")
    chunks, spent = 0, 0.0
    while batch := list(islice(found, FILES_PER_BATCH)):
        chunks += sum(len(file.chunks) for file in batch)
        spent += seconds(lambda batch=batch: engine.add(batch))  # type: ignore[misc]
    spent += seconds(engine.finish)
    tell("build_chunks_per_second", chunks / spent)
    tell("build_rss_mb", rss_megabytes())
    saved = seconds(engine.save)
    tell("durable_build_chunks_per_second", chunks / (spent + saved))
    engine.close()
    tell("disk_mb", disk_megabytes(engine.home))


def memory(engine: Engine, material: Path) -> None:
    """Tokenize and index alone, the same for all."""
    if not engine.has_bare_index:
        return
    found = read_files(material / "corpus.jsonl")
    chunks, spent = 0, 0.0
    while batch := list(islice(found, FILES_PER_BATCH)):
        texts = {f"{file.path}:{i}": text for file in batch for i, text in enumerate(file.chunks)}
        chunks += len(texts)
        spent += seconds(lambda texts=texts: engine.index_in_memory(texts))  # type: ignore[misc]
    tell("memory_build_chunks_per_second", chunks / spent)


def serve(engine: Engine, material: Path) -> None:
    """Open the index that `build` left, ask and change."""
    queries: list[str] = json.loads((material / "queries.json").read_text("utf-8"))
    questions: list[str] = json.loads((material / "questions.json").read_text("utf-8"))
    changes = list(read_files(material / "changes.jsonl"))

    def first_answer() -> None:
        engine.open()
        engine.search(queries[0])

    tell("open_seconds", seconds(first_answer))
    gc.collect()
    tell_times("query", engine.query_seconds(queries))
    tell_times("question", engine.query_seconds(questions))
    tell("rss_mb", rss_megabytes())
    if engine.has_increments:
        times = [seconds(lambda file=file: engine.replace(file)) for file in changes]  # type: ignore[misc]
        tell_times("change", times)
        newest = {file.path: file for file in changes}
        found = sum(_finds(engine, file) for file in newest.values())
        tell("changed_files_found", found / len(newest))
    if engine.has_increments and not engine.saves_by_itself:
        tell("snapshot_seconds", seconds(engine.save))
    engine.close()


def notes(engine: Engine, material: Path) -> None:
    """Index the notes, and find a word of the last one."""
    if not engine.has_notes:
        return
    workspace = material / "notes"
    count = sum(1 for _ in workspace.rglob("*.md"))
    took = seconds(lambda: engine.index_notes(workspace))
    found = engine.search(f"zq{count - 1}x")
    if not any(f"zq{count - 1}x" in text for text in found):
        sys.exit("the last note was not found")
    tell("notes_per_second", count / took)
    engine.close()


def _finds(engine: Engine, file: File) -> bool:
    text = file.chunks[0]
    return text in engine.search(text[:200])


def read_files(place: Path) -> Iterator[File]:
    """The files of a material, read one by one."""
    with place.open(encoding="utf-8") as lines:
        for line in lines:
            yield File(**json.loads(line))


def tell(measure: str, value: float) -> None:
    """Print one measure."""
    print(json.dumps({"measure": measure, "value": value}), flush=True)


def tell_times(measure: str, times: list[float]) -> None:
    """Print the median and the 95th percentile, in milliseconds."""
    ordered = sorted(times)
    tell(f"{measure}_p50_ms", 1000 * ordered[len(ordered) // 2])
    tell(f"{measure}_p95_ms", 1000 * ordered[int(len(ordered) * 0.95)])


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes, on the wall clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rss_megabytes() -> float:
    """The resident memory of this process now."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except FileNotFoundError:  # not Linux: the peak, in bytes on macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return pages * resource.getpagesize() / 1e6


def disk_megabytes(folder: Path) -> float:
    """What the files below a folder take."""
    return sum(place.stat().st_size for place in folder.rglob("*") if place.is_file()) / 1e6
