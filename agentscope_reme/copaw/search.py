"""``memory_search`` as CoPaw hosts know it: two weighted scores from 0 to 1, told as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agentscope_reme.copaw.memory_files import LONG_TERM
from agentscope_reme.results import SearchResult
from agentscope_reme.schema import SearchHit
from agentscope_reme.steps.recall import RecallStep
from agentscope_reme.steps.search import SearchStep
from agentscope_reme.steps.search_arguments import SearchArguments

DEFAULT_RESULTS: Final = 5
DEFAULT_SCORE: Final = 0.1
MOST_RESULTS: Final = 100
LOWEST_SCORE: Final = 0.001
HIGHEST_SCORE: Final = 0.999

SEARCHED: Final = (LONG_TERM, "memory", "daily", "digest")
"""Where memory stands. Other Markdown at the root is the host's: its instructions, its notes."""

NO_QUERY: Final = "Error: No query provided."


class MemorySearchStep(SearchStep):
    """`SearchStep` that leaves the host's own Markdown out: its agent has that in its prompt."""

    async def execute(self) -> SearchResult:
        """Run the search described by the run's values."""
        self.context.values.setdefault("layers", (*SEARCHED, "session"))
        return await super().execute()


class MemoryRecallStep(RecallStep):
    """`RecallStep` over the same files."""

    search = MemorySearchStep()


class WeightedSearchStep(SearchStep):
    """`SearchStep` whose scores are shares of certainty, comparable with a fixed ``min_score``.

    A keyword score is the share of the best keyword hit, a vector score the cosine, cut off at 0;
    both lie between 0 and 1 and are added with their weights. When one branch found nothing, the
    other stands for itself.
    """

    def _fused(
        self,
        arguments: SearchArguments,
        keyword: Sequence[SearchHit],
        near: Sequence[SearchHit],
    ) -> list[SearchHit]:
        by_id = {hit.chunk_id: hit for hit in super()._fused(arguments, keyword, near)}
        best = max((hit.score for hit in keyword), default=0.0)
        shares = {"keyword": 1 - arguments.vector_share, "vector": arguments.vector_share}
        if not keyword or not near:
            shares = {"keyword": 1.0, "vector": 1.0}
        scored = [_weighted(hit, shares, best) for hit in by_id.values()]
        return sorted(scored, key=lambda hit: (-hit.score, hit.path, hit.start_line, hit.chunk_id))


def _weighted(hit: SearchHit, shares: dict[str, float], best_keyword: float) -> SearchHit:
    words = hit.scores.get("keyword", 0.0) / best_keyword if best_keyword > 0 else 0.0
    meaning = min(1.0, max(0.0, hit.scores.get("vector", 0.0)))
    parts = {"keyword": shares["keyword"] * words, "vector": shares["vector"] * meaning}
    return hit.model_copy(
        update={
            "score": sum(parts.values()),
            "parts": {branch: parts[branch] for branch in hit.scores},
        }
    )


def result_limit(given: object) -> int:
    """How many results: 1 to 100, the default for anything that is no number."""
    number = _number(given)
    return DEFAULT_RESULTS if number is None else int(min(MOST_RESULTS, max(1, number)))


def score_limit(given: object) -> float:
    """The lowest score: 0.001 to 0.999, the default for anything that is no number."""
    number = _number(given)
    return DEFAULT_SCORE if number is None else min(HIGHEST_SCORE, max(LOWEST_SCORE, number))


def hits_as_json(hits: Sequence[SearchHit], root: Path, *, most_bytes: int) -> str:
    """A JSON array, one object for each hit: best first, whole, within `most_bytes` of UTF-8.

    What does not fit is left out, and the last object says how many hits that were.
    """
    rows = [_row(hit, root) for hit in hits]
    for count in range(len(rows), 0, -1):
        text = _array(rows[:count], left_out=len(rows) - count)
        if len(text.encode("utf-8")) <= most_bytes or count == 1:
            return text
    return "[]"


def _array(rows: list[dict[str, Any]], *, left_out: int) -> str:
    if left_out:
        last = {**rows[-1], "metadata": {**rows[-1]["metadata"], "left_out": left_out}}
        rows = [*rows[:-1], last]
    return json.dumps(rows, ensure_ascii=False, indent=2)


def _row(hit: SearchHit, root: Path) -> dict[str, Any]:
    return {
        "path": str(root / hit.path),
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "score": round(hit.score, 6),
        "snippet": hit.text,
        "source": "memory",
        "metadata": {"date": hit.date, "name": hit.name, **hit.scores},
    }


def _number(given: object) -> float | None:
    try:
        number = float(given)  # type: ignore[arg-type]  # whatever a model wrote
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number
