"""A typed memory as a part of an AgentScope agent, of either line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import agentscope_reme  # types of its names are found when somebody asks for them
from agentscope_reme.agentscope_line import require_line
from agentscope_reme.facade.toolkits import register
from agentscope_reme.facade.typed_calls import TypedCalls
from agentscope_reme.facade.typed_service import TargetMemory
from agentscope_reme.ports import Tool
from agentscope_reme.typed.targets import one_target


class TypedAgentCalls(TypedCalls):
    """Each of these calls names one target; what an agent does then stays within it."""

    def tools(
        self,
        *,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        include: Sequence[str] | None = None,
        read_only: bool = False,
    ) -> list[Tool]:
        """`retrieve_memory` and `summarize_memory` of one target, in no framework's form.

        Args:
            user_name: whose memory; exactly one of the three names.
            task_name: the memory of which task.
            tool_name: the memory of which tool.
            include: only these names.
            read_only: only tools that change nothing.

        Raises:
            BadInput: not exactly one name, or an unknown tool.
        """
        service = self._service(user_name, task_name, tool_name)
        return service.tools(include=include, read_only=read_only)

    def register_tools(
        self,
        toolkit: Any,
        *,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        include: Sequence[str] | None = None,
        read_only: bool = False,
    ) -> Any:
        """Give a toolkit the tools of one target; arguments as `tools`.

        On AgentScope 1.x this is done when the call returns; on 2.x the call returns an awaitable.

        Raises:
            BadInput: this is no toolkit, not exactly one name, or an unknown tool.
        """
        found = self._service(user_name, task_name, tool_name).tools(
            include=include, read_only=read_only
        )
        return register(toolkit, found, instead="VectorReMe.tools")

    def long_term_memory(
        self,
        *,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        session_id: str = "agent",
    ) -> agentscope_reme.ReMeLongTermMemory:
        """AgentScope 1.x: for ``ReActAgent(long_term_memory=...)``, over one target.

        Args:
            user_name: whose memory; exactly one of the three names.
            task_name: the memory of which task.
            tool_name: the memory of which tool.
            session_id: a name for the conversation.

        Raises:
            BadInput: not exactly one name.
        """
        require_line(1, "VectorReMe.long_term_memory", "VectorReMe.middleware")
        from agentscope_reme.agentscope_v1 import ReMeLongTermMemory

        return ReMeLongTermMemory(self._service(user_name, task_name, tool_name), session_id)

    def middleware(
        self,
        *,
        user_name: str = "",
        task_name: str = "",
        tool_name: str = "",
        mode: Literal["both", "static", "agent", "off"] = "both",
        session_id: str | None = None,
        record: bool = True,
    ) -> agentscope_reme.ReMeMemoryMiddleware:
        """AgentScope 2.x: the middleware for ``Agent(middlewares=[...])``, over one target.

        Args:
            user_name: whose memory; exactly one of the three names.
            task_name: the memory of which task.
            tool_name: the memory of which tool.
            mode: ``static`` recalls into the prompt, ``agent`` gives the agent the two tools,
                ``both`` does both, ``off`` neither.
            session_id: the conversation; the agent's own session id without it.
            record: keep turns, and draw memories from them in the background.

        Raises:
            BadInput: not exactly one name, or no such mode.
        """
        require_line(2, "VectorReMe.middleware", "VectorReMe.long_term_memory")
        from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware

        return ReMeMemoryMiddleware(
            self._service(user_name, task_name, tool_name),
            mode=mode,
            session_id=session_id,
            record=record,
            key="agentscope_reme_typed",
        )

    def _service(self, user_name: str, task_name: str, tool_name: str) -> TargetMemory:
        return TargetMemory(self._memory, one_target(user_name, task_name, tool_name))
