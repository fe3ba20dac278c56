"""Background agent runs on AgentScope 2.x: a fresh `Agent` each time, silent and limited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import agentscope.agent
from agentscope.agent import Agent, ContextConfig, ReActConfig
from agentscope.event import EventType
from agentscope.message import Msg, SystemMsg, UserMsg
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.tool import Toolkit
from pydantic import BaseModel

from agentscope_reme.agentscope_v2.answers import model_failed, parsed, refuse_interrupted, usage_of
from agentscope_reme.agentscope_v2.formats import supports_images
from agentscope_reme.agentscope_v2.formatter import as_prompt, for_images
from agentscope_reme.agentscope_v2.messages import from_neutral, in_words
from agentscope_reme.agentscope_v2.tools import as_toolbase
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import (
    Block,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from agentscope_reme.ports import AgentRun, Tool, Usage

T = TypeVar("T", bound=BaseModel)

MOST_IMAGES: Final = 1000  # the caller limits images; AgentScope would drop the oldest above 5
_ASK: Final = "Now give the result in the required form."
_TAKES_SCHEMA: Final = "structured_schema" in inspect.signature(Agent.reply).parameters


class AgentRunner:
    """The `AgentPort` of AgentScope 2.x; it keeps no state between runs."""

    def __init__(self, model: ChatModelBase, name: str) -> None:
        self._model = model
        self._name = name

    @property
    def supports_images(self) -> bool:
        """Whether image blocks in the messages reach the model."""
        return supports_images(self._model)

    @property
    def context_tokens(self) -> int | None:
        """The context size the model was made with, in tokens."""
        return self._model.context_size

    @property
    def label(self) -> str:
        """The model and its formatter, for people."""
        formatter = type(getattr(self._model, "formatter", None)).__name__
        return f"{self._model.model} with {formatter}"

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
        """Run until the agent stops calling tools; see `AgentPort.run`."""
        try:
            model = for_images(self._model, messages)
            run = _Run(model, self._name, instructions, messages, tools, output, max_iters)
        except Exception as error:  # AgentScope refuses a message or a tool
            raise model_failed(self._model, error) from error
        cancelled = _cancellations()
        try:
            async with asyncio.timeout(deadline):
                try:
                    return await run.finish()
                finally:  # AgentScope may answer a cancelled run as if it had ended, or failed
                    if _cancellations() > cancelled:
                        raise asyncio.CancelledError
        except TimeoutError as error:
            raise self._too_late(deadline) from error

    def _too_late(self, deadline: float | None) -> ModelFailed:
        return ModelFailed(
            self._model.model,
            f"the agent run was not done after {deadline} seconds",
            "Raise `Settings.agent_deadline_seconds`, or give less to do; the work stays pending.",
        )


def _cancellations() -> int:
    """How often the running task was cancelled so far; a swallowed cancellation counts."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0


class _OutOfCallsError(Exception):
    """The agent wanted one more model call than it may make."""


