"""Calls of `VectorReMe` about single memories, and its life."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.lifetime import Lifetime
from agentscope_reme.tools.plain_arguments import plain_text
from agentscope_reme.typed.core import TypedMemory
from agentscope_reme.typed.nodes import MemoryNode, MemoryType
from agentscope_reme.typed.profile import profile_of
from agentscope_reme.typed.targets import Names, Target, all_targets, one_target

_MOST_TOP_K = 1000


class SingleMemoryCalls(Lifetime):
    """Every call that names a target works on that target alone, and starts the memory if needed.

    Args:
        memory: the parts, not started yet.
        targets: whom a conversation is about when nobody is named.
    """

    def __init__(self, memory: TypedMemory, targets: Sequence[Target]) -> None:
        self._memory = memory
        self._targets = tuple(targets)

    async def start(self) -> None:
        """Open the store; calling it again does nothing. After `close` it can be started again.

        Raises:
            StorageFailed: the store cannot be opened.
        """
        await self._memory.start()

    async def close(self) -> None:
        """Finish background work within `Settings.close_drain_seconds` and close.

        What was not finished is made by the next start. Calling it again does nothing.
        """
        await self._memory.close()

    async def retrieve_profile(
        self, query: str = "", user_name: str = "", *, top_k: int = 5
    ) -> list[MemoryNode]:
        """Lines of a user's profile: those that fit best, or without a query the newest.

        Args:
            query: what to look for.
            user_name: whose profile.
            top_k: how many lines at most.

        Raises:
            BadInput: an argument does not fit.
        """
        target = one_target(user_name=user_name)
        plain_text(query, "query")
        require_top_k(top_k, "top_k")
        await self._memory.ready()
        index = self._memory.parts.index
        if not query.strip():
            rows = await asyncio.to_thread(profile_of, index.store, target)
            return rows[:top_k]
        where = target.where(MemoryType.PROFILE)
        return [found.node for found in await index.search([query], where, limit=top_k)]

    async def add_memory(
        self,
        memory_content: str,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        *,
        when_to_use: str = "",
        message_time: str = "",
        ref_memory_id: str = "",
        author: str = "",
        score: float = 0.0,
        **metadata: str | int | float | bool,
    ) -> MemoryNode:
        """Store one memory; it is durable when this returns, and found by the next search.

        Args:
            memory_content: what is known.
            user_name: whom it is about; exactly one of the three names.
            task_name: which task it is about.
            tool_name: which tool it is about.
            when_to_use: the situation it helps in; it is found by this instead of its content.
            message_time: when it was said or happened; now without it.
            ref_memory_id: the conversation it comes from.
            author: who wrote it.
            score: how much it matters.
            metadata: whatever else can be filtered by.

        Raises:
            BadInput: not exactly one name, or a value that does not fit.
            StorageFailed: nothing was stored.
        """
        target = one_target(user_name, task_name, tool_name)
        await self._memory.ready()
        return await self._memory.memories.add(
            target,
            memory_content,
            metadata=metadata,
            when_to_use=when_to_use,
            message_time=message_time,
            ref_memory_id=ref_memory_id,
            author=author,
            score=score,
        )

    async def get_memory(self, memory_id: str) -> MemoryNode:
        """One memory, or the conversation a memory refers to, by its id.

        An id alone is enough, whatever the target: ids are random and cannot be guessed, so hand
        them only to those who may read what they name.

        Raises:
            NotFound: there is none.
        """
        await self._memory.ready()
        return await self._memory.memories.get(memory_id)

    async def update_memory(
        self,
        memory_id: str,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        *,
        memory_content: str | None = None,
        when_to_use: str | None = None,
        message_time: str | None = None,
        ref_memory_id: str | None = None,
        author: str | None = None,
        score: float | None = None,
        **metadata: str | int | float | bool | None,
    ) -> MemoryNode:
        """Change a memory; it keeps its id, and what is not given stays as it is.

        Args:
            memory_id: which one.
            user_name: whom it is about; exactly one of the three names.
            task_name: which task it is about.
            tool_name: which tool it is about.
            memory_content: the new text.
            when_to_use: as in `add_memory`.
            message_time: as in `add_memory`.
            ref_memory_id: as in `add_memory`.
            author: as in `add_memory`.
            score: as in `add_memory`.
            metadata: values by key; ``None`` removes a key.

        Raises:
            NotFound: this target has no such memory.
            BadInput: not exactly one name, or a value that does not fit.
            StorageFailed: nothing was changed.
        """
        target = one_target(user_name, task_name, tool_name)
        await self._memory.ready()
        return await self._memory.memories.update(
            target,
            memory_id,
            memory_content,
            metadata=metadata,
            when_to_use=when_to_use,
            message_time=message_time,
            ref_memory_id=ref_memory_id,
            author=author,
            score=score,
        )

    async def list_memory(
        self,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        *,
        filters: Mapping[str, Any] | None = None,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        """The memories of one target.

        Args:
            user_name: whose memories; exactly one of the three names.
            task_name: of which task.
            tool_name: of which tool.
            filters: by field or metadata key: a value it must have, or ``[lowest, highest]``,
                inclusive. ``{"memory_type": "profile"}`` lists a user's profile instead, and
                ``"history"`` the conversations.
            limit: how many at most; all without it.
            sort_key: a field or metadata key; ``time_created`` without it.
            reverse: the highest value first.

        Raises:
            BadInput: not exactly one name, or an argument that does not fit.
        """
        target = one_target(user_name, task_name, tool_name)
        await self._memory.ready()
        return await self._memory.memories.list(
            target, filters=filters, limit=limit, sort_key=sort_key, reverse=reverse
        )

    async def delete_memory(self, memory_id: str) -> None:
        """Forget one memory or conversation, by its id as in `get_memory`.

        Raises:
            NotFound: there is none.
        """
        await self._memory.ready()
        await self._memory.delete(memory_id)

    async def delete_all(self) -> int:
        """Forget everything of every target, conversations too; how many nodes there were."""
        await self._memory.ready()
        return await self._memory.delete_all()

    def _named(self, user_name: Names, task_name: Names, tool_name: Names) -> list[Target]:
        found = all_targets(user_name, task_name, tool_name) or list(self._targets)
        if not found:
            raise BadInput(
                "user_name",
                "no user_name, task_name or tool_name is given",
                "Name whom it is about, or pass `target_user_names` to the constructor.",
            )
        return found


def require_top_k(value: object, argument: str = "retrieve_top_k") -> None:
    """Refuse what is no sensible number of memories.

    Raises:
        BadInput: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_TOP_K:
        raise BadInput(value, f"`{argument}` is no number from 1 to {_MOST_TOP_K}", "Pass 20.")
