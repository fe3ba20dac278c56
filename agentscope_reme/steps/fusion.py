"""Two rankings become one: reciprocal rank fusion, or a sum of normalised scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from agentscope_reme.schema import SearchHit

Fusion = Literal["rrf", "score"]

RRF_K: Final = 60
"""Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet …", SIGIR 2009."""

VECTOR_WEIGHTS: Final[dict[Fusion, float]] = {"rrf": 0.7, "score": 0.3}
"""The share of the vector branch when none is given: for ranks the documented one, for scores the
one that `benchmarks/hybrid.py` chose."""


def fuse(
    keyword: Sequence[SearchHit],
    vector: Sequence[SearchHit],
    *,
    fusion: Fusion,
    vector_weight: float,
) -> list[SearchHit]:
    """Merge two rankings of chunks, best first.

    With one branch empty the other keeps its own scores. ``rrf`` scores are at most
    ``1 / (RRF_K + 1)``; ``score`` fusion normalises each branch to 0..1 and adds the weighted
    values, so its scores are at most 1.

    Args:
        keyword: BM25 hits, best first.
        vector: cosine hits, best first.
        fusion: how ranks or scores are combined.
        vector_weight: share of the vector branch, 0..1; the keyword branch gets the rest.
    """
    merged = _with_branch_scores(keyword, vector)
    if not keyword or not vector:
        return sorted((hit.model_copy(update={"parts": hit.scores}) for hit in merged), key=_order)
    shares = {"keyword": 1 - vector_weight, "vector": vector_weight}
    ranges = {"keyword": _range(keyword), "vector": _range(vector)}
    scored = []
    for hit in merged:
        parts = _rank_parts(hit, shares) if fusion == "rrf" else _score_parts(hit, shares, ranges)
        scored.append(hit.model_copy(update={"score": sum(parts.values()), "parts": parts}))
    return sorted(scored, key=_order)


def keep_branch_leaders(
    fused: Sequence[SearchHit], branches: Sequence[Sequence[SearchHit]], limit: int
) -> list[SearchHit]:
    """Cut to `limit`, but never cut off the best hit of a branch.

    A keyword that stands in one file only must be found however the vectors rank; without this a
    large vector weight hides it.
    """
    kept = list(fused[:limit])
    by_id = {hit.chunk_id: hit for hit in fused}
    leaders = [branch[0].chunk_id for branch in branches if branch]
    for leader in leaders:
        if leader not in by_id or any(hit.chunk_id == leader for hit in kept):
            continue
        place = next(
            (i for i in range(len(kept) - 1, -1, -1) if kept[i].chunk_id not in leaders), None
        )
        if place is not None:
            kept[place] = by_id[leader]
    return kept


def _with_branch_scores(
    keyword: Sequence[SearchHit], vector: Sequence[SearchHit]
) -> list[SearchHit]:
    merged: dict[str, SearchHit] = {}
    for branch, hits in (("keyword", keyword), ("vector", vector)):
        for rank, hit in enumerate(hits, start=1):
            known = merged.get(hit.chunk_id, hit)
            merged[hit.chunk_id] = known.model_copy(
                update={
                    "scores": {**known.scores, branch: hit.score},
                    "ranks": {**known.ranks, branch: rank},
                }
            )
    return list(merged.values())


def _rank_parts(hit: SearchHit, shares: dict[str, float]) -> dict[str, float]:
    return {branch: shares[branch] / (RRF_K + rank) for branch, rank in hit.ranks.items()}


def _score_parts(
    hit: SearchHit, shares: dict[str, float], ranges: dict[str, tuple[float, float]]
) -> dict[str, float]:
    parts = {}
    for branch, score in hit.scores.items():
        low, high = ranges[branch]
        parts[branch] = shares[branch] * ((score - low) / (high - low) if high > low else 1.0)
    return parts


def _range(hits: Sequence[SearchHit]) -> tuple[float, float]:
    scores = [hit.score for hit in hits]
    return min(scores), max(scores)


def _order(hit: SearchHit) -> tuple[float, str, int, str]:
    return (-hit.score, hit.path, hit.start_line, hit.chunk_id)
