"""Time in tests stands still until it is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.testing import FakeClock


def test_it_stands_still() -> None:
    clock = FakeClock()

    assert clock.now() == clock.now() == datetime(2026, 6, 20, 9, 30, tzinfo=UTC)
    assert clock.monotonic() == 0


def test_it_is_advanced() -> None:
    clock = FakeClock("2026-06-20T23:59:00")

    clock.advance(90, hours=1)

    assert clock.now().isoformat() == "2026-06-21T01:00:30+00:00"
    assert clock.monotonic() == 3690


def test_days_begin_in_its_zone() -> None:
    clock = FakeClock("2026-06-20T23:30:00+00:00", timezone="Asia/Shanghai")

    assert clock.today().isoformat() == "2026-06-21"
    assert clock.now().utcoffset() == timedelta(hours=8)


def test_a_naive_start_is_in_its_zone() -> None:
    assert FakeClock("2026-06-20T08:00", timezone="Asia/Shanghai").now().hour == 8


def test_it_can_be_set_back_without_moving_the_timer() -> None:
    clock = FakeClock()

    clock.set("2020-01-01T00:00")

    assert clock.now().year == 2020
    assert clock.monotonic() == 0


def test_it_can_tick_by_itself() -> None:
    clock = FakeClock(step=1)

    assert clock.now() + timedelta(seconds=1) == clock.now()


def test_hours_pass_through_a_change_to_summer_time() -> None:
    clock = FakeClock("2026-03-29T01:30", timezone="Europe/Berlin")

    clock.advance(hours=1)

    assert clock.now().isoformat() == "2026-03-29T03:30:00+02:00"


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(BadInput):
        FakeClock(timezone="Mars/Olympus")
