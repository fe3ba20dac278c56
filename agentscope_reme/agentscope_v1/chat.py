"""`ChatPort` over a chat model of AgentScope 1.x."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from agentscope.model import ChatResponse
from pydantic import BaseModel, ValidationError

from agentscope_reme.agentscope_v1.formatter import for_images
from agentscope_reme.agentscope_v1.models import (
    FormattedModel,
    finished,
    model_failed,
    presentable,
    text_of,
    usage_of,
)
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.model_faults import in_plain_words
from agentscope_reme.ports import ChatReply, StructuredReply

T = TypeVar("T", bound=BaseModel)

_REFUSED = (400, 404, 422)  # what providers answer to a response format they do not know
_ASK_FOR_JSON = "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"


class _Unsupported(Exception):
    """The model cannot do structured output by itself."""


class ModelChat(FormattedModel):
    """Completion and structured output with a 1.x model and its formatter."""

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        """Answer in text.

        Raises:
            ModelFailed: the provider failed or answered no text.
        """
        answer = await self._ask(messages)
        text = text_of(answer)
        if not text.strip():
            raise ModelFailed(
                self._model.model_name, "the model answered no text", "Ask again, or more plainly."
            )
        return ChatReply(text, usage_of(answer))

    async def structured(self, messages: Sequence[Message], output: type[T]) -> StructuredReply[T]:
        """Answer with a value of `output`.

        A provider that refuses the structured form is asked once more for plain JSON.

        Raises:
            ModelFailed: the provider failed, or what it said is no such value.
        """
        try:
            answer = await self._ask(messages, output)
        except _Unsupported:
            return await self._plain_json(messages, output)
        value = answer.metadata if answer.metadata else _json_in(text_of(answer))
        return StructuredReply(self._parsed(value, output), usage_of(answer))

    async def _plain_json(self, messages: Sequence[Message], output: type[T]) -> StructuredReply[T]:
        schema = json.dumps(output.model_json_schema(), ensure_ascii=False)
        ask = Message(role="user", name="user", blocks=(TextBlock(text=_ASK_FOR_JSON + schema),))
        answer = await self._ask([*messages, ask])
        return StructuredReply(self._parsed(_json_in(text_of(answer)), output), usage_of(answer))

    async def _ask(
        self, messages: Sequence[Message], output: type[BaseModel] | None = None
    ) -> ChatResponse:
        prompt = await self._prompt(messages)
        wanted = {} if output is None else {"structured_model": output}
        try:
            return await finished(await self._model(prompt, **wanted))
        except ModelFailed:
            raise
        except Exception as error:  # every provider client has its own errors
            if output is not None and _refuses_structure(error):
                raise _Unsupported from error
            raise model_failed(self._model, error) from error

    async def _prompt(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        try:
            turns = presentable(messages, images=self.supports_images)
            formatter = for_images(self._formatter, messages)
            prompt: list[dict[str, Any]] = await formatter.format(turns)
        except Exception as error:  # a formatter reads files and addresses, and may be anybody's
            raise ModelFailed(
                type(self._formatter).__name__,
                f"the messages could not be formatted: {type(error).__name__}: {error!s:.500}",
                "Pass the formatter that belongs to the model; nothing saved is lost.",
            ) from error
        return prompt

    def _parsed(self, value: object, output: type[T]) -> T:
        try:
            return output.model_validate(value)
        except ValidationError as error:
            raise ModelFailed(
                value,
                f"the answer is no {output.__name__}: {in_plain_words(error)}",
                "Try again later; nothing saved is lost.",
            ) from error


def _refuses_structure(error: Exception) -> bool:
    return isinstance(error, TypeError | ValidationError) or (
        getattr(error, "status_code", None) in _REFUSED
    )


def _json_in(text: str) -> object:
    """The outermost JSON object of an answer, whatever fence or chatter stands around it."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if 0 <= start < end else None
    except ValueError:
        return None
