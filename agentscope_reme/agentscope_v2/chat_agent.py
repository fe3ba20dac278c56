"""`ReplyPort` over AgentScope 2.x's `Agent`: its events become those of the library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from agentscope.agent import Agent, ContextConfig
from agentscope.event import EventType
from agentscope.message import Msg
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.state import AgentState
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v2.agent_runs import (
    MOST_IMAGES,
    react_config,
    with_fields,
    without_injection,
)
from agentscope_reme.agentscope_v2.answers import model_failed
from agentscope_reme.agentscope_v2.formats import supports_images
from agentscope_reme.agentscope_v2.formatter import for_images
from agentscope_reme.agentscope_v2.messages import from_neutral
from agentscope_reme.agentscope_v2.tools import as_toolbase
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from agentscope_reme.ports import Delta, Refit, ReplyEvent, Spoken, Tool
from agentscope_reme.runtime.telling import Telling

_NAME = "assistant"


class ConversingModel:
    """Answers in a conversation with a 2.x model.

    Args:
        model: streaming or not.
    """

    def __init__(self, model: ChatModelBase) -> None:
        self._model = model

    @property
    def supports_images(self) -> bool:
        """Whether image blocks in the messages reach the model."""
        return supports_images(self._model)

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
        hearing = _Hearing(messages)
        agent = Agent(
            name=_NAME,
            system_prompt=instructions,
            model=for_images(self._model, messages),
            toolkit=Toolkit(tools=[as_toolbase(tool) for tool in tools]),
            middlewares=[_Window(hearing, refit)],
            state=AgentState(context=_as_context(messages[:-1])),
            react_config=react_config(max_iters),
            context_config=with_fields(ContextConfig, max_image_num=MOST_IMAGES),
            **without_injection(),
        )
        telling: Telling[ReplyEvent] = Telling()
        stream = agent.reply_stream(_as_context(messages[-1:]))
        async with aclosing(telling.of(self._finish(stream, hearing, telling))) as events:
            async for event in events:
                yield event

    async def _finish(
        self, stream: AsyncGenerator[Any, None], hearing: _Hearing, telling: Telling[ReplyEvent]
    ) -> None:
        try:
            await _heard(stream, hearing, telling)
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        if hearing.exceeded:
            raise ModelFailed(
                self._model.model,
                "the reply was not done after the most model calls it may take",
                "Say how to go on, or ask for less at once.",
            )


async def _heard(
    stream: AsyncGenerator[Any, None], hearing: _Hearing, telling: Telling[ReplyEvent]
) -> None:
    """Tell what a stream says, to its end.

    One that is left half-way complains of that when it is collected, and a cancellation reaches
    model and tools only inside of it.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - it runs in one of its own
    async for event in stream:
        if task.cancelling():  # AgentScope answers it with an apology
            continue
        for told in hearing.of(event):
            telling.tell(told)
        try:
            await telling.heard()  # it is told, and kept, before its tools run
        except asyncio.CancelledError:
            task.cancel()
    if task.cancelling():
        raise asyncio.CancelledError


class _Window(MiddlewareBase):
    """Gives the window to `refit` where AgentScope would compress it; stops what was stopped."""

    def __init__(self, hearing: _Hearing, refit: Refit | None) -> None:
        self._hearing = hearing
        self._refit = refit

    async def on_compress_context(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> None:
        if self._refit is None:
            return
        wanted = await self._refit(self._hearing.window)
        if wanted is not None:
            self._hearing.window = list(wanted)
            agent.state.context = _as_context(wanted)

    async def on_model_call(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> Any:
        """Not after a cancellation, which early releases take for the failure of a tool."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        return await next_handler(**input_kwargs)


class _Hearing:
    """Puts the events of one reply together to messages.

    Attributes:
        window: the conversation as it stands.
        exceeded: AgentScope ended the reply at its limit.
    """

    def __init__(self, window: Sequence[Message]) -> None:
        self.window = list(window)
        self.exceeded = False
        self._blocks: list[Block] = []
        self._results: dict[str, ToolResultBlock] = {}
        self._count = 0

    def of(self, event: Any) -> list[ReplyEvent]:
        """What an event tells."""
        match event.type:
            case EventType.TEXT_BLOCK_DELTA:
                self._say(TextBlock(text=event.delta))
                return [Delta(event.delta)]
            case EventType.THINKING_BLOCK_DELTA:
                self._say(ThinkingBlock(text=event.delta))
                return [Delta(event.delta, thinking=True)]
            case EventType.TOOL_CALL_START:
                self._blocks.append(
                    ToolCallBlock(id=event.tool_call_id, name=event.tool_call_name, input="")
                )
            case EventType.TOOL_CALL_DELTA:
                self._more_input(event.tool_call_id, event.delta)
            case EventType.MODEL_CALL_END:
                return self._spoken(event, "assistant", tuple(self._blocks))
            case EventType.EXCEED_MAX_ITERS:
                self.exceeded = True
            case _:
                return self._of_results(event)
        return []

    def _of_results(self, event: Any) -> list[ReplyEvent]:
        match event.type:
            case EventType.TOOL_RESULT_START:
                self._results[event.tool_call_id] = ToolResultBlock(
                    id=event.tool_call_id, name=event.tool_call_name
                )
            case EventType.TOOL_RESULT_TEXT_DELTA:
                self._more_output(event.tool_call_id, TextBlock(text=event.delta))
            case EventType.TOOL_RESULT_DATA_DELTA:
                block = DataBlock(media_type=event.media_type, data=event.data, url=event.url)
                self._more_output(event.tool_call_id, block)
            case EventType.TOOL_RESULT_END:
                result = self._results.pop(event.tool_call_id, None)
                return [] if result is None else self._spoken(event, "system", (result,))
        return []

    def _say(self, block: TextBlock | ThinkingBlock) -> None:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, type(block)):
            self._blocks[-1] = last.model_copy(update={"text": last.text + block.text})
        else:
            self._blocks.append(block)

    def _more_input(self, call_id: str, text: str) -> None:
        for place, block in enumerate(self._blocks):
            if isinstance(block, ToolCallBlock) and block.id == call_id:
                self._blocks[place] = block.model_copy(update={"input": block.input + text})

    def _more_output(self, call_id: str, part: TextBlock | DataBlock) -> None:
        result = self._results[call_id]
        last = result.output[-1] if result.output else None
        if isinstance(last, TextBlock) and isinstance(part, TextBlock):
            joined = last.model_copy(update={"text": last.text + part.text})
            output = (*result.output[:-1], joined)
        else:
            output = (*result.output, part)
        self._results[call_id] = result.model_copy(update={"output": output})

    def _spoken(self, event: Any, role: Any, blocks: tuple[Block, ...]) -> list[ReplyEvent]:
        if role == "assistant":
            self._blocks = []
        if not blocks:
            return []
        self._count += 1
        name = _NAME if role == "assistant" else "tool"
        message = Message(id=f"{event.reply_id}-{self._count}", role=role, name=name, blocks=blocks)
        self.window.append(message)
        return [Spoken(message)]


def _as_context(messages: Sequence[Message]) -> list[Msg]:
    """Messages as an agent's own context; reasoning of earlier calls is left out."""
    shown = [
        message.model_copy(
            update={
                "blocks": tuple(b for b in message.blocks if not isinstance(b, ThinkingBlock)),
                "name": _NAME if message.role == "assistant" else message.name,
            }
        )
        for message in messages
    ]
    return [from_neutral(message) for message in shown if message.blocks]
