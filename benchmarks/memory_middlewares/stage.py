"""An agent of AgentScope 2.x around one memory middleware, with a scripted model."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentscope.agent import Agent, InjectionConfig
from agentscope.message import TextBlock
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import ToolBase, ToolChunk, Toolkit

from benchmarks.memory_middlewares.contenders import MEMORY_MODEL, Contender, Provider
from tests.loopback import LoopbackProvider, Reply, Request

_SILENCE = Reply(text="There is nothing to add.")


class Weather(ToolBase):
    """A tool of the application, which may need a permission."""

    name = "weather"
    description = "The weather."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012
    is_concurrency_safe = True
    is_read_only = False

    def __init__(self, *, ask: bool) -> None:
        super().__init__()
        self._decision = PermissionBehavior.ASK if ask else PermissionBehavior.ALLOW

    async def check_permissions(
        self, tool_input: dict[str, Any], context: PermissionContext
    ) -> PermissionDecision:
        return PermissionDecision(behavior=self._decision, message="weather")

    async def call(self, *args: Any, **kwargs: Any) -> ToolChunk:
        return ToolChunk(content=[TextBlock(text="sunny")])


class Stage:
    """One contender, its provider, and agents that use it."""

    def __init__(self, contender: Contender, provider: LoopbackProvider) -> None:
        self.contender = contender
        self.provider = provider
        self._lines: deque[Reply] = deque()
        provider.respond_with(self._answer)

    def script(self, *replies: Reply) -> None:
        """What the agent's model says next; afterwards it says that all is well."""
        self._lines.extend(replies)

    async def agent(self, session_id: str = "s1", *, ask: bool = False) -> Agent:
        """A new agent; with `ask` its weather tool needs a permission."""
        middleware = self.contender.middleware
        tools = [Weather(ask=ask), *await self.contender.tools()]
        return Agent(
            name="Friday",
            system_prompt="You help.",
            model=Provider(self.provider.openai_url).chat("agent"),
            toolkit=Toolkit(tools=tools),
            middlewares=[] if middleware is None else [middleware],
            state=AgentState(session_id=session_id),
            injection_config=InjectionConfig(inject_runtime_state=False),
        )

    @property
    def prompts(self) -> list[Request]:
        """What the agent's model was asked."""
        return [request for request in self.provider.chats if request.model == "agent"]

    def reached_memory(self, words: str) -> bool:
        """Whether words are on disk, or were given to the memory's model to be distilled."""
        asked = (request for request in self.provider.chats if request.model == MEMORY_MODEL)
        told = any(words in json.dumps(request.body, ensure_ascii=False) for request in asked)
        return told or words.encode() in self.contender.kept()

    def _answer(self, request: Request) -> Reply:
        if request.model == MEMORY_MODEL:
            return self._selected(request)
        return self._lines.popleft() if self._lines else Reply(text="All is well.")

    def _selected(self, request: Request) -> Reply:
        """A perfect selector: it names the file when it is asked about the zebra vault."""
        if request.structured_function is None or "selected_files" not in json.dumps(request.body):
            return _SILENCE
        wanted = any("Query:" in text and "zebra" in text.split("\n")[0] for text in request.texts)
        return Reply(structured={"selected_files": ["zebra-vault.md"] if wanted else []})


@asynccontextmanager
async def stage(kind: type[Contender], *, primed: bool = True) -> AsyncIterator[Stage]:
    """A contender in a new folder, closed at the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, LoopbackProvider() as p:
        contender = kind(Path(folder) / "memory", Provider(p.openai_url))
        set_up = Stage(contender, p)
        await contender.open(primed=primed)
        try:
            yield set_up
        finally:
            await contender.settle()
            await contender.close()
            set_up.provider.unscripted.clear()


def held_back() -> tuple[Reply, threading.Event]:
    """A reply that waits until its event is set."""
    released = threading.Event()
    return Reply(text="Too late.", delay_until=released), released
