"""The bars the index has to clear, and whether it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

Measures = Mapping[str, float]

BARS_ARE_FOR_CHUNKS: Final = 100_000
IDLE_BAR_IS_FOR_NOTES: Final = 8000


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit on one measure, or on its ratio to ReMe's in the same run.

    ``at_least`` tells which side is good. ``share`` turns the measures of both into the number
    that is judged; ``None`` when one of them is missing.
    """

    label: str
    limit: float
    at_least: bool
    share: Callable[[Measures, Measures], float | None]
    form: str = ".2f"

    def line(self, ours: Measures, reme: Measures) -> str:
        """A row of the table."""
        value = self.share(ours, reme)
        sign = ">=" if self.at_least else "<="
        wanted = f"{sign} {self.limit:{self.form}}"
        if value is None:
            return f"| {self.label} | {wanted} | - | not measured |"
        passed = value >= self.limit if self.at_least else value <= self.limit
        verdict = "pass" if passed else "**MISS**"
        return f"| {self.label} | {wanted} | {value:{self.form}} | {verdict} |"


def _own(key: str) -> Callable[[Measures, Measures], float | None]:
    return lambda ours, reme: ours.get(key)


def _ratio(key: str, *, more_is_better: bool) -> Callable[[Measures, Measures], float | None]:
    def share(ours: Measures, reme: Measures) -> float | None:
        mine, theirs = ours.get(key), reme.get(key)
        if not mine or not theirs:
            return None
        return mine / theirs if more_is_better else theirs / mine

    return share


def _change_without_fsyncs(ours: Measures, reme: Measures) -> float | None:
    if "durable_change_p50_ms" not in ours:
        return None
    flushed = ours["fsyncs_per_change"] * ours["fsync_ms"]
    return ours["durable_change_p50_ms"] - flushed


def _largest_rss(ours: Measures, reme: Measures) -> float | None:
    return max((ours[key] for key in ("rss_mb", "build_rss_mb") if key in ours), default=None)


BARS: Final = (
    Bar("2-3 words, ms p50", 0.5, False, _own("query_p50_ms")),
    Bar("2-3 words, ms p95", 2.0, False, _own("query_p95_ms")),
    Bar(
        "2-3 words, times faster than ReMe",
        2.5,
        True,
        _ratio("query_p50_ms", more_is_better=False),
    ),
    Bar("whole questions, ms p50", 0.5, False, _own("question_p50_ms")),
    Bar("whole questions, ms p95", 2.0, False, _own("question_p95_ms")),
    Bar(
        "whole questions, times faster than ReMe",
        2.5,
        True,
        _ratio("question_p50_ms", more_is_better=False),
    ),
    Bar(
        "tokenize and index in memory, times faster than ReMe",
        2.2,
        True,
        _ratio("memory_build_chunks_per_second", more_is_better=True),
    ),
    Bar(
        "into the store and saved, times faster than ReMe",
        2.2,
        True,
        _ratio("durable_build_chunks_per_second", more_is_better=True),
    ),
    Bar(
        "Markdown notes, times faster than ReMe",
        5.0,
        True,
        _ratio("notes_per_second", more_is_better=True),
    ),
    Bar(
        "Markdown notes to searchable and durable, notes/s",
        770.0,
        True,
        _own("notes_per_second"),
        ".0f",
    ),
    Bar(
        "changed file durable and searchable, ms p50, fsyncs apart",
        6.0,
        False,
        _change_without_fsyncs,
    ),
    Bar("fsyncs of that change", 3.0, False, _own("fsyncs_per_change"), ".1f"),
    Bar("foreign edit to searchable, ms p50", 300.0, False, _own("foreign_edit_p50_ms"), ".0f"),
    Bar("open to first answer, s", 0.5, False, _own("open_seconds"), ".3f"),
    Bar("RSS without vectors, MB", 400.0, False, _largest_rss, ".0f"),
    Bar("disk, MB", 150.0, False, _own("disk_mb"), ".0f"),
    Bar("idle CPU, % of a core", 0.3, False, _own("idle_cpu_percent")),
    Bar("event loop kept, ms at most", 20.0, False, _own("loop_stall_ms"), ".1f"),
    Bar("vector top-10 at width 1024, ms p50", 10.0, False, _own("vector_query_p50_ms")),
    Bar("vector recall@10", 0.99, True, _own("vector_recall"), ".3f"),
)


def judged(ours: Measures, reme: Measures | None, *, chunks: int, idle_notes: int) -> str:
    """The table of bars.

    Args:
        ours: what was measured on this project.
        reme: what was measured on ReMe in the same run, if it was there.
        chunks: the size of the index; the bars are for 100,000.
        idle_notes: over how many Markdown files it was watched idling.
    """
    lines = ["| bar | wanted | measured | verdict |", "|---|---|---|---|"]
    lines += [bar.line(ours, reme or {}) for bar in BARS]
    if "durable_change_p50_ms" in ours:
        lines.append(
            f"\nThat change took {ours['durable_change_p50_ms']:.1f} ms, of which "
            f"{ours['fsyncs_per_change']:.1f} fsyncs at {ours['fsync_ms']:.2f} ms each."
        )
    if chunks < BARS_ARE_FOR_CHUNKS or idle_notes < IDLE_BAR_IS_FOR_NOTES:
        lines.append(
            f"\nThe bars are for {BARS_ARE_FOR_CHUNKS:,} chunks, and for idling over "
            f"{IDLE_BAR_IS_FOR_NOTES:,} notes; here {chunks:,} and {idle_notes:,}. Use --full."
        )
    lines.append("\nRetrieval quality has a benchmark of its own: benchmarks.locomo.")
    return "\n".join(lines)
