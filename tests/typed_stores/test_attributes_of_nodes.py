"""What databases filter by never leaves out a node that is meant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.typed.stores.attributes import attributes_of, place_of
from tests.typed_stores.builders import node

TEXTS = (
    st.text(max_size=14) | st.text("0123456789-: T", max_size=20) | st.text("a!/;~ 5", max_size=14)
)


@given(TEXTS, TEXTS)
def test_places_are_in_the_order_of_the_texts(one: str, two: str) -> None:
    low, high = sorted((one, two))
    assert place_of(low) <= place_of(high)


def test_times_are_told_apart() -> None:
    times = ["", "2025-12-31 23:59:59", "2026-01-01", "2026-01-02 09:00:00", "2026-01-03 21:00:00"]
    places = [place_of(time) for time in times]
    assert places == sorted(set(places))
    assert all(place == int(place) < 2**53 for place in places)


def test_every_attribute_has_a_name_that_means_nothing_to_a_database() -> None:
    odd = {"a.b": 1, "$ne": "x", "#id": True, "": 2.5, "漢": "y", "Upper": 1, "x" * 500: 1}
    for name in attributes_of(node("a", metadata=odd)):
        assert name.isascii()
        assert name.replace("_", "").isalnum()
        assert len(name) < 64
