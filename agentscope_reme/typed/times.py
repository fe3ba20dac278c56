"""Event times as memories carry them, and the days a question speaks of, found by code."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import parse_moment

Days = tuple[date, date]
"""The first and the last day that are meant."""

_REMEDY: Final = "Use YYYY-MM-DD HH:MM:SS."


def stamp(moment: datetime, clock: Clock) -> str:
    """A moment as ``YYYY-MM-DD HH:MM:SS`` in the clock's zone; texts sort as moments do."""
    local = clock.localise(moment).replace(tzinfo=None)
    return local.isoformat(sep=" ", timespec="seconds")


def event_stamp(given: object, clock: Clock) -> str:
    """A time somebody wrote, in the form of `stamp`.

    Raises:
        BadInput: it is no time.
    """
    moment = parse_moment(given)
    if moment is None:
        raise BadInput(given, "`message_time` is no time", _REMEDY)
    return stamp(moment, clock)


def bounds(days: Days) -> tuple[str, str]:
    """The first and the last second of these days, in the form of `stamp`."""
    return f"{days[0]} 00:00:00", f"{days[1]} 23:59:59"


def days_spoken_of(text: str, today: date) -> Days | None:
    """The days a question names; ``None`` when it names none, or names them in another way.

    Understood: ``2026-02-28``, two such dates as a range, ``2026-02``, and in English and Chinese:
    today, yesterday, the day before yesterday, this and last week, month and year, ``3 days ago``,
    ``last 7 days``.
    """
    dates = [day for found in _ISO.finditer(text) if (day := _day(*map(int, found.groups())))]
    if dates:
        return min(dates), max(dates)
    if (found := _MONTH.search(text)) and (days := _month(int(found[1]), int(found[2]))):
        return days
    for pattern, meant in _PHRASES:
        if match := pattern.search(text):
            return meant(match, today)
    return None


_ISO: Final = re.compile(r"(?<!\d)(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})(?!\d)")
_MONTH: Final = re.compile(r"(?<!\d)(\d{4})[-/年](\d{1,2})(?![\d-])")


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month(year: int, month: int) -> Days | None:
    first = _day(year, month, 1)
    return (first, first.replace(day=monthrange(year, month)[1])) if first else None


def _back(today: date, days: int) -> date:
    return date.fromordinal(max(1, today.toordinal() - days))


def _one(days: int) -> Callable[[re.Match[str], date], Days]:
    return lambda _, today: (_back(today, days), _back(today, days))


def _week(_: re.Match[str], today: date, weeks: int = 0) -> Days:
    monday = _back(today, today.weekday() + 7 * weeks)
    return monday, monday + timedelta(days=6)


def _this_month(_: re.Match[str], today: date) -> Days:
    return today.replace(day=1), today


def _last_month(_: re.Match[str], today: date) -> Days:
    last = _back(today.replace(day=1), 1)
    return last.replace(day=1), last


def _last_year(_: re.Match[str], today: date) -> Days:
    year = max(1, today.year - 1)
    return date(year, 1, 1), date(year, 12, 31)


_PHRASES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days]], ...]] = (
    (re.compile(r"\bday before yesterday\b|前天", re.I), _one(2)),
    (re.compile(r"\byesterday\b|昨天", re.I), _one(1)),
    (re.compile(r"\btoday\b|今天", re.I), _one(0)),
    (
        re.compile(r"(?<!\d)(\d{1,4})\s*(?:days? ago\b|天前)", re.I),
        lambda found, today: (_back(today, int(found[1])), _back(today, int(found[1]))),
    ),
    (
        re.compile(r"(?:\b(?:last|past)\s+|最近|过去)(\d{1,4})\s*(?:days?\b|天)", re.I),
        lambda found, today: (_back(today, int(found[1])), today),
    ),
    (re.compile(r"\bthis week\b|(?:本|这)周|这个?星期", re.I), _week),
    (
        re.compile(r"\blast week\b|上周|上个?星期", re.I),
        lambda found, today: _week(found, today, 1),
    ),
    (re.compile(r"\bthis month\b|本月|这个月", re.I), _this_month),
    (re.compile(r"\blast month\b|上个?月", re.I), _last_month),
    (
        re.compile(r"\bthis year\b|今年", re.I),
        lambda _, today: (today.replace(month=1, day=1), today),
    ),
    (re.compile(r"\blast year\b|去年", re.I), _last_year),
)
