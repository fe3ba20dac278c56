"""A circuit breaker (Nygard, "Release It!"): a failing service is left alone for a while."""

from __future__ import annotations

from typing import Final

from agentscope_reme.clock import Clock

COOL_DOWN_SECONDS: Final = 30.0
"""How long a failing service is left alone; long enough not to slow every search, short enough
that a passing outage is over within a conversation."""


class CircuitBreaker:
    """Decides whether a call is worth trying.

    Closed, every call passes. A failure opens it; while it is open no call passes. After the cool
    down one call is let through: its success closes the circuit, its failure opens it again.

    Args:
        clock: whose monotonic seconds count.
        cool_down_seconds: how long the circuit stays open.
    """

    def __init__(self, clock: Clock, *, cool_down_seconds: float = COOL_DOWN_SECONDS) -> None:
        self._clock = clock
        self._cool_down = cool_down_seconds
        self._open_until: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls are being held back now."""
        return self._open_until is not None and self._clock.monotonic() < self._open_until

    def allow(self) -> bool:
        """Whether to try; of several callers after a cool down only the first may."""
        if self.is_open:
            return False
        if self._open_until is not None:
            self._open_until = self._clock.monotonic() + self._cool_down
        return True

    def succeeded(self) -> None:
        """The call worked: everything passes again."""
        self._open_until = None

    def failed(self) -> None:
        """The call failed: hold back until the cool down is over."""
        self._open_until = self._clock.monotonic() + self._cool_down
