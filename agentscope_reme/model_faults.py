"""What went wrong with a model, in words: answers that do not fit, errors no provider sent."""

from __future__ import annotations

import asyncio
from typing import Final

from pydantic import ValidationError

_MOST_FAULTS: Final = 4


def in_plain_words(error: ValidationError, whole: str = "answer") -> str:
    """What does not fit, field by field and short, whatever was given.

    Args:
        error: what Pydantic found.
        whole: what to call the value itself; nothing, where the caller names it.
    """
    found = error.errors(include_url=False, include_input=False, include_context=False)
    faults = [
        f"{place}: {fault['msg'][:120]}" if place else fault["msg"][:120]
        for fault in found[:_MOST_FAULTS]
        for place in (".".join(map(str, fault["loc"]))[:60] or whole,)
    ]
    if len(found) > len(faults):
        faults.append(f"and {len(found) - len(faults)} more")
    return "; ".join(faults)


OWN_MODEL: Final = "Look at the model object and its arguments; nothing saved is lost."
"""What to do about an error that no provider sent."""


def is_programming_error(error: BaseException) -> bool:
    """Whether an error of a model call is one of Python's own, and so no answer of a provider."""
    own = type(error).__module__ == "builtins"
    return own and not isinstance(error, OSError | RuntimeError | EOFError | asyncio.CancelledError)


def in_words(error: BaseException) -> str:
    """What an error says, shortened; its type when it says nothing."""
    if isinstance(error, ValidationError):
        return in_plain_words(error)
    return f"{str(error).strip() or 'without a message'}"[:500]
