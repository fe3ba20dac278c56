"""What the core asks of a language model: an answer, a run with tools, a conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from agentscope_reme.messages import Message
from agentscope_reme.ports.tools import Tool

T = TypeVar("T", bound=BaseModel)


class ClosedAnswer(BaseModel):
    """What a model answers in a closed form: only these fields are asked for and read."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        str_strip_whitespace=True,
        json_schema_extra={"additionalProperties": False},
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; 0 when it reported nothing."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One finished model answer."""

    text: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class StructuredReply(Generic[T]):
    """One model answer, parsed into the type that was asked for."""

    value: T
    usage: Usage = Usage()


class ChatPort(Protocol):
    """A chat model: plain completion and structured output."""

    @property
    def supports_images(self) -> bool:
        """Whether image blocks in the messages reach the model."""

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        """Answer the messages with text.

        Raises:
            ModelFailed: the provider failed or answered nothing.
        """

    async def structured(self, messages: Sequence[Message], output: type[T]) -> StructuredReply[T]:
        """Answer with a value of the closed type `output`.

        Raises:
            ModelFailed: the provider failed, or the answer is not such a value.
        """


@dataclass(frozen=True, slots=True)
class AgentRun(Generic[T]):
    """How one background agent run ended.

    ``output`` is set when an output type was asked for.
    """

    text: str
    output: T | None = None
    usage: Usage = Usage()
    calls: int = 0


class AgentPort(Protocol):
    """Runs a tool-using agent once; every run uses a fresh agent."""

    @property
    def supports_images(self) -> bool:
        """Whether image blocks in the messages reach the model."""

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
        """Run until the agent stops calling tools.

        Args:
            instructions: the system prompt.
            messages: the input turns, oldest first.
            tools: what the agent may call.
            output: a closed type the final answer must have, or ``None`` for text.
            max_iters: the most model calls this run may make.
            deadline: seconds after which the run is cancelled; ``None`` for no limit.

        Raises:
            ModelFailed: the provider failed, the output is not usable, or the agent was not done
                when the deadline passed or all its calls were made; its work stays pending.
        """


@runtime_checkable
class KnowsItsWindow(Protocol):
    """What an `AgentPort` can say beside that: how much its model takes at once."""

    @property
    def context_tokens(self) -> int | None:
        """The model's context window in tokens; ``None`` when nobody knows."""


def prompt_budget(agent: object, most_tokens: int) -> int:
    """How large the text of a prompt may be, in tokens: at most half of the model's window.

    The other half is for instructions, tools, what they answer, and what the model says.

    Args:
        agent: who is asked.
        most_tokens: the limit of the settings.
    """
    window = agent.context_tokens if isinstance(agent, KnowsItsWindow) else None
    if not isinstance(window, int) or window <= 0:
        return most_tokens
    return min(most_tokens, max(1, window // 2))


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of what a model is just saying; ``thinking`` when it reasons by itself."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """One whole message of a reply: what the model said and called, or what tools answered."""

    message: Message


ReplyEvent = Delta | Spoken

Refit = Callable[[Sequence[Message]], Awaitable[Sequence[Message] | None]]
"""Given a window before a call of the model: another window in its place, or ``None``."""


class ReplyPort(Protocol):
    """A model that answers in a conversation, with tools, while a person watches."""

    @property
    def supports_images(self) -> bool:
        """Whether image blocks in the messages reach the model."""

    def reply(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        max_iters: int = 50,
        refit: Refit | None = None,
    ) -> AsyncGenerator[ReplyEvent, None]:
        """Answer the last message, piece by piece, until no tool is called any more.

        A model's message is told whole before its tools run, their answers as they come. Who stops
        listening, or is cancelled, stops model and tools.

        Args:
            instructions: the system prompt.
            messages: the window, oldest first; calls and results in pairs.
            tools: what may be called.
            max_iters: the most model calls of one reply.
            refit: looks at the window before every call, and may replace it.

        Raises:
            ModelFailed: the provider failed; what was told before stands.
        """
