"""A long text cut into parts that fit a prompt; together the parts are the whole text."""

from __future__ import annotations

from typing import Final

from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.quoting import defuse

_SHRINK: Final = 0.9  # how much shorter a piece that did not fit is tried next


def end_of_part(text: str, start: int, budget_tokens: int) -> int:
    """Where the part that begins at `start` ends: as far as the budget reaches, at a line's end.

    A line that is longer than a whole part is cut inside.

    Args:
        text: the whole text.
        start: the first character of the part, before the end of the text.
        budget_tokens: the most estimated tokens of a part as it is quoted.

    Returns:
        The position behind the last character; always beyond `start`.
    """
    used = 0
    position = start
    while position < len(text):
        line_end = text.find("\n", position) + 1 or len(text)
        used += tokens_of(text[position:line_end])
        if used > budget_tokens:
            break
        position = line_end
    if position > start:
        return position
    return _inside_a_line(text, start, line_end, budget_tokens)


def tokens_of(piece: str) -> int:
    """What a piece costs in a prompt, where imitations of our own marks are spelled out."""
    return estimate_tokens(defuse(piece))


def _inside_a_line(text: str, start: int, line_end: int, budget_tokens: int) -> int:
    length = min(line_end - start, budget_tokens * 8)  # no token is longer on average
    while length > 1 and tokens_of(text[start : start + length]) > budget_tokens:
        length = max(1, int(length * _SHRINK))
    return start + length
