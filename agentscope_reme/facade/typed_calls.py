"""Calls of `VectorReMe` about conversations and questions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.models import all_neutral
from agentscope_reme.facade.typed_single import SingleMemoryCalls, require_top_k
from agentscope_reme.messages import Message, without_recalled
from agentscope_reme.results import StatusResult
from agentscope_reme.tools.plain_arguments import plain_text
from agentscope_reme.typed.conversations import messages_of
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.recalling import Recalled
from agentscope_reme.typed.targets import Names


class TypedCalls(SingleMemoryCalls):
    """Conversations become memories, and memories answers."""

    @overload
    async def summarize_memory(
        self,
        messages: Sequence[Any],
        description: str = ...,
        user_name: Names = ...,
        task_name: Names = ...,
        tool_name: Names = ...,
        *,
        retrieve_top_k: int = ...,
        return_dict: Literal[False] = ...,
    ) -> list[MemoryNode]: ...

    @overload
    async def summarize_memory(
        self,
        messages: Sequence[Any],
        description: str = ...,
        user_name: Names = ...,
        task_name: Names = ...,
        tool_name: Names = ...,
        *,
        retrieve_top_k: int = ...,
        return_dict: Literal[True],
    ) -> dict[str, Any]: ...

    async def summarize_memory(
        self,
        messages: Sequence[Any],
        description: str = "",
        user_name: Names = "",
        task_name: Names = "",
        tool_name: Names = "",
        *,
        retrieve_top_k: int = 20,
        return_dict: bool = False,
    ) -> list[MemoryNode] | dict[str, Any]:
        """Keep a conversation for each target, and learn from it.

        The conversation is stored durably before any model is asked. What a model could not read
        waits, and is read by the next call for that target, also one with no messages. Messages
        that were kept before, known by id or time and text, are not kept again. Use of a tool is
        counted from the calls in the conversation.

        Args:
            messages: dictionaries or AgentScope messages, oldest first.
            description: what the conversation is about, and how it ended.
            user_name: one user, or several.
            task_name: one task, or several.
            tool_name: one tool, or several.
            retrieve_top_k: how many old memories it is compared with at most.
            return_dict: return a dictionary instead of the nodes.

        Returns:
            The memories that were added or changed; or ``answer``, ``success``, ``messages`` (what
            was kept now), ``tools`` (which call was made for which memory), ``nodes``, ``pending``
            (conversations that still wait), ``refused`` and ``failed``.

        Raises:
            BadInput: nobody is named, or an argument does not fit.
            BadMessage: one of the messages is none.
            Closed: the memory was closed meanwhile; it says whether the conversation was kept.
            StorageFailed: the conversation could not be kept.
        """
        targets = self._named(user_name, task_name, tool_name)
        plain_text(description, "description")
        require_top_k(retrieve_top_k)
        given = await all_neutral(messages)
        done = await self._memory.memorize(targets, given, hint=description, similar=retrieve_top_k)
        if not return_dict:
            return done.nodes
        return {
            "answer": done.answer,
            "success": not done.failed and not done.pending,
            "messages": await asyncio.to_thread(_rows, done.kept),
            "tools": done.done,
            "nodes": done.nodes,
            "pending": done.pending,
            "refused": [why for one in done.learnt for why in one.refused],
            "failed": done.failed,
        }

    @overload
    async def retrieve_memory(
        self,
        query: str = ...,
        description: str = ...,
        messages: Sequence[Any] | None = ...,
        user_name: Names = ...,
        task_name: Names = ...,
        tool_name: Names = ...,
        *,
        retrieve_top_k: int = ...,
        enable_time_filter: bool = ...,
        return_dict: Literal[False] = ...,
    ) -> str: ...

    @overload
    async def retrieve_memory(
        self,
        query: str = ...,
        description: str = ...,
        messages: Sequence[Any] | None = ...,
        user_name: Names = ...,
        task_name: Names = ...,
        tool_name: Names = ...,
        *,
        retrieve_top_k: int = ...,
        enable_time_filter: bool = ...,
        return_dict: Literal[True],
    ) -> dict[str, Any]: ...

    async def retrieve_memory(
        self,
        query: str = "",
        description: str = "",
        messages: Sequence[Any] | None = None,
        user_name: Names = "",
        task_name: Names = "",
        tool_name: Names = "",
        *,
        retrieve_top_k: int = 20,
        enable_time_filter: bool = True,
        return_dict: bool = False,
    ) -> str | dict[str, Any]:
        """What is remembered about a question, with dates and ids.

        With a chat model the question is reworded, at most three conversations are looked up, and
        the answer is written from what was found alone; without one, or when it fails, the answer
        is the list of what was found. Searching changes nothing.

        Args:
            query: the question; without one, the last user turn of `messages`.
            description: what the answer is for.
            messages: a conversation the question comes from.
            user_name: one user, or several.
            task_name: one task, or several.
            tool_name: one tool, or several.
            retrieve_top_k: how many memories of each target at most.
            enable_time_filter: look at the days first that the question names: ``2026-02-28``,
                ``yesterday``, ``last week``, and the like in Chinese.
            return_dict: return a dictionary instead of the text.

        Returns:
            The answer, wrapped as quoted data; or ``answer``, ``success``, ``messages``, ``tools``
            and ``retrieved_nodes``.

        Raises:
            BadInput: nobody is named, nothing is asked, or an argument does not fit.
        """
        targets = self._named(user_name, task_name, tool_name)
        plain_text(description, "description")
        require_top_k(retrieve_top_k)
        given = await all_neutral(messages or ())
        question = _question(query, given)
        await self._memory.ready()
        found = [
            await self._memory.recaller.recall(
                target,
                question,
                hint=description,
                limit=retrieve_top_k,
                time_filter=enable_time_filter,
            )
            for target in targets
        ]
        answer = self._memory.recaller.shown(found, question)
        if not return_dict:
            return answer
        return await asyncio.to_thread(_retrieved, answer, found, given)

    async def drain(self, deadline_seconds: float = 60.0) -> bool:
        """Wait for background work: vectors in the making, conversations being read.

        Returns:
            Whether nothing is left; ``False`` when the deadline came first.

        Raises:
            BadInput: the deadline is not a number.
        """
        if not isinstance(deadline_seconds, int | float):
            raise BadInput(deadline_seconds, "`deadline_seconds` must be a number", "Pass seconds.")
        await self._memory.ready()
        return await self._memory.drain(deadline_seconds)

    async def status(self) -> StatusResult:
        """Counts, queues and every failure so far; ``details`` counts the nodes of each type."""
        await self._memory.ready()
        return await self._memory.status()


def _rows(conversations: Sequence[MemoryNode]) -> list[dict[str, Any]]:
    return _dumped([one for node in conversations for one in messages_of(node)])


def _dumped(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.model_dump(mode="json", exclude_none=True) for message in messages]


def _retrieved(
    answer: str, found: Sequence[Recalled], messages: Sequence[Message]
) -> dict[str, Any]:
    nodes = [node for one in found for node in (*one.lines, *one.nodes)]
    return {
        "answer": answer,
        "success": not any(one.failed for one in found),
        "messages": _dumped(messages),
        "tools": [],
        "retrieved_nodes": list({node.memory_id: node for node in nodes}.values()),
        "failed": [why for one in found for why in one.failed],
    }


def _asked(messages: Sequence[Message]) -> Iterator[str]:
    """What users said, the last first."""
    for message in reversed(messages):
        said = without_recalled(message) if message.role == "user" else None
        if said is not None and (text := said.text.strip()):
            yield text


def _question(query: object, messages: Sequence[Message]) -> str:
    question = plain_text(query, "query").strip() or next(_asked(messages), "")
    if not question:
        raise BadInput(query, "nothing is asked", "Pass `query`, or `messages` with a user turn.")
    return question
