"""An HTTP/1.1 connection that waits for ever neither for a request nor for who reads its answer."""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD_SECONDS: Final = 10.0
"""From the first byte of a request, or from the connection, to the end of its head."""

_READ_SECONDS: Final = 60.0
"""How long an answer, or the next part of it, waits for a caller who has stopped to read."""


class PatientProtocol(H11Protocol):
    """Closes a connection whose next request comes too slowly, or whose answer is not read."""

    _deadline: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    # uvicorn itself narrows the transport of `asyncio.Protocol`
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take bytes over; the head of a request they begin has to end in time."""
        super().data_received(data)
        at_work = self.cycle is not None and not self.cycle.response_complete
        if at_work and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not at_work and self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """Wait for the caller to read what was sent, but not for ever."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The caller has read."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the waits."""
        for wait in (self._deadline, self._stuck):
            if wait is not None:
                wait.cancel()
        super().connection_lost(exc)
