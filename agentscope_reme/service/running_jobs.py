"""Runs jobs for many callers: checked, bounded in number, and without a word about internals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from agentscope_reme.errors import ReMeError
from agentscope_reme.jobs import Job, carried_out, job_meant
from agentscope_reme.reme import ReMe
from agentscope_reme.service.outcomes import Outcome, outcome_of, refused
from agentscope_reme.service.schemas import checked

_MOST_AT_ONCE: Final = 32
"""Jobs at a time; one more is asked to come back. Most of them share one disk and one lock."""

_logger = logging.getLogger(__name__)


class JobRunner:
    """The jobs of one memory.

    Args:
        reme: whose memory; started and closed by its owner.
        served: the jobs there are, by name.
    """

    def __init__(self, reme: ReMe, served: Mapping[str, Job]) -> None:
        self.served: Final = served
        self._reme = reme
        self._running = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def idle(self, seconds: float) -> bool:
        """Wait until no job runs; ``False`` when the deadline came first."""
        if not self._running:
            return True
        try:
            await asyncio.wait_for(self._quiet.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def run(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one job; whatever goes wrong is an outcome."""
        job = self.served.get(name)
        if job is None:
            advice = job_meant(name[:80], self.served) or f"There are {', '.join(self.served)}."
            told = f"{name[:80]!r}: no such job. {advice}"
            return refused(404, "NoSuchJob", told)
        if self._running >= _MOST_AT_ONCE:
            return refused(503, "Busy", f"{self._running} jobs are running. Try again later.")
        self._running += 1
        self._quiet.clear()
        try:
            result = await carried_out(job, self._reme, checked(job, arguments))
        except ReMeError as error:
            return outcome_of(error)
        except Exception:  # a process edge: the caller learns that it failed, the log learns why
            _logger.exception("the job %s failed unexpectedly", name)
            told = f"{name}: it failed unexpectedly. The log of the service says why."
            return refused(500, "Unexpected", told)
        finally:
            self._running -= 1
            if not self._running:
                self._quiet.set()
        return Outcome(200, result)
