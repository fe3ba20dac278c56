"""A cap on model calls: reaching it ends a job early and leaves the rest pending."""

from __future__ import annotations

import threading

from agentscope_reme.errors import BadInput


class CallBudget:
    """How many model calls one background job may still make. Safe to share between threads.

    Running out is a normal end, not an error: `spend` answers ``False``, and what was not done
    stays pending for the next run.

    Args:
        limit: the most calls in total; 0 allows none.

    Raises:
        BadInput: the limit is negative.
    """

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise BadInput(limit, "a budget cannot be negative", "Use 0 to allow no calls.")
        self.limit = limit
        self._spent = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> int:
        """Calls taken so far."""
        return self._spent

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self.limit - self._spent

    def spend(self) -> bool:
        """Take one call before making it; ``False`` when none is left."""
        return self.reserve(1) == 1

    def reserve(self, wanted: int) -> int:
        """Take at most `wanted` calls for a run that decides itself how many it needs."""
        with self._lock:
            granted = min(wanted, self.left)
            self._spent += granted
            return granted

    def give_back(self, unused: int) -> None:
        """Return what a run reserved and did not use."""
        with self._lock:
            self._spent = max(0, self._spent - unused)
