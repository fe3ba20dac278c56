"""How fast the index is: ``python -m benchmarks.index_engine [--chunks 100000]``.

Builds a store of files of ten chunks each and prints one line per measure. Every number is of
the public store, durable writes included; nothing is warmed up that a user would not warm up.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice

from agentscope_reme.schema import FileChunk, FileNode, chunk_id, content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import IndexedFile, SearchFilter
from agentscope_reme.workspace import Workspace
from benchmarks.synthetic_corpus import Corpus

CHUNKS_PER_FILE = 10
FILES_PER_BATCH = 100
QUERIES = 1000
CHANGES = 60
NOTES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000, help="size of the index")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Workspace(folder), arguments.chunks, Corpus(arguments.seed))


def measure(workspace: Workspace, chunks: int, corpus: Corpus) -> None:
    settings = Settings()
    store = LocalFileStore(workspace, settings=settings)
    store.open()
    print(f"RSS before build             {rss_megabytes():8.0f} MB")
    build(store, corpus, chunks)
    print(f"RSS after build              {rss_megabytes():8.0f} MB")
    queries = [corpus.query() for _ in range(QUERIES)]
    report_queries("query, top 10", store, queries, None)
    distilled = SearchFilter(exclude_layers=("session",))
    report_queries("query with a filter", store, queries, distilled)
    report("change of one file", [change(store, corpus, 7 * i) for i in range(CHANGES)])
    report_queries("query after changes", store, queries, None)
    started = time.perf_counter()
    store.optimize()
    print(f"optimize                     {time.perf_counter() - started:8.2f} s")
    report_queries("query after optimize", store, queries, None)
    print(f"disk                         {store.stats().bytes_on_disk / 1e6:8.0f} MB")
    store.close()
    reopened = LocalFileStore(workspace, settings=settings)
    report("open to first answer", [seconds(lambda: first_answer(reopened, queries[0]))])
    foreign = LocalFileStore(workspace, settings=settings)
    foreign.open()
    change(foreign, corpus, 5)
    report("reader catches up", [seconds(lambda: reopened.keyword_search("x", limit=1))])
    foreign.close()
    reopened.close()
    print(f"peak RSS                     {peak_rss_megabytes():8.0f} MB")
    notes(store, corpus, settings)


def build(store: LocalFileStore, corpus: Corpus, chunks: int) -> None:
    """Fill the store; the making of texts and records is not timed."""
    spent = 0.0
    made = files(corpus, chunks // CHUNKS_PER_FILE)
    while batch := list(islice(made, FILES_PER_BATCH)):
        spent += seconds(lambda batch=batch: store.apply(batch))  # type: ignore[misc]
    print(f"build, durable               {chunks / spent:8.0f} chunks/s")


def notes(store: LocalFileStore, corpus: Corpus, settings: Settings) -> None:
    """Markdown files from bytes to searchable: parsed, cut, indexed, committed one by one."""
    texts = [
        f"---\nname: note {i}\ndescription: {corpus.query()}\n---\n# Note {i}\n\n"
        + "\n\n".join(f"## Part {part}\n\n{corpus.text()}" for part in range(3))
        for i in range(NOTES)
    ]
    size = statistics.mean(len(text.encode()) for text in texts)
    indexer = FileIndexer(settings)
    store.open()

    def one_by_one() -> None:
        for i, text in enumerate(texts):
            path = f"digest/wiki/note-{i}.md"
            store.apply([indexer.index(path, text.encode(), mtime_ns=i)])

    def together() -> None:
        indexed = [
            indexer.index(f"digest/wiki/bulk-{i}.md", text.encode(), mtime_ns=i)
            for i, text in enumerate(texts)
        ]
        for start in range(0, len(indexed), FILES_PER_BATCH):
            store.apply(indexed[start : start + FILES_PER_BATCH])

    print(f"notes of {size:4.0f} bytes, single   {NOTES / seconds(one_by_one):8.0f} notes/s")
    print(f"notes of {size:4.0f} bytes, batches  {NOTES / seconds(together):8.0f} notes/s")
    store.close()


def files(corpus: Corpus, count: int) -> Iterator[IndexedFile]:
    return (file(corpus, path_of(number)) for number in range(count))


def path_of(number: int) -> str:
    return f"daily/2026-01-{1 + number % 28:02}/file-{number}.md"


def file(corpus: Corpus, path: str) -> IndexedFile:
    """A file of ten chunks, as the indexer would make it."""
    chunks = tuple(
        FileChunk(
            id=chunk_id(path, (), text, 0),
            path=path,
            start_line=10 * i + 1,
            end_line=10 * i + 9,
            text=text,
        )
        for i, text in enumerate(corpus.texts(CHUNKS_PER_FILE))
    )
    node = FileNode(
        path=path,
        st_mtime_ns=1,
        size=1,
        content_hash=content_hash(chunks[0].text.encode()),
        chunk_ids=tuple(chunk.id for chunk in chunks),
    )
    return IndexedFile(node, chunks)


def change(store: LocalFileStore, corpus: Corpus, number: int) -> float:
    """Seconds it takes to rewrite a file; the making of its text is not timed."""
    changed = file(corpus, path_of(number))
    return seconds(lambda: store.apply([changed]))


def first_answer(store: LocalFileStore, query: str) -> None:
    store.open()
    store.keyword_search(query, limit=10)


def report_queries(
    label: str, store: LocalFileStore, queries: list[str], where: SearchFilter | None
) -> None:
    def ask(query: str) -> None:
        store.keyword_search(query, limit=10, where=where)

    report(label, [seconds(lambda query=query: ask(query)) for query in queries])  # type: ignore[misc]


def report(label: str, times: list[float]) -> None:
    ordered = sorted(times)
    middle, slow = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{label:28} {middle * 1e3:8.3f} ms p50 {slow * 1e3:8.3f} ms p95", flush=True)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rss_megabytes() -> float:
    """Resident memory now, where the system tells."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() / 1e6
    except FileNotFoundError:
        return peak_rss_megabytes()


def peak_rss_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
