"""After a failure a service gets a pause, then one try, then everything again."""

from __future__ import annotations

from agentscope_reme.runtime import CircuitBreaker
from agentscope_reme.testing import FakeClock


def test_a_failure_opens_the_circuit_until_the_cool_down_is_over() -> None:
    clock = FakeClock()
    breaker = CircuitBreaker(clock)
    assert breaker.allow()
    breaker.failed()
    assert breaker.is_open
    clock.advance(29)
    assert not breaker.allow()
    clock.advance(2)
    assert breaker.allow()


def test_after_the_cool_down_only_one_caller_tries() -> None:
    clock = FakeClock()
    breaker = CircuitBreaker(clock)
    breaker.failed()
    clock.advance(31)
    assert [breaker.allow(), breaker.allow()] == [True, False]
    breaker.succeeded()
    assert [breaker.allow(), breaker.allow()] == [True, True]


def test_a_failed_try_opens_it_again() -> None:
    clock = FakeClock()
    breaker = CircuitBreaker(clock)
    breaker.failed()
    clock.advance(31)
    assert breaker.allow()
    breaker.failed()
    clock.advance(10)
    assert not breaker.allow()
