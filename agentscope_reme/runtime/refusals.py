"""Telling a provider that refuses a request from one that is down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_REFUSED: Final = frozenset({400, 404, 413, 415, 422})
"""HTTP answers that stay the same however often the request is sent."""

_IN_WORDS: Final = re.compile(r"status_code[\"']?\s*[:=]\s*(\d{3})\b")


def is_refusal(error: BaseException) -> bool:
    """Whether a failed model call was refused for what was sent.

    Every client spells it in its own way: as ``status_code`` of the exception, of the response it
    carries, or only in its words. What led to the error is looked at too.
    """
    return any(_status_of(one) in _REFUSED for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _status_of(error: BaseException) -> int | None:
    for carrier in (error, *error.args[:1]):
        status = getattr(carrier, "status_code", None)
        if isinstance(status, int):
            return int(status)
    told = _IN_WORDS.search(str(error))
    return int(told[1]) if told else None
