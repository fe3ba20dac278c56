"""How far a long job is: told to whoever listens, and free of cost where nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long job: ``done`` of ``total``; ``what`` names what is counted."""

    done: int
    total: int
    what: str

    def __str__(self) -> str:
        return f"{self.what}: {self.done} of {self.total}"


Listener = Callable[[Progress], None]
"""Is called in the thread that does the work, so it must return at once and never raise."""

_listener: Final[ContextVar[Listener | None]] = ContextVar("progress listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear of the progress of what is awaited inside, and of the threads it waits for."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def followed(items: Sequence[T], what: str) -> Iterator[T]:
    """The items, one by one; whoever listens is told before each of them, and in the end."""
    for done, item in enumerate(items):
        report_progress(done, len(items), what)
        yield item
    if items:
        report_progress(len(items), len(items), what)


def report_progress(done: int, total: int, what: str) -> None:
    """Tell whoever listens how far the job of this task is.

    Args:
        done: how many items are done.
        total: how many there are.
        what: what is counted, a word or two in the plural: ``files``, ``sessions``.
    """
    listener = _listener.get()
    if listener is not None:
        listener(Progress(done, total, what))
