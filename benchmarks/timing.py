"""Rows of a table of measurements, and how flushes are counted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agentscope_reme.files.disk import Disk


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    value: str
    detail: str = ""


@contextmanager
def timed_flushes() -> Iterator[list[float]]:
    """The seconds every flush of a log takes, while this lasts."""
    flushes: list[float] = []
    flush = Disk._fsync

    def timed(disk: Disk, descriptor: int, *, contents_only: bool) -> None:
        before = time.perf_counter()
        flush(disk, descriptor, contents_only=contents_only)
        flushes.append(time.perf_counter() - before)

    Disk._fsync = timed  # type: ignore[method-assign]
    try:
        yield flushes
    finally:
        Disk._fsync = flush  # type: ignore[method-assign]


def spread(seconds: list[float]) -> str:
    """The median and the 95th percentile, in words."""
    ordered = sorted(seconds)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"median {statistics.median(ordered) * 1000:.1f} ms, p95 {high * 1000:.1f} ms"
