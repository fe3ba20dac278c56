"""A circuit breaker (Nygard, "Release It!"): a failing service is left alone for a while."""

from __future__ import annotations

from typing import Final

from agentscope_reme.clock import Clock

COOL_DOWN_SECONDS: Final = 30.0
"""How long a failing service is left alone; long enough not to slow every search, short enough
that a passing outage is over within a conversation."""

LONGEST_COOL_DOWN_SECONDS: Final = 600.0
"""However long an outage lasts, somebody who repaired the service waits no longer than this."""


class CircuitBreaker:
    """Decides whether a call is worth trying.

    Closed, every call passes. A failure opens it; while it is open no call passes. After the cool
    down one call is let through: its success closes the circuit, its failure opens it again for
    twice as long.

    Args:
        clock: whose monotonic seconds count.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cool_down = COOL_DOWN_SECONDS
        self._open_until: float | None = None
        self._trying = False
        self.outages = 0
        """How often a service that worked began to fail."""

    @property
    def is_open(self) -> bool:
        """Whether calls are being held back now."""
        return self._open_until is not None and self._clock.monotonic() < self._open_until

    @property
    def is_closed(self) -> bool:
        """Whether the last call worked; false from a failure until a success."""
        return self._open_until is None

    def allow(self) -> bool:
        """Whether to try; of several callers after a cool down only the first may."""
        if self.is_open:
            return False
        if self._open_until is not None:
            self._open_until = self._clock.monotonic() + self._cool_down
            self._trying = True
        return True

    def succeeded(self) -> None:
        """The call worked: everything passes again."""
        self._open_until, self._trying, self._cool_down = None, False, COOL_DOWN_SECONDS

    def failed(self) -> None:
        """The call failed: hold back until the cool down is over, longer after each vain try."""
        if self._open_until is None:
            self.outages += 1
        if self._trying:
            self._cool_down = min(LONGEST_COOL_DOWN_SECONDS, 2 * self._cool_down)
        self._trying = False
        self._open_until = self._clock.monotonic() + self._cool_down
