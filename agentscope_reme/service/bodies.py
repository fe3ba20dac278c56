"""The body of a request: of the right kind, not too large, not too slow, and one JSON object."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.errors import sentence
from agentscope_reme.service.outcomes import Outcome, refused

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_BYTES: Final = 16 * 1024 * 1024
"""The largest body: a long conversation with pictures of it."""

_MOST_SECONDS: Final = 30.0
"""How long a body may take to arrive; it comes from the same machine."""


class BadBody(Exception):
    """A body that was refused, and how that is told."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.result.answer)
        self.outcome = outcome


async def arguments_in(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request.

    Raises:
        BadBody: there is none, or it is too large, too slow or ambiguous.
    """
    kinds = request.headers.getlist("content-type")
    kind = kinds[0].split(";")[0].strip().lower() if len(kinds) == 1 else ""
    if kind != "application/json" or "content-encoding" in request.headers:
        told = "The body must be plain `Content-Type: application/json`."
        raise BadBody(refused(415, "UnsupportedMediaType", told))
    return _object(await read_within_limits(request))


async def read_within_limits(request: Request) -> bytes:
    """The bytes of a body.

    Raises:
        BadBody: it is larger than `MOST_BYTES`, also while it is still arriving, or too slow.
    """
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > MOST_BYTES:
        raise BadBody(_too_large())
    body = bytearray()
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    raise BadBody(_too_large())
    except TimeoutError:
        raise BadBody(refused(408, "TooSlow", "The body did not arrive in time.")) from None
    return bytes(body)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_once_each,
            parse_constant=_no_number,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        told = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise BadBody(refused(400, "BadInput", f"The body is no JSON: {sentence(told)}")) from error
    if not isinstance(value, dict):
        raise BadBody(refused(400, "BadInput", "The body must be one JSON object of arguments."))
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:40]} is too large a number")
    return number


def _too_large() -> Outcome:
    return refused(413, "TooLarge", f"The body is larger than {MOST_BYTES} bytes.")
