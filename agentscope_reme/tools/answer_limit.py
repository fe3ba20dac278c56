"""Keeps every text that is handed to an agent below a number of bytes, and says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

ALL_IN_FIELDS: Final = "The fields of the result list all."
"""Advice for an answer that says in words what a result holds in full."""


def cut_to_bytes(text: str, limit: int) -> tuple[str, bool]:
    """The longest head of a text within `limit` UTF-8 bytes, and whether something was cut."""
    if len(text) * 4 <= limit:
        return text, False
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text, False
    return data[: max(0, limit)].decode("utf-8", "ignore"), True


def capped(text: str, limit: int, advice: str) -> str:
    """A text within `limit` bytes; a cut one ends by saying so and how to get the rest.

    Args:
        text: what would be answered.
        limit: bytes of UTF-8, the note included.
        advice: how to ask for less or for the rest, as a sentence.
    """
    if not cut_to_bytes(text, limit)[1]:
        return text
    note = f"\n[Cut at {limit} bytes. {advice}]"
    return cut_to_bytes(text, limit - len(note.encode()))[0] + note


def capped_lines(lines: Sequence[str], limit: int, advice: str) -> tuple[str, int]:
    """Whole lines within `limit` bytes, and how many of them are shown.

    When lines are left out, the last line says how many and what to do.
    """
    shown: list[str] = []
    room = limit - 300  # the note about what was left out
    for line in lines:
        room -= byte_length(line) + 1
        if room < 0:
            break
        shown.append(line)
    if len(shown) == len(lines):
        return "\n".join(lines), len(lines)
    note = f"[{len(lines) - len(shown)} of {len(lines)} left out. {advice}]"
    return "\n".join((*shown, note)), len(shown)


def byte_length(text: str) -> int:
    """The size of a text in UTF-8 bytes."""
    return len(text.encode("utf-8", "replace"))


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 file``, ``2 files``.

    Args:
        number: how many.
        one: the noun for one of them.
        many: the noun for several, where it does not only take an ``s``.
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def one_line(text: object, longest: int = 300) -> str:
    """A value as one line without line breaks, at most `longest` characters."""
    words = " ".join(str(text).split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def named(items: Sequence[str], most: int = 10) -> str:
    """At most `most` names in one line; the rest is counted."""
    shown = ", ".join(one_line(item) for item in items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


def bullets(lines: Iterable[str], most: int = 20) -> str:
    """A Markdown list of at most `most` items; the rest is counted."""
    items = list(lines)
    shown = [f"- {one_line(item, 500)}" for item in items[:most]]
    if len(items) > most:
        shown.append(f"- … and {len(items) - most} more")
    return "\n".join(shown)
