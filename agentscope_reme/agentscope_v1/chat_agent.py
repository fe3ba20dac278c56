"""`ReplyPort` over `ReActAgent`: a conversation that a person watches while it grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1.background_agent import QuietAgent
from agentscope_reme.agentscope_v1.formatter import for_images
from agentscope_reme.agentscope_v1.marks import HINT
from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.agentscope_v1.models import (
    FormattedModel,
    model_failed,
    presentable,
    sees_images,
)
from agentscope_reme.agentscope_v1.tools import register_tools
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message
from agentscope_reme.ports import Delta, Refit, ReplyEvent, Spoken, Tool
from agentscope_reme.runtime.telling import Telling

_NAME = "assistant"


class _TellingMemory(InMemoryMemory):
    """A memory that tells everything that is added to it, but hints and the user's words.

    Attributes:
        window: what is told, and what it began with, in the library's own form.
    """

    def __init__(self, telling: Telling[ReplyEvent]) -> None:
        super().__init__()
        self._telling = telling
        self.window: list[Message] = []

    async def add(self, memories: Any, marks: Any = None, *args: Any, **kwargs: Any) -> None:
        """Keep messages, as AgentScope does, and tell them."""
        await super().add(memories, marks, *args, **kwargs)
        given = memories if isinstance(memories, list) else [memories]
        for msg in given:
            if msg is not None and marks != HINT and msg.role != "user" and msg.content:
                message = to_neutral(msg)
                self.window.append(message)
                self._telling.tell(Spoken(message))
                await self._telling.heard()  # it is told, and kept, before its tools run

    async def refill(self, messages: Sequence[Message], *, images: bool) -> None:
        """Hold exactly these messages, without telling them."""
        await self.clear()
        await super().add(presentable(messages, images=images))
        self.window = list(messages)


class _WatchedAgent(QuietAgent):
    """A `ReActAgent` whose words are told piece by piece; nothing is printed."""

    telling: Telling[ReplyEvent]
    refit: Refit | None = None

    async def print(self, msg: Msg, last: bool = True, speech: Any = None) -> None:
        """Tell what came since the last time."""
        if msg.role != "assistant":
            return
        said: dict[tuple[str, int], int] = self.__dict__.setdefault("_said", {})
        for place, block in enumerate(msg.get_content_blocks()):
            kind = block["type"]
            if kind not in ("text", "thinking"):
                continue
            text = str(block.get(kind) or "")
            known = said.get((msg.id, place), 0)
            if len(text) > known:
                said[(msg.id, place)] = len(text)
                self.telling.tell(Delta(text[known:], thinking=kind == "thinking"))
        await asyncio.sleep(0)  # whoever listens gets a turn

    async def _reasoning(
        self, tool_choice: Literal["auto", "none", "required"] | None = None
    ) -> Msg:
        memory = self.memory
        if self.refit is not None and isinstance(memory, _TellingMemory):
            wanted = await self.refit(memory.window)
            if wanted is not None:
                await memory.refill(wanted, images=sees_images(self.formatter))
        return await super()._reasoning(tool_choice)


class ConversingModel(FormattedModel):
    """Answers in a conversation with a 1.x model and its formatter."""

    async def reply(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        max_iters: int = 50,
        refit: Refit | None = None,
    ) -> AsyncGenerator[ReplyEvent, None]:
        """Answer the last message; see `ReplyPort`."""
        telling: Telling[ReplyEvent] = Telling()
        memory = _TellingMemory(telling)
        await memory.refill(messages, images=self.supports_images)
        agent = self._agent(instructions, messages, tools, max_iters, memory)
        agent.telling, agent.refit = telling, refit
        async with aclosing(telling.of(self._finish(agent))) as events:
            async for event in events:
                yield event

    def _agent(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        max_iters: int,
        memory: _TellingMemory,
    ) -> _WatchedAgent:
        toolkit = Toolkit()
        register_tools(toolkit, tools)
        return _WatchedAgent(
            name=_NAME,
            sys_prompt=instructions,
            model=self._model,
            formatter=for_images(self._formatter, messages),
            toolkit=toolkit,
            memory=memory,
            max_iters=max_iters,
        )

    async def _finish(self, agent: _WatchedAgent) -> None:
        try:
            await agent(None)
        except ModelFailed:
            raise
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        if agent.out_of_calls:
            raise ModelFailed(
                self._model.model_name,
                f"the reply was not done after {agent.max_iters} model calls",
                "Say how to go on, or ask for less at once.",
            )
