"""What happens after a 1.x agent replied: what is new is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.agentscope_v1.local_images import with_local_images
from agentscope_reme.agentscope_v1.marks import HINT, conversation
from agentscope_reme.agentscope_v1.memory import ReMeMemory
from agentscope_reme.hooks.hook import Hook
from agentscope_reme.ports import MemoryService
from agentscope_reme.runtime.starting import is_open, started

if TYPE_CHECKING:
    from agentscope.agent import ReActAgent


class AutoMemoryHook(Hook):
    """Saves what an agent's memory holds that was not saved before.

    Registered as ``post_reply``, and as ``pre_reply`` too: an interrupted turn runs no post hook,
    and releases with one re-entrancy flag for each agent skip it for parallel replies. So nothing
    relies on being called at the right moment: each call compares message ids and saves the rest.
    `ReMe.close` saves what the last reply left, of agents that live and that `ReMe.attach` was
    called for.
    Only the durable enqueue is awaited, up to ``record_patience_seconds`` for a lock that a stopped
    process holds, and the start of a memory that was not started, up to `START_PATIENCE_SECONDS`;
    distilling follows in the background.

    Args:
        reme: the memory service; started on first use.
        session_id: the conversation; by default that of a `ReMeMemory`, or the agent's id.
    """

    def __init__(self, reme: MemoryService, session_id: str | None = None) -> None:
        super().__init__()
        self._reme = reme
        self._session_id = session_id
        self._saved: WeakKeyDictionary[ReActAgent, frozenset[str]] = WeakKeyDictionary()
        self._asked: WeakSet[ReActAgent] = WeakSet()

    async def __call__(self, agent: ReActAgent, kwargs: dict[str, Any], output: Any = None) -> None:
        """Run as a ``post_reply`` or ``pre_reply`` hook; the reply is never changed."""
        self._asked.add(agent)
        with reporting(self._reme, "hook.auto_memory"):
            if output is None and not await is_open(self._reme):
                return  # before a reply nothing waits; the call after it saves this too
            await self.save(agent)

    def leave(self, agent: ReActAgent) -> None:
        """Save nothing more of an agent by oneself."""
        self._asked.discard(agent)

    async def save_all(self) -> None:
        """Save what the last replies of all agents left, those that failed, before a close."""
        for agent in list(self._asked):
            with reporting(self._reme, "hook.auto_memory"):
                await self.save(agent)

    async def save(self, agent: ReActAgent) -> int:
        """Save what is new; returns how many messages were.

        Raises:
            ReMeError: the session's log could not be written.
        """
        memory = agent.memory
        window = await memory.get_memory(exclude_mark=HINT, prepend_summary=False)
        saved = self._saved.get(agent, frozenset())
        fresh = conversation(msg for msg in window if msg.id not in saved)
        if not fresh:
            return 0
        own = memory.session_id if isinstance(memory, ReMeMemory) else agent.id
        await started(self._reme)
        await self._reme.record(self._session_id or own, await with_local_images(fresh))
        self._saved[agent] = frozenset(msg.id for msg in window)
        return len(fresh)
