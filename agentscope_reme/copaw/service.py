"""The memory behind a `ReMeCopaw`: the same calls as `ReMe`, with models that may be replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel

from agentscope_reme.copaw.memory_files import AREAS
from agentscope_reme.copaw.search import MemoryRecallStep, MemorySearchStep
from agentscope_reme.errors import ModelFailed, ModelRequired
from agentscope_reme.facade.files import FileCalls
from agentscope_reme.facade.journal import JournalCalls
from agentscope_reme.facade.models import agent_port_of, chat_port_of
from agentscope_reme.facade.recording import RecordingCalls
from agentscope_reme.messages import Message
from agentscope_reme.ports import (
    AgentPort,
    AgentRun,
    ChatPort,
    ChatReply,
    StructuredReply,
    Tool,
)
from agentscope_reme.steps.context import Components
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.scope import AGENT, Scope

T = TypeVar("T", bound=BaseModel)

COPAW_AGENT = Scope(actor=AGENT.actor, writable=AREAS)
"""An agent in the CoPaw layout: it reads everything and writes ``MEMORY.md`` and ``memory/``."""


class CopawCalls(RecordingCalls, FileCalls, JournalCalls):
    """All calls of a memory whose agents write ``MEMORY.md`` and ``memory/`` only."""

    _search_step = MemorySearchStep()
    _recall_step = MemoryRecallStep()

    @property
    def parts(self) -> Components:
        """The workspace's parts."""
        return self._engine.components

    async def opened(self) -> Components:
        """The workspace's parts, started.

        Raises:
            Closed: the memory was closed.
            StorageFailed: the workspace cannot be opened.
        """
        return await self._ready()

    def operations(self, scope: Scope) -> FileOperations:
        """The file operations of an actor; started with `opened`."""
        return self._operations(scope)

    def _operations(self, scope: Scope) -> FileOperations:
        return super()._operations(COPAW_AGENT if scope is AGENT else scope)


class CurrentModel:
    """Chat and agent ports of whatever model the host has set by now.

    Args:
        of: the host's model and its formatter, either of them ``None`` when not set.
    """

    def __init__(self, of: Callable[[], tuple[Any, Any]]) -> None:
        self._of = of

    @property
    def supports_images(self) -> bool:
        """Whether image blocks reach the model."""
        port = chat_port_of(*self._of())
        return port is not None and port.supports_images

    def chat(self) -> ChatPort:
        """The model for completions.

        Raises:
            ModelRequired: the host has set none.
        """
        port = chat_port_of(*self._of())
        if port is None:
            raise ModelRequired("ReMeCopaw")
        return port

    def agent(self) -> AgentPort:
        """The model for runs with tools.

        Raises:
            ModelRequired: the host has set none.
        """
        port = agent_port_of(*self._of())
        if port is None:
            raise ModelRequired("ReMeCopaw")
        return port

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        """Answer with text; see `ChatPort`."""
        with _as_a_failure():
            chat = self.chat()
        return await chat.complete(messages)

    async def structured(self, messages: Sequence[Message], output: type[T]) -> StructuredReply[T]:
        """Answer with a value; see `ChatPort`."""
        with _as_a_failure():
            chat = self.chat()
        return await chat.structured(messages, output)

    async def run(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        output: type[T] | None = None,
        *,
        max_iters: int = 12,
        deadline: float | None = None,
    ) -> AgentRun[T]:
        """Run with tools; see `AgentPort`."""
        with _as_a_failure():
            agent = self.agent()
        return await agent.run(
            instructions, messages, tools, output, max_iters=max_iters, deadline=deadline
        )


@contextmanager
def _as_a_failure() -> Iterator[None]:
    """A port fails in one way: whoever uses it leaves its work pending until a model is set."""
    try:
        yield
    except ModelRequired as error:
        raise ModelFailed(
            None, "the host has set no chat model yet", "Set `chat_model`."
        ) from error
