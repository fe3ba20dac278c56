"""The one place where the 1.x room swallows an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentscope_reme.ports import MemoryService


@contextmanager
def reporting(reme: MemoryService, where: str) -> Iterator[None]:
    """Report whatever fails inside instead of raising it; cancellation goes through.

    AgentScope 1.x lets an exception of a hook or of a long-term memory end the reply it serves,
    or lose one that is finished. Ours must never cost a reply.

    Args:
        reme: whose `status()` shows the failure.
        where: the name it is counted under.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - a process edge: the reply matters more
        reme.report_failure(where, error)
