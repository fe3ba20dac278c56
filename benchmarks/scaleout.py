"""Measures a shared index over a real seekdb: ``python -m benchmarks.scaleout``.

The server and this process share one machine. Vectors are clustered, as those of real texts are.
Milvus is left out: its stand-in for tests, Milvus Lite, says nothing about its speed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentscope_reme.settings import Settings
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.records import IndexedFile, SearchFilter
from agentscope_reme.store.scaleout import SharedFileStore, SharedIndex, shared_vectors
from agentscope_reme.workspace import Workspace
from benchmarks.synthetic_corpus import Corpus
from benchmarks.timing import Row, spread
from tests.scaleout.conftest import index_of
from tests.scaleout.servers import HAS_SEEKDB, SeekdbServer

CHUNKS = 20_000
WIDTH = 384
CHUNKS_PER_FILE = 10
BATCH = 500
VECTOR_BATCH = 64
QUERIES = 300
HITS = 25
WORKERS = 4
CLUSTERS = 400
SPREAD = 0.6
SPACE = "benchmark/384"


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit on a measurement."""

    what: str
    limit: float
    at_least: bool = False

    def line(self, value: float) -> str:
        passed = value >= self.limit if self.at_least else value <= self.limit
        sign = ">=" if self.at_least else "<="
        verdict = "pass" if passed else "**MISS**"
        return f"| {self.what} | {sign} {self.limit:g} | {value:.1f} | {verdict} |"


UPSERT_ALONE = Bar("upsert by one worker, chunks/s", 1000, at_least=True)
UPSERT = Bar("upsert by several workers, chunks/s", 1000, at_least=True)
KEYWORD = Bar("keyword search, p50 ms", 5)
NEAREST = Bar("nearest by vector, p50 ms", 30)


