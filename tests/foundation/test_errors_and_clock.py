"""Every error says what was given, why it was refused and what to do; time has one source."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from agentscope_reme import Clock, Settings, errors
from agentscope_reme.prompts import read_prompt
from agentscope_reme.testing import FakeClock

TREE = [value for value in vars(errors).values() if isinstance(value, type)]


@pytest.mark.parametrize("kind", TREE)
def test_every_error_is_in_the_drawn_tree(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.ReMeError)
    assert kind.__name__ in (errors.__doc__ or "")


def test_a_message_has_the_value_the_reason_and_the_way_out() -> None:
    error = errors.BadPath("../x", "the path climbs out", "Use a relative path.")
    assert str(error) == "'../x': the path climbs out. Use a relative path."
    assert (error.given, error.reason, error.remedy) == (
        "../x",
        "the path climbs out",
        "Use a relative path.",
    )


@pytest.mark.parametrize("reason", ["Connection error.", "why?", "没有连接。", "it is … "])
def test_the_words_of_others_get_no_second_full_stop(reason: str) -> None:
    told = str(errors.ModelFailed("chat", reason, "Check it."))
    assert told == f"'chat': {reason.strip()} Check it."
    assert str(errors.BadInput("x", "no such key", "")) == "'x': no such key."


def test_a_huge_value_is_shown_shortened() -> None:
    assert len(str(errors.BadInput("x" * 10_000, "too long", "Cut it."))) < 300


def test_an_unknown_zone_is_refused_with_an_example() -> None:
    with pytest.raises(errors.BadInput, match="Europe/Berlin"):
        Clock("Mars/Olympus")
    with pytest.raises(errors.BadInput):
        Clock("../../etc/passwd")


def test_a_language_without_prompts_is_refused_with_those_there_are() -> None:
    with pytest.raises(errors.BadInput, match=r"no prompts in this language\. Use en or zh\.$"):
        read_prompt("agentscope_reme.steps.prompts", "any", "xx")


@pytest.mark.parametrize("name", ["dream_at", "retention_at"])
@pytest.mark.parametrize("value", ["4 am", "25:00", "4:00"])
def test_a_time_of_day_is_asked_for_in_words(name: str, value: str) -> None:
    with pytest.raises(
        errors.BadInput, match=r"written HH:MM, such as 04:00\. See what"
    ) as refused:
        Settings(**{name: value})
    assert str(refused.value).startswith(f"{value!r}: the setting `{name}` does not fit: ")


def test_days_begin_in_the_clocks_zone() -> None:
    clock = FakeClock("2026-06-20T23:30:00+00:00", timezone="Asia/Shanghai")
    assert clock.today().isoformat() == "2026-06-21"
    assert clock.localise(datetime(2026, 1, 1, 0, 0)).utcoffset() == clock.now().utcoffset()  # noqa: DTZ001
    assert clock.localise(datetime(2026, 1, 1, tzinfo=UTC)).hour == 8


def test_the_machines_own_zone_is_the_default() -> None:
    assert Clock().now().tzinfo is not None


def test_settings_are_frozen_and_know_their_names() -> None:
    with pytest.raises(
        errors.BadInput, match=r"no such setting.*Did you mean `chunk_byte_size`"
    ) as refused:
        Settings(chunk_bite_size=5)  # type: ignore[call-arg]
    assert not isinstance(refused.value, ValidationError)
    with pytest.raises(errors.BadInput, match=r"`chunk_byte_size` does not fit") as refused:
        Settings(chunk_byte_size=5)
    assert "pydantic" not in str(refused.value)
    with pytest.raises(ValidationError):
        Settings().chunk_byte_size = 5  # type: ignore[misc]
