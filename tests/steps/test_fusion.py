"""Two rankings become one, by hand-checked numbers."""

from __future__ import annotations

import pytest

from agentscope_reme import SearchHit
from agentscope_reme.steps.fusion import Fusion, fuse, keep_branch_leaders


def hit(name: str, score: float) -> SearchHit:
    return SearchHit(
        chunk_id=name, path=f"{name}.md", start_line=1, end_line=1, text=name, score=score
    )


KEYWORD = [hit("a", 9.0), hit("b", 6.0), hit("c", 3.0)]
VECTOR = [hit("b", 0.9), hit("d", 0.5)]


def test_rrf_adds_weighted_reciprocal_ranks() -> None:
    fused = fuse(KEYWORD, VECTOR, fusion="rrf", vector_weight=0.7)
    assert [h.chunk_id for h in fused] == ["b", "d", "a", "c"]
    assert fused[0].score == pytest.approx(0.3 / 62 + 0.7 / 61)
    assert fused[0].scores == {"keyword": 6.0, "vector": 0.9}
    assert fused[0].ranks == {"keyword": 2, "vector": 1}
    assert fused[1].score == pytest.approx(0.7 / 62)


def test_score_fusion_normalises_each_branch() -> None:
    fused = fuse(KEYWORD, VECTOR, fusion="score", vector_weight=0.4)
    assert [(h.chunk_id, pytest.approx(h.score)) for h in fused] == [
        ("b", 0.6 * 0.5 + 0.4),
        ("a", 0.6),
        ("c", 0.0),
        ("d", 0.0),
    ]


@pytest.mark.parametrize("fusion", ["rrf", "score"])
def test_one_empty_branch_leaves_the_other_its_own_scores(fusion: str) -> None:
    only = fuse(KEYWORD, [], fusion=fusion, vector_weight=0.7)  # type: ignore[arg-type]
    assert [(h.chunk_id, h.score) for h in only] == [("a", 9.0), ("b", 6.0), ("c", 3.0)]


@pytest.mark.parametrize("fusion", ["rrf", "score"])
@pytest.mark.parametrize("vector", [VECTOR, []], ids=["hybrid", "keywords alone"])
def test_what_each_branch_contributed_adds_up_to_the_score(
    fusion: Fusion, vector: list[SearchHit]
) -> None:
    for one in fuse(KEYWORD, vector, fusion=fusion, vector_weight=0.3):
        assert one.parts.keys() == one.scores.keys()
        assert sum(one.parts.values()) == pytest.approx(one.score)


@pytest.mark.parametrize("weight", [0.2, 0.3, 0.49])
def test_by_scores_a_token_of_one_text_comes_first(weight: float) -> None:
    vectors = [hit(f"v{i:02}", 1 - i / 100) for i in range(50)]
    fused = fuse([hit("token", 4.0)], vectors, fusion="score", vector_weight=weight)
    assert fused[0].chunk_id == "token"


def test_a_unique_keyword_keeps_its_place_against_many_vectors() -> None:
    vectors = [hit(f"v{i:02}", 1 - i / 100) for i in range(50)]
    keyword = [hit("token", 4.0)]
    fused = fuse(keyword, vectors, fusion="rrf", vector_weight=0.7)
    assert "token" not in {h.chunk_id for h in fused[:5]}
    kept = keep_branch_leaders(fused, (keyword, vectors), 5)
    assert len(kept) == 5
    assert kept[0].chunk_id == "v00"
    assert kept[-1].chunk_id == "token"


def test_ties_have_a_fixed_order() -> None:
    same = [hit("z", 1.0), hit("y", 1.0), hit("x", 1.0)]
    assert [h.chunk_id for h in fuse(same, [], fusion="rrf", vector_weight=0.7)] == list("xyz")
