"""Failures nobody is waiting for: logged once per kind, counted, and shown in `status()`."""

from __future__ import annotations

import logging
import threading

_log = logging.getLogger("agentscope_reme")

_LONGEST_MESSAGE = 500


class FailureLog:
    """Keeps background failures visible without flooding the host's log.

    A kind is a place and an exception type: a provider that is down for an hour makes one log
    line and a growing count. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()
        self._counts: dict[str, int] = {}
        self._last: dict[str, str] = {}

    def report(self, where: str, error: BaseException) -> None:
        """Count a failure; log it when it is the first of its kind.

        Args:
            where: the place, from a small fixed set of names such as ``"auto_memory"``.
            error: what was raised.
        """
        message = describe(error)
        kind = (where, type(error).__name__)
        with self._lock:
            first = kind not in self._seen
            self._seen.add(kind)
            self._counts[where] = self._counts.get(where, 0) + 1
            self._last[where] = message
        if first:
            _log.warning("%s: %s (further ones are only counted)", where, message)
            _log.debug("%s", where, exc_info=error)

    @property
    def counts(self) -> dict[str, int]:
        """How many failures each place has had."""
        with self._lock:
            return dict(self._counts)

    @property
    def last(self) -> dict[str, str]:
        """The newest failure of each place, in words."""
        with self._lock:
            return dict(self._last)


def describe(error: BaseException) -> str:
    """An exception in one capped line: its type, message and notes."""
    words = " ".join(" ".join((str(error), *getattr(error, "__notes__", ()))).split())
    if len(words) > _LONGEST_MESSAGE:
        words = f"{words[:_LONGEST_MESSAGE]}…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
