"""Ctrl-C while the process still loads: it ends there and then, for nothing has begun.

Raised as an exception within an import it would not always arrive: compiled modules turn it into a
fault of their own, and callbacks of the import system print and forget it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal
from types import FrameType

from agentscope_reme.cli.telling import failed

STOPPED = 130
"""The exit code of what Ctrl-C stopped."""


class _EndAtOnce:
    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def __call__(self, number: int, frame: FrameType | None) -> None:
        code = told(self._words)
        if sys.stdout is not None:
            sys.stdout.flush()
        os._exit(code)


def while_loading(words: Sequence[str]) -> None:
    """From now on Ctrl-C ends the process, unless its caller had it ignored.

    Args:
        words: what was written behind the command.
    """
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, _EndAtOnce(words))


def from_now_on_raised() -> None:
    """Something is about to begin, which Ctrl-C must let come to an end."""
    if isinstance(getsignal(SIGINT), _EndAtOnce):
        signal(SIGINT, default_int_handler)


def without_a_word() -> None:
    """All is said: Ctrl-C while Python takes itself apart ends it without a traceback."""
    signal(SIGINT, SIG_DFL)


def told(words: Sequence[str]) -> int:
    """Say that it was stopped; the exit code."""
    return failed("stopped; what was saved stays saved", as_json="--json" in words, code=STOPPED)
