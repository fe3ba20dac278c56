"""The small seams between the core and everything outside it.

The AgentScope rooms implement the three model ports; the core never knows which framework, or
which line of it, is behind them. `MemoryService` is the other direction: what an adapter may ask
of a memory.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from agentscope_reme.messages import DataBlock, Message, TextBlock
from agentscope_reme.model_faults import in_plain_words

if TYPE_CHECKING:
    from agentscope_reme.clock import Clock
    from agentscope_reme.context.tool_results import ResultLimits
    from agentscope_reme.results import (
        AutoMemoryResult,
        RecallResult,
        RecordResult,
        SearchResult,
        StatusResult,
    )
    from agentscope_reme.settings import Settings

T = TypeVar("T", bound=BaseModel)


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
class ToolOutput:
    """What a tool tells the model: text, and blocks the model can see (images)."""

    text: str
    blocks: tuple[TextBlock | DataBlock, ...] = ()
    success: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """A function an agent may call.

    ``call`` is given with a function of a validated instance of ``args`` that never raises:
    failures are told in words with ``success=False``. The tool's own ``call`` takes what a model
    wrote, a mapping, and checks it first; arguments that do not fit are told in words too.
    """

    name: str
    description: str
    args: type[BaseModel]
    call: Callable[[Any], Awaitable[ToolOutput]]
    read_only: bool = False
    adapted: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What adapters made of it, under names of their own, so that it is made once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "call", _checking(self.name, self.args, self.call))

    def json_schema(self) -> dict[str, Any]:
        """The arguments as a JSON schema object, the way model providers want it; your own copy.

        It holds what a model needs and no more: every word of it is in the prompt of every call.
        """
        schema: dict[str, Any] = json.loads(_schema_of(self.args))
        return schema


@cache
def _schema_of(args: type[BaseModel]) -> str:
    """As text: reading it again is the quickest way to a copy."""
    schema: dict[str, Any] = _without_titles(args.model_json_schema())
    schema.pop("description", None)  # of the Python class; the tool has its own
    schema.setdefault("properties", {})
    return json.dumps(schema)


def _without_titles(schema: Any) -> Any:
    """Without the titles Pydantic makes of names, and without defaults that say nothing."""
    match schema:
        case {"properties": dict(properties), **rest}:
            kept = {name: _without_titles(field) for name, field in properties.items()}
            return {**_without_titles(rest), "properties": kept}
        case dict():
            return {
                key: _without_titles(value)
                for key, value in schema.items()
                if key != "title" and not (key == "default" and value is None)
            }
        case list():
            return [_without_titles(item) for item in schema]
    return schema


def _checking(
    name: str, args: type[BaseModel], work: Callable[[Any], Awaitable[ToolOutput]]
) -> Callable[[Any], Awaitable[ToolOutput]]:
    async def call(arguments: Any) -> ToolOutput:
        try:
            checked = args.model_validate(arguments)
        except ValidationError as error:
            return ToolOutput(_misfit(name, error), success=False)
        return await work(checked)

    return call


def _misfit(name: str, error: ValidationError) -> str:
    """Wrong arguments in words a model can act on: short, whatever it had passed."""
    told = in_plain_words(error, "arguments")
    return f"{name} was not run, its arguments do not fit: {told}. Correct them and call again."


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


class EmbeddingPort(Protocol):
    """Turns texts or images into vectors of one space."""

    @property
    def space_id(self) -> str:
        """Names the vector space: provider, model and settings. Vectors of two spaces never mix."""

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per input, in order, all of one width.

        Raises:
            ModelFailed: the provider failed.
        """


@runtime_checkable
class QueryEmbedding(Protocol):
    """What an `EmbeddingPort` can do beside: some models want questions marked as questions.

    For others `EmbeddingPort.embed` makes the vectors of both.
    """

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question, in the space of the passages.

        Raises:
            ModelFailed: the provider failed.
        """


@runtime_checkable
class PreparedEmbedding(Protocol):
    """What an `EmbeddingPort` can do beside: load what its first answer would wait for."""

    async def prepare(self) -> None:
        """Get ready; called once, in the background, before the first question.

        Raises:
            ModelFailed: it cannot.
        """


@runtime_checkable
class ImageEmbedding(Protocol):
    """What an `EmbeddingPort` can say beside: whether it takes pictures as well as texts."""

    @property
    def embeds_images(self) -> bool:
        """Whether `EmbeddingPort.embed` takes images with Base64 data, in the space of texts."""


def embeds_images(model: object) -> bool:
    """Whether an embedding model takes pictures."""
    return isinstance(model, ImageEmbedding) and model.embeds_images


def space_name(provider: str, model: str, dimensions: object, endpoint: object = None) -> str:
    """The `EmbeddingPort.space_id` of a model behind an address.

    Args:
        provider: whose protocol is spoken.
        model: what the provider calls the model.
        dimensions: the width that was asked for, as it was given.
        endpoint: where the provider is reached; equal names elsewhere may be other models.
            ``None`` where the provider itself is meant.
    """
    parts = urlsplit(str(endpoint or ""))
    host = parts.hostname or ""
    if parts.port is not None:
        host = f"{host}:{parts.port}"
    place = f"@{host}{parts.path.rstrip('/')}" if host else ""  # never the user or the query: keys
    return f"{provider}{place}/{model}/{dimensions}"


@runtime_checkable
class MemoryService(Protocol):
    """What adapters, hooks and services ask of a memory; `ReMe` is one."""

    @property
    def settings(self) -> Settings:
        """The limits in force."""

    @property
    def clock(self) -> Clock:
        """The clock in force."""

    @property
    def language(self) -> str:
        """``en`` or ``zh``: the language of prompts and notices."""

    async def start(self) -> object:
        """Open the workspace; calling it again does nothing. What it returns means nothing."""

    async def close(self) -> object:
        """Drain background work and close; calling it again does nothing."""

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Find passages."""

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        """Find passages and pack them for a prompt."""

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        """Save turns durably; idempotent by message id. Distillation follows in the background."""

    def flush_soon(self, session_id: str) -> None:
        """Submit, without waiting, the distillation of recorded turns that wait for more of them.

        For moments after which turns are gone from a window: call it before a compaction.
        """

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        """Keep, in full, what leaves a context window; returns the archive's path."""

    async def auto_memory(
        self, messages: Sequence[Any] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        """Distil turns into the daily card of their session."""

    async def summarise(self, messages: Sequence[Any], *, previous_summary: str = "") -> str:
        """One checkpoint text that stands for the messages; raises when it cannot be made.

        An implementation may also take ``extra_instruction``, a wish of the user, and
        ``archived``, the path under which the messages are kept in full.
        """

    async def status(self) -> StatusResult:
        """Counts, queues and every failure so far."""

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        """The memory tools an agent of this workspace may call."""

    def report_failure(self, where: str, error: BaseException) -> None:
        """Log once per kind of failure, count it and show it in `status()`."""


@runtime_checkable
class OffloadService(Protocol):
    """What a memory can do beside `MemoryService`: keep oversized tool results in files."""

    async def offload_tool_results(
        self, messages: Sequence[Any], limits: ResultLimits | None = None
    ) -> list[Message]:
        """The same messages with oversized tool results shortened, the whole of them in files.

        Raises:
            ReMeError: a payload could not be saved; nothing was changed.
        """


@runtime_checkable
class SummaryService(Protocol):
    """What a memory can do beside `MemoryService`: note in files what left a window."""

    def add_async_summary_task(self, messages: Sequence[Any]) -> None:
        """Submit messages for a summary in the background; they are safe when this returns.

        Raises:
            ReMeError: nothing was submitted.
        """
