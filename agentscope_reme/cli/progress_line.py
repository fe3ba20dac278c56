"""One line on the terminal that says how far a long job is, and goes away in the end."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

from agentscope_reme.progress import Progress

_EVERY_SECONDS: Final = 0.1


class ProgressLine:
    """Shown on standard error where that is a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._shown = 0
        self._next = 0.0
        self._open = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._write("")

    def tell(self, progress: Progress) -> None:
        """Show a step; may be called by any thread."""
        if self._open and time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY_SECONDS
            self._write(str(progress))

    def _write(self, text: str) -> None:
        padded = text.ljust(self._shown)
        self._shown = len(text)
        end = "" if text else "\r"
        try:
            sys.stderr.write(f"\r{padded}{end}")
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal went away; the job goes on
            self._open = False
