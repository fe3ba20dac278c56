"""Agent calls: the memory as a part of an AgentScope agent, of either line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, cast

import agentscope_reme  # types of its names are found when somebody asks for them
from agentscope_reme import context
from agentscope_reme.agentscope_line import installed_line, require_line
from agentscope_reme.errors import ReMeError
from agentscope_reme.facade.index import IndexCalls
from agentscope_reme.facade.models import neutral
from agentscope_reme.facade.toolkits import chosen, register
from agentscope_reme.messages import Message, whole_characters
from agentscope_reme.ports import MemoryService, Tool, ToolOutput
from agentscope_reme.runtime.starting import started


class AgentCalls(IndexCalls):
    """Adapters are imported when asked for; only those of the installed line exist."""

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        """The memory tools an agent may call, in no framework's form.

        Args:
            include: only these names.
            read_only: only tools that change nothing.

        Raises:
            BadInput: `include` is no list of names, or names a tool that does not exist.
        """
        return chosen(self._all_tools, include, read_only)

    @cached_property
    def _all_tools(self) -> tuple[Tool, ...]:
        """Made once: an agent service asks for them at every turn."""
        report = self._engine.failures.report
        from agentscope_reme.tools.agent_tools import file_tools, search_tool
        from agentscope_reme.tools.scope import AGENT

        operations = self._operations(AGENT)
        search = search_tool(
            self.search, on_failure=report, answer_bytes=operations.settings.tool_answer_bytes
        )
        files = file_tools(operations, on_failure=report)
        return tuple(self._started_first(tool) for tool in (search, *files))

    def _started_first(self, tool: Tool) -> Tool:
        async def call(arguments: Any) -> ToolOutput:
            try:
                self._life.refuse_closed()
                await started(self._service())  # which gives up on a start that hangs
                await self._engine.components.log_indexing.drain()
            except ReMeError as error:
                return ToolOutput(whole_characters(str(error)), success=False)
            output = await tool.call(arguments)
            if not tool.read_only:
                self._engine.embed_soon()
            return output

        return replace(tool, call=call)

    def register_tools(
        self, toolkit: Any, *, include: Sequence[str] | None = None, read_only: bool = False
    ) -> Any:
        """Give a toolkit the memory tools.

        On AgentScope 1.x this is done when the call returns; on 2.x the call returns an awaitable.

        Raises:
            BadInput: this is no toolkit, or `include` does not fit; at once, on 2.x too.
        """
        tools = self.tools(include=include, read_only=read_only)
        return register(toolkit, tools, instead="ReMe.tools")

    def attach(
        self,
        agent: Any,
        *,
        session_id: str,
        recall: Literal["auto", "agent", "both", "off"] = "auto",
        record: bool = True,
        compact: bool = True,
    ) -> Any:
        """Make an existing agent remember; returns a handle with ``detach()``.

        On AgentScope 1.x instance hooks are registered, on 2.x a middleware is added.

        Args:
            agent: a `ReActAgent` (1.x) or an `Agent` (2.x).
            session_id: the conversation its turns are recorded under.
            recall: ``auto`` puts what memory knows about a question into the prompt, ``agent``
                gives the agent memory tools instead, ``both`` does both, ``off`` neither.
            record: save turns and distil them in the background.
            compact: watch the length of the context window.
        """
        if installed_line() == 2:
            from agentscope_reme.agentscope_v2.attach import attach_v2

            return attach_v2(
                self._service(),
                agent,
                session_id=session_id,
                recall=recall,
                record=record,
                compact=compact,
            )
        require_line(1, "attach", "ReMe.tools")
        from agentscope_reme.hooks.attach import attach_v1

        attachment = attach_v1(
            self._service(),
            agent,
            session_id=session_id,
            recall=recall,
            record=record,
            compact=compact,
        )
        if attachment.recorder is not None:
            self._recorders.add(attachment.recorder)
        return attachment

    def memory(
        self, *, session_id: str, token_counter: Any = None, max_input_length: int = 0
    ) -> agentscope_reme.ReMeMemory:
        """AgentScope 1.x: the working memory for ``ReActAgent(memory=...)``."""
        require_line(1, "ReMe.memory", "ReMe.middleware")
        from agentscope_reme.agentscope_v1 import ReMeMemory

        return ReMeMemory(
            self._service(),
            session_id=session_id,
            token_counter=token_counter,
            max_input_length=max_input_length,
        )

    def toolkit(self) -> agentscope_reme.ReMeToolkit:
        """AgentScope 1.x: a toolkit with the memory tools registered."""
        require_line(1, "ReMe.toolkit", "ReMe.register_tools")
        from agentscope_reme.agentscope_v1 import ReMeToolkit

        return ReMeToolkit(self._service())

    def long_term_memory(self, *, session_id: str) -> agentscope_reme.ReMeLongTermMemory:
        """AgentScope 1.x: the long-term memory for ``ReActAgent(long_term_memory=...)``."""
        require_line(1, "ReMe.long_term_memory", "ReMe.middleware")
        from agentscope_reme.agentscope_v1 import ReMeLongTermMemory

        return ReMeLongTermMemory(self._service(), session_id=session_id)

    def middleware(
        self,
        *,
        mode: Literal["both", "static", "agent", "off"] = "both",
        session_id: str | None = None,
        record: bool = True,
        checkpoint: bool = False,
        include: Sequence[str] | None = None,
        read_only: bool = False,
    ) -> agentscope_reme.ReMeMemoryMiddleware:
        """AgentScope 2.x: the middleware for ``Agent(middlewares=[...])``.

        Args:
            mode: ``static`` recalls into the prompt, ``agent`` gives the agent memory tools,
                ``both`` does both, ``off`` neither. Turns are recorded in every mode.
            session_id: the conversation; the agent's own session id without it.
            record: save turns and distil them in the background.
            checkpoint: when AgentScope compresses a context, let this memory's model write the
                summary; without a model, or when it fails, AgentScope's own is made.
            include: only these tools; all of them without it, in mode ``both`` without the
                handling of front matter and of single days.
            read_only: only tools that change nothing.
        """
        require_line(2, "ReMe.middleware", "ReMe.attach or ReMe.memory")
        from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware

        return ReMeMemoryMiddleware(
            self._service(),
            mode=mode,
            session_id=session_id,
            record=record,
            checkpoint=checkpoint,
            include=include,
            read_only=read_only,
        )

    async def offload_tool_results(
        self, messages: Sequence[Any], limits: context.ResultLimits | None = None
    ) -> list[Message]:
        """Shorten oversized tool results; the whole of them is kept below ``tool_result/``.

        Doing it again changes nothing and writes nothing.

        Args:
            messages: a window in any form, oldest first.
            limits: what counts as oversized.

        Returns:
            The messages in the library's own form; `ToolResultBlock.omitted` names the files.

        Raises:
            BadMessage: one of them is no message.
            StorageFailed: a file could not be written.
        """
        from agentscope_reme.context.result_files import VaultResultFiles
        from agentscope_reme.context.tool_results import ToolResultCompactor

        known = neutral(messages)
        await self._life.ready()
        parts = self._engine.components
        files = VaultResultFiles(parts.vault, parts.disk)
        with self._engine.in_a_hurry():
            return await ToolResultCompactor(files, parts.language).compact(known, limits)

    def _service(self) -> MemoryService:
        return cast("MemoryService", self)
