"""Outcomes as answers of HTTP: JSON, or a stream of events that tells the progress first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.progress import Progress, listening
from agentscope_reme.service.outcomes import Outcome

if TYPE_CHECKING:
    from starlette.responses import Response

EVENT_STREAM: Final = "text/event-stream"
_BEAT_SECONDS: Final = 10.0
"""How often a silent stream says that it is alive."""


def answered(outcome: Outcome) -> Response:
    """The answer to a request."""
    from starlette.responses import Response

    headers = {}
    if outcome.status == 401:
        headers["www-authenticate"] = "Bearer"
    if outcome.status in (408, 413):  # the rest of the body is not wanted
        headers["connection"] = "close"
    return Response(
        outcome.result.model_dump_json(),
        outcome.status,
        headers=headers,
        media_type="application/json",
    )


def streamed(work: Callable[[], Awaitable[Outcome]]) -> Response:
    """Events ``progress`` while the work runs, then one ``result`` with status and result.

    The work ends when its caller goes away.
    """
    from starlette.responses import StreamingResponse

    return StreamingResponse(_events(work), media_type=EVENT_STREAM)


class ProgressFeed:
    """The newest progress of a job, from whatever thread it comes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._newest: Progress | None = None

    def tell(self, progress: Progress) -> None:
        """Take a step over; one that nobody fetched yet is replaced."""
        self._loop.call_soon_threadsafe(self._take, progress)

    def newest(self) -> Progress | None:
        """What was told since this was asked last."""
        self._news.clear()
        newest, self._newest = self._newest, None
        return newest

    async def wait(self) -> None:
        """Until there is something new."""
        await self._news.wait()

    def _take(self, progress: Progress) -> None:
        self._newest = progress
        self._news.set()


async def _events(work: Callable[[], Awaitable[Outcome]]) -> AsyncIterator[str]:
    feed = ProgressFeed()
    with listening(feed.tell):
        job = asyncio.ensure_future(work())
    try:
        while not job.done():
            news = asyncio.ensure_future(feed.wait())
            try:
                await asyncio.wait(
                    {job, news}, timeout=_BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                news.cancel()
            newest = feed.newest()
            if newest is not None:
                yield _event("progress", _told(newest))
            elif not job.done():
                yield ": still at work\n\n"
        outcome = job.result()
        result = outcome.result.model_dump(mode="json")
        yield _event("result", {"status": outcome.status, "result": result})
    finally:
        job.cancel()
        await asyncio.wait({job})


def _told(progress: Progress) -> dict[str, Any]:
    return {"done": progress.done, "total": progress.total, "what": progress.what}


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
