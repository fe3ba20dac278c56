"""Which of the waiting turns one run is given: one day, one prompt, few images."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from agentscope_reme.clock import Clock
from agentscope_reme.files.session_log import LoggedMessage
from agentscope_reme.messages import latest_moment
from agentscope_reme.steps.transcript import fitting_part


@dataclass(frozen=True, slots=True)
class Part:
    """Turns of one run, the day of their card, and whether nothing waits behind them."""

    day: str
    turns: list[LoggedMessage]
    is_last: bool


def first_part(
    turns: Sequence[LoggedMessage],
    *,
    own: Collection[str],
    date: datetime.date | None,
    clock: Clock,
    now: datetime.datetime,
    budget_tokens: int,
    most_images: int | None,
) -> Part:
    """The leading turns that belong together.

    Args:
        turns: what waits, in order of arrival; at least one.
        own: ids of turns that came with one call, and so belong to one card.
        date: overrides the day of all of them.
        clock: in whose zone days begin.
        now: when the run began, for turns without a time.
        budget_tokens: the most estimated tokens of their transcript.
        most_images: the most images, where they are shown.
    """
    first_is_own = turns[0].id in own
    alike = list(takewhile(lambda turn: (turn.id in own) == first_is_own, turns))
    if date is not None:
        day = date.isoformat()
    elif first_is_own:
        latest = latest_moment([turn.message for turn in alike], clock)
        day = (latest or now).date().isoformat()
    else:
        day, alike = _first_day(alike, clock, now)
    part = fitting_part(alike, clock, budget_tokens=budget_tokens, most_images=most_images)
    return Part(day, part, is_last=len(part) == len(turns))


def _first_day(
    turns: Sequence[LoggedMessage], clock: Clock, now: datetime.datetime
) -> tuple[str, list[LoggedMessage]]:
    current = next((day for turn in turns if (day := _day(turn, clock))), None)
    days: list[str] = []
    for turn in turns:  # a turn without a time belongs to the day of the one before it
        current = _day(turn, clock) or current
        days.append(current or now.date().isoformat())
    _, first = next(groupby(zip(days, turns, strict=True), key=lambda pair: pair[0]))
    return days[0], [turn for _, turn in first]


def _day(turn: LoggedMessage, clock: Clock) -> str | None:
    moment = turn.message.created_at
    return clock.localise(moment).date().isoformat() if moment else None
