"""Memory on an agent that already exists."""

from __future__ import annotations

from typing import Final

from agentscope.agent import Agent

from agentscope_reme.agentscope_v2.middleware import Mode, ReMeMemoryMiddleware
from agentscope_reme.errors import BadInput
from agentscope_reme.ports import MemoryService

_MODES: Final[dict[str, Mode]] = {
    "auto": "static",
    "static": "static",
    "agent": "agent",
    "both": "both",
    "off": "off",
}
_HOOKS: Final = ("reply", "model_call", "compress_context")


class Attachment:
    """A memory attached to an agent.

    Attributes:
        middleware: the middleware that does the work.
    """

    def __init__(self, agent: Agent, middleware: ReMeMemoryMiddleware) -> None:
        self.middleware = middleware
        self._agent = agent
        for chain in _chains(agent):
            chain.insert(0, middleware)  # outermost: it sees inputs first and the end last

    def detach(self) -> None:
        """Take the memory off the agent; what was recorded stays, and so do registered tools."""
        for chain in _chains(self._agent):
            if self.middleware in chain:
                chain.remove(self.middleware)


def attach_v2(
    reme: MemoryService,
    agent: Agent,
    *,
    session_id: str | None = None,
    recall: str | bool = "auto",
    record: bool = True,
    compact: bool = True,
) -> Attachment:
    """Give an existing agent a memory; attaching twice records and recalls once.

    Args:
        reme: the memory; started at the next reply when it was not.
        agent: the agent, between two replies.
        session_id: the session to record to; the agent's own one by default.
        recall: ``auto`` (or ``True``) shows recalled memory before each reply, ``agent`` gives the
            agent tools instead, ``both`` does both, ``off`` (or ``False``) neither.
        record: save turns as they end.
        compact: archive and record what a compression drops.

    Returns:
        A handle whose `detach()` undoes it.

    Raises:
        BadInput: `recall` is none of these values, or the agent is not one of AgentScope 2.x.
    """
    chosen = {True: "auto", False: "off"}[recall] if isinstance(recall, bool) else recall
    if chosen not in _MODES:
        raise BadInput(recall, "no such kind of recall", f"Use one of {', '.join(_MODES)}.")
    middleware = ReMeMemoryMiddleware(
        reme, mode=_MODES[chosen], session_id=session_id, record=record, compact=compact
    )
    return Attachment(agent, middleware)


def _chains(agent: Agent) -> list[list[object]]:
    try:
        return [getattr(agent, f"_{hook}_middlewares") for hook in _HOOKS]
    except AttributeError as error:
        raise BadInput(
            type(agent).__name__,
            "this agent has no middleware chains to attach to",
            "Pass `reme.middleware()` in `Agent(middlewares=[...])` instead.",
        ) from error
