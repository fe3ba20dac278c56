"""What Auto Memory tells of a run, in words."""

from __future__ import annotations

from agentscope_reme.errors import sentence
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.results import AutoMemoryResult


def point_to_last_card(log: SessionLog, result: AutoMemoryResult) -> None:
    """Name the card the session went into last, for a run that had nothing to do."""
    cards = [cursor.card for cursor in log.distilled() if cursor.card is not None]
    result.path = cards[-1] if cards else None


def told(result: AutoMemoryResult, *, no_agent: str = "") -> AutoMemoryResult:
    """The result with its ``answer``.

    Args:
        result: what was done.
        no_agent: why there is no agent, as a clause; empty when there is one.
    """
    if result.failed:
        said = f"The turns are saved in {result.session_path}; distilling them failed and will be "
        said += f"tried again: {result.failed[-1].reason}"
    elif result.pending:
        busy = "the model calls of this run are used up, or another process is at it"
        said = f"The turns are saved in {result.session_path} and wait to be distilled: "
        said += sentence(no_agent or busy)
    elif not result.date:
        where = f", last into {result.path}" if result.path else ""
        said = f"Nothing is waiting: all of {result.session_path} is distilled{where}."
    elif result.path is None:
        said = "Nothing worth a card was found."
    else:
        said = f"{'Created' if result.created else 'Updated'} {result.path}."
    result.answer = said
    return result
