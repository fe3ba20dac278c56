"""How a job went, for somebody far away: a status of HTTP and a typed result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import (
    BadInput,
    Closed,
    Conflict,
    ModelFailed,
    ModelRequired,
    NotFound,
    ReMeError,
    StorageFailed,
)
from agentscope_reme.results import Result


class Refused(Result):
    """Why nothing was done, or not to its end.

    Attributes:
        error: the kind of error: a name of `agentscope_reme.errors`, or of this service.
        current_hash: with ``Conflict``: the content hash of the file now, ``None`` when it is gone.
    """

    success: bool = False
    error: str
    current_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result and the status it is sent with: 200 says that the job ran to its end."""

    status: int
    result: Result


NOT_TAKEN: Final = frozenset({"Unauthorized", "Forbidden", "NoSuchJob", "TooLarge", "Busy"})
"""Errors after which the same may be asked elsewhere: the service did not begin with it."""

_STATUS: Final[Mapping[type[ReMeError], int]] = {
    BadInput: 400,
    NotFound: 404,
    Conflict: 409,
    ModelRequired: 501,
    ModelFailed: 502,
    StorageFailed: 503,
    Closed: 503,
}


def refused(status: int, kind: str, answer: str) -> Outcome:
    """A refusal of the service itself."""
    return Outcome(status, Refused(error=kind, answer=answer))


def outcome_of(error: ReMeError) -> Outcome:
    """What an error of the library is told as."""
    cause = error.__cause__ if isinstance(error.__cause__, ModelRequired) else error
    kind = next((known for known in _STATUS if isinstance(cause, known)), ReMeError)
    current = error.current_hash if isinstance(error, Conflict) else None
    result = Refused(error=kind.__name__, answer=str(error), current_hash=current)
    return Outcome(_STATUS.get(kind, 500), result)
