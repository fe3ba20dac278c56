"""Who spoke and when, in front of each turn of a chunk of conversation.

The date is written out once, and again when it changes: ``[Ann @ 13 March 2023 13:56]``, then
``[Bo]`` in the same minute, ``[Bo @ 14:02]`` on the same day. Month names are the words people ask
with. Turns with Chinese words get the date in digits as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who spoke, and when as the log says it, in the log's own time zone.

    Attributes:
        name: shown as it is.
        day: in words, or the text of a time that could not be read; empty without a time.
        digits: the day as ``YYYY-MM-DD``, where it is known.
        minute: ``HH:MM``, where it is known.
    """

    name: str
    day: str = ""
    digits: str = ""
    minute: str = ""

    @classmethod
    def of(cls, name: str, moment: str) -> Speaker:
        """From a time in ISO 8601, or in any other form, which is shown as it is."""
        try:
            known = datetime.fromisoformat(moment)
        except ValueError:
            return cls(name, moment)
        day = f"{known.day} {MONTHS[known.month - 1]} {known.year}"
        minute = known.strftime("%H:%M") if ":" in moment else ""
        return cls(name, day, known.date().isoformat(), minute)

    def label(self, text: str, before: Speaker | None = None) -> str:
        """What stands in front of a turn.

        Args:
            text: what was said.
            before: who spoke before in the same chunk.
        """
        when = self._when(before, in_digits=_has_han(text))
        return f"[{self.name} @ {when}] " if when else f"[{self.name}] "

    def _when(self, before: Speaker | None, *, in_digits: bool) -> str:
        if before is not None and before.day == self.day:
            return "" if before.minute == self.minute else self.minute
        digits = f"({self.digits})" if in_digits and self.digits else ""
        return " ".join(filter(None, (self.day, digits, self.minute)))


@cache
def _han() -> re.Pattern[str]:
    """Compiled when a conversation is cut: it takes a millisecond."""
    return re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


def _has_han(text: str) -> bool:
    return not text.isascii() and _han().search(text) is not None
