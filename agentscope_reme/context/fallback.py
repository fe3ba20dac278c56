"""A summary made without a model, for when a model's answer is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentscope_reme.context.cut import is_user_turn
from agentscope_reme.context.shortening import shorten
from agentscope_reme.messages import Message

_QUOTE_CHARACTERS: Final = 300
_TITLES: Final = {"en": "What was said since", "zh": "此后说过的话"}
_LEFT_OUT: Final = {"en": "- ({count} earlier turns left out)", "zh": "- （略去更早的 {count} 条）"}


def fallback_summary(
    messages: Sequence[Message],
    previous_summary: str = "",
    *,
    language: str = "en",
    longest: int = 8_000,
) -> str:
    """The earlier summary, followed by the beginnings of what the user said since.

    Deterministic, and short of invention: everything in it was written before. The newest turns
    are kept first when room is short; without a word of the user, the other turns are quoted.

    Args:
        messages: the turns that leave the window, oldest first.
        previous_summary: kept at the top, up to three quarters of the room.
        language: ``en`` or ``zh``, for the title.
        longest: the most characters of the whole, about; 1,000 or more.
    """
    kept = shorten(previous_summary.strip(), longest * 3 // 4)
    quotes = _quotes([m for m in messages if is_user_turn(m)]) or _quotes(messages)
    shown = _newest_within(quotes, longest - len(kept))
    lines = [f"## {_TITLES[language]}", ""]
    if len(shown) < len(quotes):
        lines.append(_LEFT_OUT[language].format(count=len(quotes) - len(shown)))
    lines.extend(shown)
    sections = [kept] if kept else []
    if quotes:
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _quotes(messages: Sequence[Message]) -> list[str]:
    return [quote for message in messages if (quote := _quote(message.text))]


def _quote(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        return ""
    return f"- “{words[:_QUOTE_CHARACTERS]}{'…' if len(words) > _QUOTE_CHARACTERS else ''}”"


def _newest_within(quotes: Sequence[str], room: int) -> list[str]:
    shown: list[str] = []
    for quote in reversed(quotes):
        room -= len(quote) + 1
        if room < 0:
            break
        shown.append(quote)
    return shown[::-1]
