"""How fast vectors are compared, and what of the best is missed: ``python -m benchmarks.vectors``.

Four kinds of vectors. *Random* ones have no structure at all. *Clustered* ones of 1,024 numbers lie
around 256 centres, and so do the queries. *Skewed* ones of 384 have most of their variance in a few
directions, all lie in one cone, and questions lie beside it; ``--million`` adds a million of those,
which takes 2 GB. *Mixed* ones are pairs of real ones, added with noise of the same spread, and the
questions are real: they need what `make bench-hybrid` keeps of the local model.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from agentscope_reme.store.vector_index import Kind, VectorIndex
from agentscope_reme.store.vectors import Floats, Halves, unpacked, widened
from benchmarks.kept_embedding import PLACE

LIMIT = 10
QUERIES = 50
_BLOCK = 20_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of keeping some vectors."""

    kind: Kind
    count: int
    width: int
    load_seconds: float
    fastest_ms: float
    query_ms: float
    worst_ms: float
    recall: float
    megabytes: float


def clustered(count: int, width: int, seed: int = 1) -> tuple[Halves, Floats]:
    """Vectors around 256 centres, and queries near some of them."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((256, width)).astype(np.float32)

    def some(size: int) -> Floats:
        noise = random.standard_normal((size, width)).astype(np.float32)
        return centres[random.integers(0, 256, size)] + np.float32(0.8) * noise

    return _halves(some(len(part)) for part in _parts(count)), _at_length_one(some(QUERIES))


def unstructured(count: int, width: int, seed: int = 4) -> tuple[Halves, Floats]:
    """Vectors and queries in random directions."""
    random = np.random.default_rng(seed)

    def some(size: int) -> Floats:
        return random.standard_normal((size, width)).astype(np.float32)

    return _halves(some(len(part)) for part in _parts(count)), _at_length_one(some(QUERIES))


def skewed(count: int, width: int, seed: int = 2) -> tuple[Halves, Floats]:
    """Vectors in a cone, most of their variance in a few directions; queries beside the cone."""
    random = np.random.default_rng(seed)
    spread = (1.0 / np.sqrt(np.arange(1, width + 1))).astype(np.float32)
    turned = np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32)
    cone = 3 * np.linalg.norm(spread) * turned[0]
    aside = cone + 0.5 * np.linalg.norm(spread) * turned[1]

    def some(size: int, axis: Floats) -> Floats:
        numbers = random.standard_normal((size, width)).astype(np.float32)
        return axis + (numbers * spread) @ turned

    vectors = _halves(some(len(part), cone) for part in _parts(count))
    return vectors, _at_length_one(some(QUERIES, aside))


def mixed(count: int, seed: int = 3) -> tuple[Halves, Floats] | None:
    """Vectors as the local model makes them, and real questions; ``None`` without its vectors."""
    if not PLACE.exists():
        return None
    with closing(sqlite3.connect(PLACE)) as kept:
        rows = kept.execute(
            "SELECT vector FROM vectors JOIN spaces ON spaces.id = space "
            "WHERE name NOT LIKE '%/questions'"
        )
        real = widened(unpacked([vector for (vector,) in rows]))
        rows = kept.execute(
            "SELECT vector FROM vectors JOIN spaces ON spaces.id = space "
            "WHERE name LIKE '%/questions' ORDER BY text_hash LIMIT ?",
            (QUERIES,),
        )
        questions = widened(unpacked([vector for (vector,) in rows]))
    random = np.random.default_rng(seed)
    middle = real.mean(axis=0)
    offsets = real - middle
    _, sizes, turned = np.linalg.svd(offsets, full_matrices=False)
    spread = (sizes / np.sqrt(len(offsets))).astype(np.float32)

    def some(size: int) -> Floats:
        share = random.random((size, 1)).astype(np.float32)
        one, other = (offsets[random.integers(0, len(offsets), size)] for _ in range(2))
        noise = (random.standard_normal((size, len(spread))).astype(np.float32) * spread) @ turned
        pair = np.sqrt(share) * one + np.sqrt(1 - share) * other
        made: Floats = middle + np.float32(np.sqrt(0.5)) * (pair + noise)
        return made

    return _halves(some(len(part)) for part in _parts(count)), questions


def measure(kind: Kind, halves: Halves, queries: Floats) -> Measured:
    """Load the vectors, ask every query, compare with an exact search in double precision."""
    keys = [number.to_bytes(16, "big") for number in range(len(halves))]
    before = _resident_megabytes()
    index = VectorIndex(kind)
    started = time.perf_counter()
    index.load(keys, halves)
    loaded = time.perf_counter() - started
    rows = np.arange(len(halves))
    times, found = [], []
    for query in queries:
        started = time.perf_counter()
        places, scores = index.nearest(query, rows, LIMIT)
        times.append(1000 * (time.perf_counter() - started))
        found.append(set(places[np.argsort(-scores)[:LIMIT]].tolist()))
    right = _exactly(halves, queries)
    hits = sum(len(ours & theirs) for ours, theirs in zip(found, right, strict=True))
    return Measured(
        kind,
        len(halves),
        halves.shape[1],
        loaded,
        min(times),
        statistics.median(times),
        sorted(times)[int(0.95 * len(times))],
        hits / (LIMIT * len(queries)),
        _resident_megabytes() - before,
    )


def _exactly(halves: Halves, queries: Floats) -> list[set[int]]:
    scores = np.empty((len(halves), len(queries)), np.float32)
    for start in range(0, len(halves), _BLOCK):
        scores[start : start + _BLOCK] = widened(halves[start : start + _BLOCK]) @ queries.T
    best = np.argpartition(-scores, LIMIT, axis=0)[:LIMIT]
    return [set(column.tolist()) for column in best.T]


def _parts(count: int) -> Iterator[range]:
    for start in range(0, count, _BLOCK):
        yield range(start, min(start + _BLOCK, count))


def _halves(parts: Iterator[Floats]) -> Halves:
    return np.concatenate([_at_length_one(part).astype(np.float16) for part in parts])


def _at_length_one(rows: Floats) -> Floats:
    made: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return made


def _resident_megabytes() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    made = {
        "random": unstructured(100_000, 1024),
        "clustered": clustered(100_000, 1024),
        "skewed": skewed(200_000, 384),
    }
    if (local := mixed(200_000)) is not None:
        made["mixed"] = local
    if parser.parse_args().million:
        made["skewed, many"] = skewed(1_000_000, 384)
    print("| vectors | kept | load s | top-10 ms, fastest / p50 / p95 | recall@10 | memory MB |")
    print("|---|---|---|---|---|---|")
    kinds: tuple[Kind, ...] = ("exact", "compressed")
    for name, (halves, queries) in made.items():
        for kind in kinds:
            row = measure(kind, halves, queries)
            print(
                f"| {name}, {row.count:,} x {row.width:,} | {row.kind} | {row.load_seconds:.1f} "
                f"| {row.fastest_ms:.1f} / {row.query_ms:.1f} / {row.worst_ms:.1f} "
                f"| {row.recall:.3f} | {row.megabytes:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
