"""Memory on an agent that already exists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from typing import Final

from agentscope.agent import Agent

from agentscope_reme.agentscope_v2.middleware import Mode, ReMeMemoryMiddleware
from agentscope_reme.errors import BadInput
from agentscope_reme.ports import MemoryService
from agentscope_reme.workspace import encode_name

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
        for hooks in _chains(agent):
            hooks.insert(0, middleware)  # outermost: it sees inputs first and the end last

    def detach(self) -> None:
        """Take the memory off the agent; what was recorded stays, and so do registered tools."""
        for hooks in _chains(self._agent):
            if self.middleware in hooks:
                hooks.remove(self.middleware)


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

    Another session of the same memory is refused: one conversation cannot be two.

    Args:
        reme: the memory; started at the next reply when it was not.
        agent: the agent, between two replies.
        session_id: the session to record to; the agent's own one by default.
        recall: ``auto`` (or ``True``) shows recalled memory before each reply, ``agent`` gives the
            agent tools instead, ``both`` does both, ``off`` (or ``False``) neither.
        record: save turns as they end; without it nothing is archived either.
        compact: archive and record what a compression drops.

    Returns:
        A handle whose `detach()` undoes it.

    Raises:
        BadInput: `recall` is none of these values, the agent is not one of AgentScope 2.x, or it
            has this memory already under another session.
    """
    chosen = {True: "auto", False: "off"}[recall] if isinstance(recall, bool) else recall
    if not isinstance(chosen, str) or chosen not in _MODES:
        raise BadInput(recall, "no such kind of recall", f"Use one of {', '.join(_MODES)}.")
    if session_id is not None:
        encode_name(session_id)
    present = [one for one in _chains(agent)[0] if isinstance(one, ReMeMemoryMiddleware)]
    for one in present:
        one.refuse_other_session(reme, agent, session_id)
    middleware = ReMeMemoryMiddleware(
        reme,
        mode=_MODES[chosen],
        session_id=session_id,
        record=record,
        compact=compact,
        key=_key(reme, agent, present),
    )
    return Attachment(agent, middleware)


def _key(reme: MemoryService, agent: Agent, present: Sequence[ReMeMemoryMiddleware]) -> str:
    """One key for one memory: two memories of an agent each remember how far they are."""
    own = [one.key_on(agent) for one in present if one.serves(reme)]
    taken = {one.key_on(agent) for one in present}
    numbered = (f"agentscope_reme-{number}" for number in count(2))
    free = (key for key in chain(["agentscope_reme"], numbered) if key not in taken)
    return own[0] if own else next(free)


def _chains(agent: Agent) -> list[list[object]]:
    try:
        return [getattr(agent, f"_{hook}_middlewares") for hook in _HOOKS]
    except AttributeError as error:
        raise BadInput(
            type(agent).__name__,
            "this agent has no middleware chains to attach to",
            "Pass `reme.middleware()` in `Agent(middlewares=[...])` instead.",
        ) from error
