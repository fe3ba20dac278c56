"""Calling 1.x chat models: their formatter, their answer, their cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

import agentscope.formatter
from agentscope.formatter import FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase, ChatResponse

from agentscope_reme.agentscope_v1.formatter import PROMPT
from agentscope_reme.agentscope_v1.messages import describe, from_neutral
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock, ThinkingBlock
from agentscope_reme.model_faults import OWN_MODEL, in_words, is_programming_error
from agentscope_reme.ports import Usage

_FORMATTERS: Final = {
    "OpenAIChatModel": "OpenAIChatFormatter",
    "OpenAIResponseModel": "OpenAIResponseChatFormatter",
    "DashScopeChatModel": "DashScopeChatFormatter",
    "AnthropicChatModel": "AnthropicChatFormatter",
    "GeminiChatModel": "GeminiChatFormatter",
    "OllamaChatModel": "OllamaChatFormatter",
}


def formatter_for(model: ChatModelBase, formatter: FormatterBase | None = None) -> FormatterBase:
    """The given formatter, or the plain chat formatter of the model's own class.

    A subclass gets its parent's; a class nobody knows gets the OpenAI one, the form most
    compatible providers take. By name, because releases differ in which classes they have.
    """
    if formatter is not None:
        return formatter
    for cls in type(model).__mro__:
        name = _FORMATTERS.get(cls.__name__)
        found = getattr(agentscope.formatter, name, None) if name else None
        if found is not None:
            made: FormatterBase = found()
            return made
    return OpenAIChatFormatter()


def sees_images(formatter: FormatterBase) -> bool:
    """Whether image blocks survive the formatter."""
    return bool(getattr(formatter, "support_vision", False))


class FormattedModel:
    """A 1.x model with the formatter that writes messages for it.

    Args:
        model: streaming or not.
        formatter: how messages are written for it; by default that of the model's class.
    """

    def __init__(self, model: ChatModelBase, formatter: FormatterBase | None = None) -> None:
        self._model = model
        self._formatter = formatter_for(model, formatter)

    @property
    def supports_images(self) -> bool:
        """Whether image blocks reach the model."""
        return sees_images(self._formatter)


def presentable(messages: Sequence[Message], *, images: bool) -> list[Msg]:
    """1.x messages that are safe to send to a provider.

    Reasoning is left out. A binary goes along as Base64 or as a web address; local files are named
    in words, because some formatters upload or inline whatever path they meet.

    Args:
        messages: the turns, oldest first.
        images: whether the formatter passes images on.
    """
    return [
        _as_prompt(message, from_neutral(_presentable(message, images))) for message in messages
    ]


def _as_prompt(message: Message, msg: Msg) -> Msg:
    """Marks what never had a time as no turn of a conversation; see `ReMeFormatter`."""
    if message.created_at is None and message.created_at_text is None:
        msg.metadata = dict(PROMPT)
    return msg


def _presentable(message: Message, images: bool) -> Message:
    blocks = []
    for block in message.blocks:
        if isinstance(block, ThinkingBlock):
            continue
        if isinstance(block, DataBlock) and not (images and _travels(block)):
            block = TextBlock(text=describe(block))
        blocks.append(block)
    return message.model_copy(update={"blocks": tuple(blocks)})


def _travels(block: DataBlock) -> bool:
    return bool(block.data) or (block.url or "").startswith(("http://", "https://"))


class MeteredModel(ChatModelBase):
    """A model that counts what passes through it.

    Attributes:
        calls: how often it was asked.
        usage: the tokens of all finished answers together.
    """

    def __init__(self, model: ChatModelBase) -> None:
        super().__init__(model.model_name, model.stream)
        self._model = model
        self.calls = 0
        self.usage = Usage()

    async def __call__(
        self, *args: Any, **kwargs: Any
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Ask the model behind it."""
        self.calls += 1
        answer = await self._model(*args, **kwargs)
        if isinstance(answer, ChatResponse):
            self._add(answer)
            return answer
        return self._metered(answer)

    async def _metered(
        self, chunks: AsyncGenerator[ChatResponse, None]
    ) -> AsyncGenerator[ChatResponse, None]:
        last = None
        async for chunk in chunks:
            last = chunk if chunk.usage is not None or last is None else last
            yield chunk
        if last is not None:
            self._add(last)

    def _add(self, answer: ChatResponse) -> None:
        spent = usage_of(answer)
        self.usage = Usage(
            self.usage.input_tokens + spent.input_tokens,
            self.usage.output_tokens + spent.output_tokens,
        )


async def finished(answer: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    """The whole answer: chunks of 1.x accumulate, so the last one says everything.

    Raises:
        ModelFailed: the stream ended without a chunk.
    """
    if isinstance(answer, ChatResponse):
        return answer
    last: ChatResponse | None = None
    async for chunk in answer:
        last = chunk
    if last is None:
        raise ModelFailed("", "the model answered nothing at all", "Ask again.")
    return last


def usage_of(answer: ChatResponse) -> Usage:
    """What an answer cost, as far as the provider said."""
    if answer.usage is None:
        return Usage()
    return Usage(int(answer.usage.input_tokens or 0), int(answer.usage.output_tokens or 0))


def text_of(answer: ChatResponse) -> str:
    """The spoken words of an answer, without reasoning and tool calls."""
    return "\n".join(str(block["text"]) for block in answer.content if block["type"] == "text")


def model_failed(model: ChatModelBase, error: BaseException) -> ModelFailed:
    """The error that stands for whatever a provider's client raised."""
    told = f"{type(error).__name__}: {in_words(error)}"
    if is_programming_error(error):
        return ModelFailed(model.model_name, f"{told}; the model object raised it", OWN_MODEL)
    return ModelFailed(
        model.model_name,
        f"the model call failed with {told}",
        "Check the model's address, key and quota; nothing saved is lost.",
    )
