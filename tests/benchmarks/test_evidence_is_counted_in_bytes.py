"""A turn counts when all of its words are within the first bytes that were returned."""

from __future__ import annotations

import pytest

from benchmarks.evidence import BUDGETS, Found, Passage, judge, mean

SMALL, MIDDLE, LARGE = BUDGETS


def passage(*turns: str, filler: int = 0) -> Passage:
    text = "\n".join(f"[Ann] {turn}" for turn in turns)
    return Passage(text + "." * filler, {turn: turn for turn in turns})


def test_a_turn_in_the_first_passage_is_within_every_budget() -> None:
    assert judge([passage("we met")], frozenset({"we met"})) == Found(1.0, (1.0, 1.0, 1.0))


def test_what_stands_behind_other_passages_needs_a_larger_budget() -> None:
    found = judge([passage("noise", filler=SMALL), passage("we met")], frozenset({"we met"}))

    assert found == Found(1.0, (0.0, 1.0, 1.0))


def test_a_turn_that_is_cut_by_the_budget_is_not_counted() -> None:
    turn = "x" * SMALL

    assert judge([passage(turn)], frozenset({turn})).within == (0.0, 1.0, 1.0)


def test_bytes_are_counted_not_characters() -> None:
    turn = "海" * (SMALL // 2)

    assert judge([passage(turn)], frozenset({turn})).within == (0.0, 1.0, 1.0)


def test_a_long_turn_counts_once_all_its_parts_are_there() -> None:
    turn = "first half and second half"
    parts = [
        Passage("[Ann] first half and", {"t": turn}),
        Passage("[Ann] second half", {"t": turn}),
    ]

    assert judge(parts[:1], frozenset({"t"})).recall == 0.0
    assert judge(parts, frozenset({"t"})).recall == 1.0


def test_recall_looks_at_ten_passages() -> None:
    before = [passage(f"noise {number}") for number in range(10)]

    assert judge([*before, passage("we met")], frozenset({"we met"})).recall == 0.0
    assert judge([*before[1:], passage("we met")], frozenset({"we met"})).recall == 1.0


def test_shares_are_averaged_over_questions() -> None:
    half = judge([passage("a")], frozenset({"a", "b"}))

    assert half.recall == 0.5
    assert mean([half, judge([passage("a")], frozenset({"a"}))]).within == (0.75, 0.75, 0.75)
    assert mean([]) == Found(0.0, (0.0, 0.0, 0.0))


@pytest.mark.parametrize("text", ["", "[Ann] ", "nothing of it"])
def test_a_passage_without_the_words_covers_nothing(text: str) -> None:
    assert judge([Passage(text, {"t": "we met"})], frozenset({"t"})).recall == 0.0
