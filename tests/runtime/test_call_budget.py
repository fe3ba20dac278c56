"""A cap on model calls that ends work quietly."""

from __future__ import annotations

import threading

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.runtime import CallBudget


def test_it_grants_calls_up_to_its_limit() -> None:
    budget = CallBudget(2)
    assert [budget.spend() for _ in range(4)] == [True, True, False, False]
    assert (budget.spent, budget.left) == (2, 0)


def test_a_run_reserves_what_is_left_and_gives_back_what_it_did_not_use() -> None:
    budget = CallBudget(10)
    assert budget.reserve(8) == 8
    assert budget.reserve(8) == 2
    budget.give_back(5)
    assert budget.left == 5


def test_nothing_is_a_budget_and_less_is_not() -> None:
    assert not CallBudget(0).spend()
    with pytest.raises(BadInput, match="cannot be negative"):
        CallBudget(-1)


def test_threads_together_never_pass_the_limit() -> None:
    budget = CallBudget(100)
    granted: list[bool] = []

    def spend() -> None:
        granted.extend(budget.spend() for _ in range(50))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 100
