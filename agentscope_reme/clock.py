"""The one source of "now" and of the workspace's time zone."""

from __future__ import annotations

import time
from datetime import date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentscope_reme.errors import BadInput


class Clock:
    """Wall-clock time in one IANA zone, plus a monotonic timer for deadlines.

    Everything that needs "now" asks a clock that was handed to it, once per operation, so tests
    decide what time it is (`agentscope_reme.testing.FakeClock`).

    Args:
        timezone: an IANA name such as ``"Europe/Berlin"``; ``None`` means the machine's own zone.

    Raises:
        BadInput: the zone is not known on this machine.
    """

    def __init__(self, timezone: str | None = None) -> None:
        self._zone = _zone(timezone)

    @property
    def zone(self) -> tzinfo:
        """The zone in which days begin and naive times are read."""
        return self._zone

    def now(self) -> datetime:
        """The current instant, aware, in this clock's zone."""
        return datetime.now(self._zone)

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean something."""
        return time.monotonic()

    def today(self) -> date:
        """The calendar day it is now in this clock's zone."""
        return self.now().date()

    def localise(self, moment: datetime) -> datetime:
        """The same moment in this zone; a naive value is taken to be in this zone already."""
        if moment.tzinfo is None:
            return moment.replace(tzinfo=self._zone)
        try:
            return moment.astimezone(self._zone)
        except OverflowError:  # the first or last day of the calendar: no such day in this zone
            return moment.replace(tzinfo=self._zone)


def _zone(timezone: str | None) -> tzinfo:
    if timezone is None:
        from tzlocal import get_localzone  # imported late: only needed without an explicit zone

        return get_localzone()
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError) as error:
        raise BadInput(
            timezone, "no such time zone", "Use an IANA name such as 'Europe/Berlin'."
        ) from error