class _Meter(MiddlewareBase):
    """Counts model calls and tokens of one run, refuses calls above the limit, and compressions.

    AgentScope's own iteration limit is not enough: newer releases make one more call beyond it.
    """

    def __init__(self, most_calls: int) -> None:
        self._most_calls = most_calls
        self._cancelled = _cancellations()
        self.calls = 0
        self.usage = Usage()
        self.exceeded = False

    async def on_model_call(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> Any:
        if _cancellations() > self._cancelled:
            raise asyncio.CancelledError  # early releases take it for the failure of a tool
        if self.calls >= self._most_calls:
            raise _OutOfCallsError
        self.calls += 1
        return await next_handler(**input_kwargs)

    async def on_reply(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> AsyncGenerator[Any, None]:
        async for item in next_handler(**input_kwargs):
            kind = getattr(item, "type", None)
            if kind == EventType.MODEL_CALL_END:
                self.add(usage_of(item))
            self.exceeded = self.exceeded or kind == EventType.EXCEED_MAX_ITERS
            yield item

    async def on_compress_context(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> None:
        """Never: a card made from a summary of its evidence would be worth nothing.

        A prompt that is too long is refused by the provider then, and the work stays pending.
        """

    def add(self, usage: Usage) -> None:
        self.usage = Usage(
            self.usage.input_tokens + usage.input_tokens,
            self.usage.output_tokens + usage.output_tokens,
        )


class _Run(Generic[T]):
    def __init__(
        self,
        model: ChatModelBase,
        name: str,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        output: type[T] | None,
        max_iters: int,
    ) -> None:
        self._model = model
        self._output = output
        self._instructions = instructions
        self._inputs = [_as_input(message, name) for message in messages]
        self._meter = _Meter(max_iters)
        self._max_iters = max_iters
        self._agent = Agent(
            name=name,
            system_prompt=instructions,
            model=model,
            toolkit=Toolkit(tools=[as_toolbase(tool) for tool in tools]),
            middlewares=[self._meter],
            # The last of the allowed calls belongs to the structured answer, where there is one.
            react_config=react_config(max_iters - 1 if output else max_iters),
            context_config=with_fields(ContextConfig, max_image_num=MOST_IMAGES),
            **without_injection(),
        )

    async def finish(self) -> AgentRun[T]:
        if self._output is None:
            text = _text(await self._reply())
            self._refuse_exceeded()
            return AgentRun(text, None, self._meter.usage, self._meter.calls)
        if _TAKES_SCHEMA:
            final = await self._reply(structured_schema=self._output)
            self._refuse_exceeded()
            value: object = final.structured_output
        else:
            if self._max_iters > 1:
                await self._reply()
            value = await self._structured(self._output)
        output = parsed(self._output, value)
        return AgentRun(self._spoken(), output, self._meter.usage, self._meter.calls)

    async def _reply(self, **options: Any) -> Msg:
        try:
            final: Msg = await self._agent.reply(self._inputs or None, **options)
        except _OutOfCallsError as error:
            raise self._exceeded() from error
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        refuse_interrupted(final)
        return final

    async def _structured(self, output: type[T]) -> object:
        """What AgentScope before 2.0.5 cannot do inside a reply: one more call, for the form."""
        history = self._agent.state.context or self._inputs
        prompt = [SystemMsg("system", self._instructions), *history, UserMsg("user", _ASK)]
        self._meter.calls += 1
        try:
            response = await self._model.generate_structured_output(prompt, output)
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        self._meter.add(usage_of(response.usage))
        return response.content

    def _refuse_exceeded(self) -> None:
        if self._meter.exceeded:
            raise self._exceeded()

    def _exceeded(self) -> ModelFailed:
        return ModelFailed(
            self._model.model,
            f"the agent was not done after {self._meter.calls} model calls",
            "Raise `Settings.agent_max_iters`, or give it less to do; the work stays pending.",
        )

    def _spoken(self) -> str:
        last = self._agent.state.context[-1:]
        return "\n".join(_text(msg) for msg in last if msg.name == self._agent.name)


def _text(msg: Msg) -> str:
    return msg.get_text_content() or ""


def _as_input(message: Message, agent_name: str) -> Msg:
    """The message as an agent accepts it: spoken by somebody else, without tool blocks."""
    role = "assistant" if message.role == "assistant" else "user"
    name = f"{message.name} (earlier)" if message.name == agent_name else message.name
    blocks = tuple(
        _as_words(block) for block in message.blocks if not isinstance(block, ThinkingBlock)
    )
    shown = message.model_copy(update={"role": role, "name": name, "blocks": blocks})
    return as_prompt(message, from_neutral(shown))


def _as_words(block: Block) -> Block:
    if isinstance(block, ToolCallBlock | ToolResultBlock):
        return TextBlock(text=in_words(block))
    return block


def react_config(max_iters: int) -> ReActConfig:
    """So many rounds; a cancellation stays one."""
    return with_fields(
        ReActConfig,
        max_iters=max_iters,
        structured_output_grace_iters=1,
        interruption_raise_cancelled_error=True,
    )


C = TypeVar("C", bound=BaseModel)


def with_fields(kind: type[C], **values: Any) -> C:
    """A configuration with those of the values that this release of AgentScope knows."""
    return kind(**{name: value for name, value in values.items() if name in kind.model_fields})


def without_injection() -> dict[str, Any]:
    """The argument that keeps AgentScope's clock out of a context, where a release has it."""
    config = getattr(agentscope.agent, "InjectionConfig", None)
    return {"injection_config": config(inject_runtime_state=False)} if config else {}
