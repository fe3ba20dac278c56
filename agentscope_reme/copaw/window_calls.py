"""What a host asks about the window of one conversation, and about everything before it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from agentscope.message import Msg
from agentscope.tool import ToolResponse

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.messages import rewritten, to_neutral
from agentscope_reme.agentscope_v1.tools import text_response
from agentscope_reme.context.cut import check_context
from agentscope_reme.context.result_files import VaultResultFiles, result_paths
from agentscope_reme.context.tool_results import ResultLimits
from agentscope_reme.copaw.as_service import ServiceCalls
from agentscope_reme.copaw.environment import CopawEnvironment
from agentscope_reme.copaw.memory import CoPawInMemoryMemory
from agentscope_reme.copaw.search import (
    NO_QUERY,
    SEARCHED,
    WeightedSearchStep,
    hits_as_json,
    result_limit,
    score_limit,
)
from agentscope_reme.copaw.service import CopawCalls, CurrentModel
from agentscope_reme.errors import BadInput, ReMeError
from agentscope_reme.messages import Message

RESERVE: Final = 10_000
"""Tokens of recent messages that stay; half of the threshold when that is not more."""


class WindowCalls(ServiceCalls):
    """The working memory, its limits, and the search in the long-term memory."""

    environment: CopawEnvironment
    working_path: Path
    formatter: Any
    token_counter: Any
    max_input_length: int
    vector_weight: float
    candidate_multiplier: float
    tool_result_threshold: int
    retention_days: int

    _search_step = WeightedSearchStep()

    def __init__(self, memory: CopawCalls, model: CurrentModel) -> None:
        super().__init__(memory, model)
        self._windows: WeakSet[CoPawInMemoryMemory] = WeakSet()

    async def compact_tool_result(
        self,
        messages: list[Msg],
        *,
        old_max_bytes: int | None = None,
        recent_max_bytes: int | None = None,
        retention_days: int | None = None,
        recent_n: int | None = None,
    ) -> list[Msg]:
        """Shorten oversized tool results, in place; the whole of each goes to ``tool_result/``.

        Head, tail and the file's path stay in the message. Doing it again changes nothing. Expired
        files that none of the messages points to are removed. What fails is reported in `status()`
        and leaves the messages as they are. The limits bear the names hosts know and count
        characters, as `tool_result_threshold` does.

        Args:
            messages: the window, oldest first.
            old_max_bytes: what stays of one result; `tool_result_threshold` without it.
            recent_max_bytes: what stays of a recent one, when that is more; the images of recent
                results stay as well then.
            retention_days: days an offloaded result is kept; those of this object without it.
            recent_n: how many of the newest messages with results are recent, 1 without it; an
                unbroken run of them at the end of the window always is.

        Returns:
            The same list.
        """
        old = self.tool_result_threshold if old_max_bytes is None else old_max_bytes
        try:
            limits = (
                ResultLimits.everywhere(old)
                if recent_max_bytes is None
                else ResultLimits(old, recent_max_bytes, 1 if recent_n is None else recent_n)
            )
            short = await self.offload_tool_results(messages, limits)
        except ReMeError as failure:
            self.report_failure("compact_tool_result", failure)
            return messages
        for msg, message in zip(messages, short, strict=True):
            content = rewritten(msg.content, message)
            if content is not None:
                msg.content = content
        await self._expire_tool_results(short, retention_days)
        return messages

    def get_in_memory_memory(self) -> CoPawInMemoryMemory:
        """A new working memory for one conversation."""
        memory = CoPawInMemoryMemory(
            token_counter=self.token_counter,
            formatter=self.formatter,
            max_input_length=self.max_input_length,
            language=self.language,
        )
        self._windows.add(memory)
        return memory

    async def check_context(
        self,
        messages: Sequence[Msg],
        memory_compact_threshold: int | None = None,
        memory_compact_reserve: int = RESERVE,
        as_token_counter: Any = "default",  # noqa: S107 - a counter of tokens, no secret
    ) -> tuple[list[Msg], list[Msg], bool]:
        """What of a window should be compacted.

        Args:
            messages: the window, oldest first.
            memory_compact_threshold: in tokens; that of this object without it.
            memory_compact_reserve: tokens of recent messages that stay; the user's last request and
                whole tool calls come first.
            as_token_counter: a counter; ``"default"`` means that of this object.

        Returns:
            The messages to compact, those to keep, and whether every kept tool call has its
            result. Whatever fails: nothing, all of them, ``False``.

        Raises:
            BadInput: `messages` is no list.
        """
        if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
            raise BadInput(messages, "`messages` must be a list", "Pass a list of messages.")
        given = as_token_counter
        counter = self.token_counter if given == "default" else given
        limit = memory_compact_threshold or self.memory_compact_threshold
        try:
            sizes = await WindowMeter(counter).sizes(messages)
            return check_context(
                messages,
                limit,
                memory_compact_reserve,
                neutral=to_neutral,
                sizes=[size.tokens for size in sizes],
            )
        except (ReMeError, AttributeError, TypeError, ValueError) as failure:  # odd messages
            self.report_failure("check_context", failure)
            return [], list(messages), False

    async def memory_search(
        self, query: str, max_results: int = 5, min_score: float = 0.1
    ) -> ToolResponse:
        """Search the long-term memory (MEMORY.md, memory/, daily/, digest/) by meaning and words.

        Use this before answering questions about earlier work, decisions, dates, people,
        preferences or open tasks. Each result names a file and its lines; read more there.

        Args:
            query (`str`): What to look for, in plain words or exact terms.
            max_results (`int`): The most results, 1 to 100.
            min_score (`float`): Results below this score are left out, 0.001 to 0.999.

        Returns:
            `ToolResponse`: A JSON array of results, best first.
        """
        if not isinstance(query, str) or not query.strip():
            return text_response(NO_QUERY)
        try:
            return text_response(await self._found(query, max_results, min_score))
        except Exception as failure:  # noqa: BLE001 - a tool answers in words, whatever happened
            self.report_failure("memory_search", failure)
            return text_response(f"MemorySearch failed: {failure}")

    async def _expire_tool_results(
        self, live: Sequence[Message] = (), retention_days: int | None = None
    ) -> None:
        """Remove expired results that neither these messages nor a window of ours points to."""
        parts = await self._memory.opened()
        held = [to_neutral(msg) for memory in self._windows for msg, _ in memory.content]
        files = VaultResultFiles(parts.vault, parts.disk)
        try:
            await asyncio.to_thread(
                files.expire,
                self.retention_days if retention_days is None else retention_days,
                now=parts.clock.now(),
                live=result_paths([*live, *held]),
            )
        except ReMeError as failure:
            self.report_failure("tool_result", failure)

    async def _found(self, query: str, max_results: object, min_score: object) -> str:
        parts = await self._memory.opened()
        found = await self._search_step(
            self._memory.application,
            query=query,
            limit=result_limit(max_results),
            min_score=score_limit(min_score),
            layers=SEARCHED,
            fusion="score",
            vector_weight=self.vector_weight if self.environment.full_text else 1.0,
            candidates_per_hit=self.candidate_multiplier,
            expand_links=False,
        )
        return hits_as_json(
            found.hits, self.working_path, most_bytes=parts.settings.tool_answer_bytes
        )
