"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentscope_reme.clock import Clock

_START = datetime(2026, 6, 20, 9, 30, tzinfo=UTC)


class FakeClock(Clock):
    """Time under the control of a test.

    Args:
        start: what time it is; an aware `datetime`, an ISO text, or a naive one of either, read
            in `timezone`. Without it the clock begins at 09:30 UTC on 20 June 2026.
        timezone: an IANA name.
        step: seconds the clock moves by itself each time it is asked for "now".

    Raises:
        BadInput: the zone is not known on this machine.
    """

    def __init__(
        self, start: datetime | str | None = None, *, timezone: str = "UTC", step: float = 0.0
    ) -> None:
        super().__init__(timezone)
        moment = datetime.fromisoformat(start) if isinstance(start, str) else start or _START
        self._now = self.localise(moment).astimezone(UTC)
        self._monotonic = 0.0
        self._step = step

    def now(self) -> datetime:
        """The moment the clock was set to, in its zone."""
        shown = self._now.astimezone(self.zone)
        if self._step:
            self.advance(self._step)
        return shown

    def monotonic(self) -> float:
        """Seconds the clock was advanced since it was made."""
        return self._monotonic

    def advance(self, seconds: float = 0.0, **parts: float) -> None:
        """Move on by seconds, and by any `timedelta` parts: ``advance(days=1, hours=2)``."""
        distance = timedelta(seconds=seconds, **parts)
        self._now += distance
        self._monotonic += distance.total_seconds()

    def set(self, moment: datetime | str) -> None:
        """Jump to another moment, earlier or later; the monotonic timer does not move."""
        value = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        self._now = self.localise(value).astimezone(UTC)