class Vectors:
    """Vectors around a few hundred centres."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(3)
        self._centres = self._random.normal(size=(CLUSTERS, WIDTH))

    def next(self) -> list[float]:
        centre = self._centres[self._random.integers(0, CLUSTERS)]
        vector: list[float] = (centre + SPREAD * self._random.normal(size=WIDTH)).tolist()
        return vector


def files(corpus: Corpus) -> Iterator[IndexedFile]:
    """Files of about ten chunks, until there are as many chunks as wanted."""
    indexer, chunks, number = FileIndexer(Settings()), 0, 0
    while chunks < CHUNKS:
        parts = [f"## Part {i}\n\n{corpus.text()}" for i in range(CHUNKS_PER_FILE // 2)]
        text = f"---\nname: note {number}\ndescription: about {number}\n---\n" + "\n\n".join(parts)
        path = f"daily/2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}/{number}.md"
        file = indexer.index(path, text.encode(), mtime_ns=number)
        chunks += len(file.chunks)
        number += 1
        yield file


def batches(of: Iterator[IndexedFile]) -> Iterator[list[IndexedFile]]:
    batch: list[IndexedFile] = []
    for file in of:
        batch.append(file)
        if sum(len(one.chunks) for one in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def timed(work: Callable[[], object], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        taken.append(time.perf_counter() - before)
    return taken


def processor_seconds(process: int) -> float:
    """What a process has used so far, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def p50(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


@contextmanager
def exact_up_to(chunks: int) -> Iterator[None]:
    """Vectors are compared one by one in workspaces up to this size."""
    before = shared_vectors.EXACT_UP_TO
    shared_vectors.EXACT_UP_TO = chunks  # type: ignore[misc] - a constant, except here
    try:
        yield
    finally:
        shared_vectors.EXACT_UP_TO = before  # type: ignore[misc]


class Measured:
    """One run over a shared index.

    Args:
        server: where the index is.
        folder: for the workspaces.
    """

    def __init__(self, server: SeekdbServer, folder: Path) -> None:
        self._server = server
        self._index: SharedIndex = index_of(server, "benchmark")
        self._folder = folder
        self.corpus = Corpus()
        self.vectors = Vectors()
        self.rows: list[Row] = []
        self.bars: list[str] = []
        self.store = self.opened("one")

    def opened(self, user: str) -> SharedFileStore:
        workspace = Workspace(self._folder, user=user)
        workspace.create()
        store = self._index(workspace, Settings())
        store.open()
        return store

    def upsert(self) -> None:
        ready = list(batches(files(self.corpus)))
        count = sum(len(file.chunks) for batch in ready for file in batch)
        with self._used(count, "chunk"):
            taken = timed(lambda: _apply(self.store, ready), 1)[0]
        rate = count / taken
        self.rows.append(Row("upsert, one worker", f"{rate:,.0f} chunks/s", f"{count:,} chunks"))
        self.bars.append(UPSERT_ALONE.line(rate))
        stores = [self.opened(f"worker {number}") for number in range(WORKERS)]
        shares = [ready[number::WORKERS] for number in range(WORKERS)]

        def together() -> None:
            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(_apply, stores, shares))

        rate = count / timed(together, 1)[0]
        self.rows.append(
            Row(f"upsert, {WORKERS} workers with a workspace each", f"{rate:,.0f} chunks/s")
        )
        self.bars.append(UPSERT.line(rate))
        for store in stores:
            store.close()
        with self._used(20, "file"):
            taken = timed(self._change, 20)
        self.rows.append(Row("one changed file, committed", spread(taken)))

    @contextmanager
    def _used(self, count: int, unit: str) -> Iterator[None]:
        """Says what the next row costs in processor time, which a busy machine hardly changes."""
        server, worker = processor_seconds(self._server.process), time.process_time()
        yield
        server = (processor_seconds(self._server.process) - server) / count * 1000
        worker = (time.process_time() - worker) / count * 1000
        what = f"processor time of the next row, per {unit}"
        self.rows.append(Row(what, f"server {server:.2f} ms, worker {worker:.2f} ms"))

    def _change(self) -> None:
        """A new paragraph at the end of a file of ten chunks."""
        text = "\n\n".join(f"## Part {i}\n\n{self.corpus.text()}" for i in range(5))
        file = FileIndexer(Settings()).index("daily/changed.md", text.encode(), mtime_ns=1)
        self.store.apply([file])

    def embed(self) -> None:
        before, count = time.perf_counter(), 0
        while missing := self.store.missing_vectors(SPACE, VECTOR_BATCH):
            self.store.put_vectors(SPACE, {key: self.vectors.next() for key, _ in missing})
            count += len(missing)
        rate = count / (time.perf_counter() - before)
        detail = f"{count:,} of {WIDTH} numbers, {VECTOR_BATCH} at once"
        self.rows.append(Row("vectors", f"{rate:,.0f}/s", detail))

    def search(self) -> None:
        queries = [self.corpus.query() for _ in range(QUERIES)]
        new = self._queried(queries, "keyword search, each query new")
        self.bars.append(KEYWORD.line(p50(new)))
        self._queried(queries, "distilled files only", SearchFilter(exclude_layers=("session",)))
        below = SearchFilter(path_prefix="daily/2026-03")
        self._queried(queries, "below a folder with a twelfth of all", below)

    def _queried(
        self, queries: Sequence[str], what: str, where: SearchFilter | None = None
    ) -> list[float]:
        left = iter(queries)
        with self._used(len(queries), "query"):
            taken = timed(
                lambda: self.store.keyword_search(next(left), limit=HITS, where=where), len(queries)
            )
        self.rows.append(Row(what, spread(taken), f"{HITS} hits"))
        return taken

    def nearest(self) -> None:
        for most, what in ((10 * CHUNKS, "all compared"), (0, "by index")):
            with exact_up_to(most):
                self.store.vector_search(self.vectors.next(), limit=HITS)
                with self._used(QUERIES // 3, "query"):
                    taken = timed(
                        lambda: self.store.vector_search(self.vectors.next(), limit=HITS),
                        QUERIES // 3,
                    )
            self.rows.append(Row(f"nearest by vector, {what}", spread(taken), f"{HITS} hits"))
        self.bars.append(NEAREST.line(p50(taken)))
        self.rows.append(Row("recall@10 of the index", f"{self._recall():.3f}"))

    def _recall(self) -> float:
        found = 0
        for _ in range(50):
            vector, answers = self.vectors.next(), []
            for most in (10 * CHUNKS, 0):
                with exact_up_to(most):
                    hits = self.store.vector_search(vector, limit=10)
                answers.append({hit.chunk_id for hit in hits})
            found += len(answers[0] & answers[1])
        return found / 500

    def restart(self) -> None:
        """What the first searches after a crash of the server cost; the bar is the usual case."""
        server = self._server
        server.kill()
        self.rows.append(Row("server up again after SIGKILL", f"{timed(server.start, 1)[0]:.1f} s"))
        self.store.close()
        taken = timed(self.store.open, 1)[0]
        near = timed(lambda: self.store.vector_search(self.vectors.next(), limit=HITS), 1)[0]
        self.rows.append(
            Row("open, and first search by vector", f"{taken:.2f} s, {near:.2f} s", "while warming")
        )
        self.rows.append(
            Row("warm-up in the background", f"{timed(self.store.close, 1)[0]:.1f} s more")
        )

    def table(self) -> str:
        lines = ["| measure | value | |", "|---|---|---|"]
        lines += [f"| {row.what} | {row.value} | {row.detail} |" for row in self.rows]
        bars = ["| bar | wanted | measured | |", "|---|---|---|---|", *self.bars]
        return "\n".join([*lines, "", *bars])


def _apply(store: SharedFileStore, ready: Sequence[list[IndexedFile]]) -> None:
    for batch in ready:
        store.apply(batch)


def main() -> int:
    """Start a server, measure, kill and restart it, print the tables."""
    if not HAS_SEEKDB:
        print("no seekdb is installed; `make bench-scaleout` installs one")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with SeekdbServer(place / "server", memory="2G") as server:
            measured = Measured(server, place / "memory")
            measured.upsert()
            measured.embed()
            measured.search()
            measured.nearest()
            measured.restart()
            size = sum(f.stat().st_blocks * 512 for f in server.folder.rglob("*") if f.is_file())
            measured.rows.append(Row("on the disk of the server", f"{size / 1e6:,.0f} MB"))
            print(measured.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
