"""`AgentPort` over `ReActAgent`: one fresh agent for each run, with nobody watching."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypeVar

from agentscope.agent import ReActAgent
from agentscope.formatter import FormatterBase
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from agentscope.tool import Toolkit
from pydantic import BaseModel, ValidationError

from agentscope_reme.agentscope_v1.formatter import for_images
from agentscope_reme.agentscope_v1.models import (
    FormattedModel,
    MeteredModel,
    model_failed,
    presentable,
    sees_images,
)
from agentscope_reme.agentscope_v1.tools import register_tools, show_pending_images
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message
from agentscope_reme.model_faults import in_plain_words
from agentscope_reme.ports import AgentRun, Tool

T = TypeVar("T", bound=BaseModel)


class QuietAgent(ReActAgent):
    """A `ReActAgent` that ends instead of chatting.

    The application's class hooks, which AgentScope keeps in one dictionary for all agents of a
    process, do not reach it: every kind has an empty dictionary of its own, set below.

    Attributes:
        out_of_calls: the run ended at its limit, not because the agent was done.
    """

    out_of_calls = False

    async def handle_interrupt(self, *_: Any, **__: Any) -> NoReturn:
        """Let a cancellation through: an apology as the result would be taken for an answer."""
        raise asyncio.CancelledError

    async def _reasoning(
        self, tool_choice: Literal["auto", "none", "required"] | None = None
    ) -> Msg:
        if tool_choice == "none":  # the structured value is there; words about it only cost
            return Msg(self.name, [], "assistant")
        await show_pending_images(self.toolkit, self.memory, vision=sees_images(self.formatter))
        msg: Msg = await super()._reasoning(tool_choice)
        return msg

    async def _summarizing(self) -> Msg:
        """At the limit the run is over; a summary would be one call more than allowed."""
        self.out_of_calls = True
        return Msg(self.name, [], "assistant")


for _moment in ReActAgent.supported_hook_types:
    setattr(QuietAgent, f"_class_{_moment}_hooks", OrderedDict())


class ModelAgent(FormattedModel):
    """Runs tool-using agents on a 1.x model.

    Args:
        model: streaming or not.
        formatter: how messages are written for it; by default that of the model's class.
        name: what the agents are called.
    """

    def __init__(
        self, model: ChatModelBase, formatter: FormatterBase | None = None, *, name: str = "memory"
    ) -> None:
        super().__init__(model, formatter)
        self._name = name

    @property
    def label(self) -> str:
        """The model and its formatter, for people."""
        return f"{self._model.model_name} with {type(self._formatter).__name__}"

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
        meter = MeteredModel(self._model)
        try:
            agent = self._agent(instructions, meter, tools, max_iters, messages)
            turns = presentable(messages, images=self.supports_images)
            async with asyncio.timeout(deadline):
                reply = await agent(turns, structured_model=output)
        except TimeoutError as error:
            raise ModelFailed(
                self._model.model_name,
                f"the agent was not done after {deadline} seconds",
                "Raise `Settings.agent_deadline_seconds`, or give it less to do.",
            ) from error
        except ModelFailed:
            raise
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        if agent.out_of_calls and not (output is not None and reply.metadata):
            raise self._out_of_calls(meter.calls)
        value = None if output is None else self._value(reply, output)
        return AgentRun(await _last_words(agent, reply), value, meter.usage, meter.calls)

    def _agent(
        self,
        instructions: str,
        model: ChatModelBase,
        tools: Sequence[Tool],
        max_iters: int,
        messages: Sequence[Message],
    ) -> QuietAgent:
        toolkit = Toolkit()
        register_tools(toolkit, tools)
        agent = QuietAgent(
            name=self._name,
            sys_prompt=instructions,
            model=model,
            formatter=for_images(self._formatter, messages),
            toolkit=toolkit,
            max_iters=max_iters,
        )
        agent.set_console_output_enabled(False)
        return agent

    def _out_of_calls(self, calls: int) -> ModelFailed:
        return ModelFailed(
            self._model.model_name,
            f"the agent was not done after {calls} model calls",
            "Raise `Settings.agent_max_iters`, or give it less to do; the work stays pending.",
        )

    def _value(self, reply: Msg, output: type[T]) -> T:
        try:
            return output.model_validate(reply.metadata)
        except ValidationError as error:
            raise ModelFailed(
                reply.metadata,
                f"the answer is no {output.__name__}: {in_plain_words(error)}",
                "Run it again.",
            ) from error


async def _last_words(agent: ReActAgent, reply: Msg) -> str:
    spoken = [reply, *reversed(await agent.memory.get_memory())]
    texts = (msg.get_text_content() for msg in spoken if msg.role == "assistant")
    return next((text for text in texts if text), "")
