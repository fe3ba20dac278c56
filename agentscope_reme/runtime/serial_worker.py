"""One background job at a time, in order, owned by whoever closes the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agentscope_reme.errors import Closed

Job = Callable[[], Awaitable[object]]


class SerialWorker:
    """Runs jobs one after another in a single task that lives only while there is work.

    Jobs are derived from durable state (a session log, a folder), so two waiting jobs with one
    key are the same work: the newer one takes the older one's place. A job that fails is reported
    and the next one runs. All methods belong to one event loop.

    Args:
        name: the place failures are reported under.
        on_failure: called with `name` and the exception; must not raise.
    """

    def __init__(self, name: str, *, on_failure: Callable[[str, BaseException], None]) -> None:
        self.name = name
        self._on_failure = on_failure
        self._waiting: dict[str, Job] = {}
        self._running: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def queued(self) -> int:
        """Jobs not finished yet, the running one included."""
        return len(self._waiting) + (self._running is not None)

    @property
    def running(self) -> str | None:
        """The key of the job at work now."""
        return self._running

    def submit(self, key: str, job: Job) -> bool:
        """Queue a job; ``False`` when it replaced a waiting one with the same key.

        A job with the key of the *running* one waits: it may have been asked for by something the
        running job did not see.

        Raises:
            Closed: the worker was closed.
        """
        if self._closed:
            raise Closed(key, f"the worker `{self.name}` is closed", "Start the memory again.")
        new = key not in self._waiting
        self._waiting[key] = job
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(), name=self.name)
        return new

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait until every job is done, also those that arrive meanwhile.

        Args:
            deadline_seconds: how long to wait at most.

        Returns:
            Whether nothing is left. Called from inside a job it answers at once: ``False``.
        """
        task = self._task
        if task is None or task.done():
            return True
        if task is asyncio.current_task():
            return False
        done, _ = await asyncio.wait({task}, timeout=max(0.0, deadline_seconds))
        return bool(done)

    async def close(self) -> list[str]:
        """Cancel what is left, report it, and wait for the task to end.

        Returns:
            The keys of the jobs that did not finish, in order. Closing again returns none. A job
            that closes its own worker is the last one and runs to its end.
        """
        self._closed = True
        left = [key for key in (self._running, *self._waiting) if key is not None]
        self._waiting.clear()
        task, self._task = self._task, None
        if task is not None and not task.done() and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait({task})
        if left:
            self._on_failure(
                self.name,
                Closed(
                    left,
                    "closed before these jobs were done",
                    "They stay pending in the files; the next call picks them up.",
                ),
            )
        return left

    async def _work(self) -> None:
        while self._waiting:
            key = next(iter(self._waiting))
            job = self._waiting.pop(key)
            self._running = key
            try:
                await self._run(key, job)
            finally:
                self._running = None

    async def _run(self, key: str, job: Job) -> None:
        try:
            await job()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._report(key, error)  # the job's own inner task was cancelled, not the worker
        except Exception as error:  # noqa: BLE001 - a background task is a process edge
            self._report(key, error)

    def _report(self, key: str, error: BaseException) -> None:
        error.add_note(f"(job {key!r})")
        self._on_failure(self.name, error)
