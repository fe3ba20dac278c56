"""A provider that refuses what was sent is told from one that is down, however it says so."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import ModelFailed
from agentscope_reme.runtime.refusals import is_refusal


class StatusError(Exception):
    """An error of a client that knows the status of the answer."""

    def __init__(self, status_code: int) -> None:
        super().__init__("refused")
        self.status_code = status_code


class Response:
    """An answer a client raises as it came."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def caused_by(error: BaseException) -> ModelFailed:
    failed = ModelFailed("m", "the model call failed", "Try again.")
    failed.__cause__ = error
    return failed


@pytest.mark.parametrize("status", [400, 404, 413, 415, 422])
def test_refusals(status: int) -> None:
    assert is_refusal(caused_by(StatusError(status)))
    assert is_refusal(caused_by(RuntimeError(Response(status))))
    assert is_refusal(caused_by(RuntimeError(f'Failed: {{"status_code": {status}, "code": "x"}}')))
    assert is_refusal(caused_by(caused_by(StatusError(status))))


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503])
def test_outages(status: int) -> None:
    assert not is_refusal(caused_by(StatusError(status)))
    assert not is_refusal(caused_by(RuntimeError(f'{{"status_code": {status}}}')))


def test_what_says_nothing_of_a_status_is_no_refusal() -> None:
    assert not is_refusal(caused_by(ConnectionError("400 bad luck")))
    assert not is_refusal(caused_by(RuntimeError("status_code: 4000")))
    circle = ConnectionError("down")
    circle.__cause__ = circle
    assert not is_refusal(circle)
