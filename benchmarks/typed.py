"""The store of typed memory: how fast it searches and writes, next to numpy and the disk.

Run with ``python -m benchmarks.typed [--nodes 100000] [--backend local]``; it prints a Markdown
table. The bars are for the local store with 100,000 nodes of width 1,024. What they are compared
with, one product of a matrix with a vector and one flush of a file, is measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import numpy as np

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryNode, MemoryType, NodeFilter
from agentscope_reme.typed.stores import BaseVectorStore, make_store
from benchmarks.bars import BARS_ARE_FOR_CHUNKS, Bar

WIDTH: Final = 1024
USERS: Final = 100
SPACE: Final = "benchmark/1024"
ROUNDS: Final = 25
INSERTS: Final = 300
LOG_BYTES: Final = 32 * 1024
"""About what one insert leaves in the write-ahead log."""

BARS: Final = (
    Bar("exact top-10 of all, times one numpy product", 1.5, False, lambda ours, _: ours["all"]),
    Bar("insert, ms p50", 2.0, False, lambda ours, _: ours["insert_p50_ms"]),
)
_COUNTED: Final = """
import sys
import numpy as np
from benchmarks.typed import SPACE, WIDTH, memory
from agentscope_reme.typed.stores import make_store
store = make_store("local", sys.argv[1])
store.open()
row = np.ones(WIDTH, np.float32)
store.put([memory(0)], space_id=SPACE, vectors={memory(0).memory_id: row})
sys.stderr.write("begin\\n")
for number in range(1, 201):
    store.put([memory(number)], space_id=SPACE, vectors={memory(number).memory_id: row})
sys.stderr.write("end\\n")
"""


def memory(number: int) -> MemoryNode:
    """One of many nodes, of one of `USERS` people."""
    return MemoryNode(
        memory_id=f"{number:032x}",
        memory_type=MemoryType.PERSONAL,
        memory_target=f"user{number % USERS}",
        content=f"What somebody said on occasion {number}, in about a hundred characters, " * 2,
        time_created="2026-06-20 09:30:00",
    )


def measured(backend: str, folder: Path, nodes: int) -> dict[str, float]:
    """The measures of one store, in milliseconds, megabytes and ratios."""
    rows = np.random.default_rng(7).normal(size=(nodes, WIDTH)).astype(np.float32)
    store = make_store(backend, folder)
    store.open()
    found = {"fill_s": _seconds(lambda: _fill(store, rows))}
    store.close()
    found["open_s"] = _seconds(lambda: _open_and_ask(store, rows[0]))
    found |= _searched(store, rows)
    found |= _inserted(store, nodes)
    found["disk_mb"] = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
    store.close()
    return found


def flushes_of_an_insert() -> float | None:
    """Flushes the system sees per insert of the local store; ``None`` without ``strace``."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        watch = [strace, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
        child = [sys.executable, "-c", _COUNTED, folder]
        subprocess.run([*watch, *child], check=True, stderr=subprocess.DEVNULL)
        between = trace.read_text().split('"begin\\n"')[1].split('"end\\n"')[0]
    return between.count("sync(") / 200


def _fill(store: BaseVectorStore, rows: Floats) -> None:
    for start in range(0, len(rows), 1000):
        nodes = [memory(number) for number in range(start, min(start + 1000, len(rows)))]
        vectors = {node.memory_id: rows[start + place] for place, node in enumerate(nodes)}
        store.put(nodes, space_id=SPACE, vectors=vectors)


def _open_and_ask(store: BaseVectorStore, query: Floats) -> None:
    store.open()
    store.search(query, space_id=SPACE, limit=10, where=NodeFilter())


def _searched(store: BaseVectorStore, rows: Floats) -> dict[str, float]:
    query = rows[len(rows) // 2] + 0.5
    person = NodeFilter(targets=frozenset({"user7"}))
    works: dict[str, Callable[[], object]] = {
        "product_ms": lambda: rows @ query,
        "search_ms": lambda: store.search(query, space_id=SPACE, limit=10, where=NodeFilter()),
        "person_ms": lambda: store.search(query, space_id=SPACE, limit=10, where=person),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):  # in turns, so that what else the machine does hits all alike
        for name, work in works.items():
            times[name].append(_seconds(work) * 1000)
    found = {name: statistics.median(each) for name, each in times.items()}
    return found | {"all": found["search_ms"] / found["product_ms"]}


def _inserted(store: BaseVectorStore, first: int) -> dict[str, float]:
    """Inserts, and in turns with them what the disk alone takes for as many bytes."""
    random = np.random.default_rng(8)
    inserts, flushes = [], []
    with tempfile.TemporaryFile() as file:
        for number in range(first, first + INSERTS):
            node, row = memory(number), random.normal(size=WIDTH).astype(np.float32)
            start = time.perf_counter()
            store.put([node], space_id=SPACE, vectors={node.memory_id: row})
            inserts.append(time.perf_counter() - start)
            flushes.append(_seconds(lambda: _append(file)))
    inserts.sort()
    insert, flush = statistics.median(inserts), statistics.median(flushes)
    return {
        "insert_p50_ms": insert * 1000,
        "insert_p95_ms": inserts[int(len(inserts) * 0.95)] * 1000,
        "flush_ms": flush * 1000,
        "insert": insert / flush,
    }


def _append(file: IO[bytes]) -> None:
    file.write(bytes(LOG_BYTES))
    file.flush()
    os.fsync(file.fileno())


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def table(found: dict[str, float], backend: str, nodes: int) -> str:
    """The measures, and how they stand to the bars."""
    lines = [
        f"{backend}, {nodes:,} nodes of {USERS} people, width {WIDTH}\n",
        "| measure | value |",
        "|---|---|",
        f"| one numpy product with all rows | {found['product_ms']:.1f} ms |",
        f"| top-10 of all | {found['search_ms']:.1f} ms |",
        f"| top-10 of one person | {found['person_ms']:.2f} ms |",
        f"| insert, p50 | {found['insert_p50_ms']:.2f} ms |",
        f"| insert, p95 | {found['insert_p95_ms']:.2f} ms |",
        f"| one append and flush of {LOG_BYTES // 1024} KB | {found['flush_ms']:.2f} ms |",
        f"| insert, times that | {found['insert']:.2f} |",
        f"| filling it, a thousand at a time | {found['fill_s']:.1f} s |",
        f"| open to first answer | {found['open_s']:.2f} s |",
        f"| disk | {found['disk_mb']:.0f} MB |",
    ]
    if "flushes" in found:
        lines.append(f"| flushes per insert, those of checkpoints too | {found['flushes']:.2f} |")
    if backend == "local":
        lines += ["\n| bar | wanted | measured | verdict |", "|---|---|---|---|"]
        lines += [bar.line(found, {}) for bar in BARS]
        if nodes < BARS_ARE_FOR_CHUNKS:
            lines.append(f"\nThe bars are for {BARS_ARE_FOR_CHUNKS:,} nodes; here {nodes:,}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=BARS_ARE_FOR_CHUNKS)
    parser.add_argument("--backend", default="local")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(options.backend, Path(folder), options.nodes)
    flushes = flushes_of_an_insert() if options.backend == "local" else None
    if flushes is not None:
        found["flushes"] = flushes
    print(table(found, options.backend, options.nodes))


if __name__ == "__main__":
    main()
