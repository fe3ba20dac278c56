"""A text cut to a size, never without saying so."""

from __future__ import annotations

import math

from agentscope_reme.context.tokens import estimate_tokens


def shorten(text: str, characters: int) -> str:
    """The head and the tail of a text, with the size of the gap between them in words."""
    if len(text) <= characters:
        return text
    head = characters * 2 // 3
    tail = characters - head
    end = text[-tail:] if tail else ""
    return f"{text[:head]} […{len(text) - characters} characters left out…] {end}"


def fit_tokens(text: str, tokens: int) -> str:
    """The text within about so many estimated tokens, head and tail kept.

    Args:
        text: any text.
        tokens: the room; with less than a few dozen, only the words about the gap remain.
    """
    needed = estimate_tokens(text)
    characters = len(text)
    short = text
    while needed > tokens and characters > 0:
        characters = math.floor(characters * min(0.9, tokens / needed))
        short = shorten(text, characters)
        needed = estimate_tokens(short)
    return short
