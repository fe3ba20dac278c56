"""Estimates follow what a provider reports, within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.context import Calibration
from agentscope_reme.context.calibration import HIGHEST, LOWEST


def test_without_reports_an_estimate_stays() -> None:
    assert Calibration().corrected(1_234) == 1_234


def test_the_first_report_counts_in_full_and_later_ones_smooth() -> None:
    calibration = Calibration()
    calibration.learn(10_000, 13_000)
    assert calibration.factor == pytest.approx(1.3)
    calibration.learn(10_000, 10_000)
    assert 1.1 < calibration.factor < 1.3
    assert calibration.reports == 2


@pytest.mark.parametrize(
    ("estimated", "reported"),
    [(50_000, 11), (50_000, 0), (100, 150), (10_000, 90_000)],
    ids=["cached prompt not counted", "nothing reported", "too small to tell", "another prompt"],
)
def test_implausible_reports_teach_nothing(estimated: int, reported: int) -> None:
    calibration = Calibration()
    calibration.learn(estimated, reported)
    assert (calibration.factor, calibration.reports) == (1.0, 0)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**7)), max_size=50))
def test_the_factor_is_bounded(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in reports:
        calibration.learn(estimated, reported)
    assert LOWEST <= calibration.factor <= HIGHEST
