"""What the system tells a process while it talks: Ctrl-C, a terminal that closes, an end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

_ENDINGS: Final = ("SIGHUP", "SIGTERM")
"""A terminal that was closed, and whoever ends a process politely; Windows has no first."""

STOPPED_BY: Final = 128
"""The exit code of a process that a signal ended is this and the signal's number."""


class Ended:
    """Cancels a task at the first signal that ends a process.

    Commands run in groups of their own, which a closed terminal does not reach: whoever just died
    would leave them running.

    Attributes:
        by: the signal, once it came; 0 before.
    """

    def __init__(self, task: asyncio.Task[int]) -> None:
        self._task = task
        self.by = 0

    @property
    def code(self) -> int:
        """The exit code."""
        return STOPPED_BY + self.by

    def handlers(self) -> dict[int, Callable[[], object]]:
        """What to do at which signal; nothing for those that are to be ignored, as `nohup` does."""
        found = [getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)]
        heard = [number for number in found if signal.getsignal(number) is not signal.SIG_IGN]
        return {number: partial(self._end, number) for number in heard}

    def _end(self, number: int) -> None:
        if not self.by:  # a second one must not cut off the keeping of what was said
            self.by = number
            self._task.cancel()


@contextlib.contextmanager
def on_signals(handlers: Mapping[int, Callable[[], object]]) -> Iterator[None]:
    """Call something at a signal, where the platform's loop can."""
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        for number, call in handlers.items():
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, call)
                stack.callback(loop.remove_signal_handler, number)
        yield
