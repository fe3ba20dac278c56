"""Whether the person agrees: asked in the terminal, remembered for the session, else no."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

Answer = Literal["yes", "no", "always"]

REFUSED: Final = "The person did not allow this. Do not try it another way; ask what to do."
NOBODY_TO_ASK: Final = (
    "Not done: it needs the person's consent, and there is no terminal to ask in. Say what you "
    "would have done."
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be done.

    Attributes:
        kind: what ``always`` counts for, such as ``bash``.
        what: the words of the question.
        detail: the command, the code or the path, whole.
    """

    kind: str
    what: str
    detail: str


Ask = Callable[[Question], Awaitable[Answer]]


class Permissions:
    """Asks before something reaches beyond the memory.

    Args:
        ask: asks a person; ``None`` where there is none.
        policy: ``ask``; or ``allow`` or ``deny`` everything without asking.
    """

    def __init__(self, ask: Ask | None, policy: Literal["ask", "allow", "deny"] = "ask") -> None:
        self._ask = ask
        self._policy = policy
        self._always: set[str] = set()
        self._one_at_a_time = asyncio.Lock()

    async def refusal(self, question: Question) -> str:
        """Why it must not be done, for the model; empty when it may."""
        if self._policy == "allow":
            return ""
        if self._policy == "deny":
            return REFUSED
        if self._ask is None:
            return NOBODY_TO_ASK
        async with self._one_at_a_time:
            if question.kind in self._always:
                return ""
            answer = await self._ask(question)
            if answer == "always":
                self._always.add(question.kind)
        return REFUSED if answer == "no" else ""
