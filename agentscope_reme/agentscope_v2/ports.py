"""The three model ports over AgentScope 2.x models."""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from pydantic import BaseModel

from agentscope_reme.agentscope_v2.agent_runs import AgentRunner
from agentscope_reme.agentscope_v2.answers import (
    last_response,
    model_failed,
    parsed,
    refuse_interrupted,
    usage_of,
)
from agentscope_reme.agentscope_v2.formats import supports_images
from agentscope_reme.agentscope_v2.formatter import as_prompt, for_images
from agentscope_reme.agentscope_v2.messages import from_neutral, to_scope_data
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock, Message
from agentscope_reme.ports import (
    AgentPort,
    ChatPort,
    ChatReply,
    EmbeddingPort,
    StructuredReply,
    space_name,
)

T = TypeVar("T", bound=BaseModel)

_BLOCKING: Final = frozenset({"DashScopeEmbeddingModel"})
"""Classes that wait for the network without yielding to the event loop: up to AgentScope 2.0.3 at
least; later ones use a thread themselves."""


def chat_port(model: ChatModelBase, formatter: Any = None) -> ChatPort:
    """A chat model of AgentScope 2.x as the core uses one.

    Args:
        model: any chat model, streaming or not.
        formatter: used instead of the model's own one, for this port only.
    """
    return _ChatModelPort(_formatted(model, formatter))


def agent_port(model: ChatModelBase, formatter: Any = None, *, name: str = "memory") -> AgentPort:
    """Runs real AgentScope 2.x agents on a chat model, a fresh one each time.

    Args:
        model: any chat model, streaming or not.
        formatter: used instead of the model's own one, for this port only.
        name: what the agent is called in its prompts.
    """
    return AgentRunner(_formatted(model, formatter), name)


def embedding_port(model: EmbeddingModelBase[Any]) -> EmbeddingPort:
    """An embedding model of AgentScope 2.x as the core uses one."""
    return _EmbeddingModelPort(model)


class _ChatModelPort:
    def __init__(self, model: ChatModelBase) -> None:
        self._model = model

    @property
    def supports_images(self) -> bool:
        return supports_images(self._model)

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        try:
            asked = [as_prompt(m, from_neutral(m)) for m in messages]
            response = await last_response(await for_images(self._model, messages)(asked))
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        refuse_interrupted(response)
        text = "\n".join(block.text for block in response.content if block.type == "text")
        if not text.strip():
            raise ModelFailed(
                self._model.model, "the model answered without words", "Try again later."
            )
        return ChatReply(text, usage_of(response.usage))

    async def structured(self, messages: Sequence[Message], output: type[T]) -> StructuredReply[T]:
        try:
            asked: list[Msg] = [as_prompt(m, from_neutral(m)) for m in messages]
            model = for_images(self._model, messages)
            response = await model.generate_structured_output(asked, output)
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        refuse_interrupted(response)
        return StructuredReply(parsed(output, response.content), usage_of(response.usage))


class _EmbeddingModelPort:
    def __init__(self, model: EmbeddingModelBase[Any]) -> None:
        self._model = model

    @property
    def space_id(self) -> str:
        model = self._model
        address = getattr(model.credential, "base_url", None)
        return space_name(type(model).__name__, model.model, model.dimensions, address)

    @property
    def embeds_images(self) -> bool:
        # AgentScope 2.0.3 knows it of DashScope's models, under another name.
        return bool(
            self._model.supports_multimodal or getattr(self._model, "_is_multimodal", False)
        )

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        try:
            asked = [self._input(item) for item in inputs]
            response = await self._respond(asked)
            vectors = [[float(number) for number in vector] for vector in response.embeddings]
        except ModelFailed:
            raise
        except Exception as error:  # every provider client has its own errors
            raise model_failed(self._model, error) from error
        widths = {len(vector) for vector in vectors}
        if len(vectors) != len(asked) or len(widths) > 1:
            raise ModelFailed(
                self._model.model,
                f"{len(asked)} inputs came back as {len(vectors)} vectors of widths {widths}",
                "Check the embedding model and its dimensions.",
            )
        if not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
            raise ModelFailed(
                self._model.model, "it returned a vector that is empty or not finite", "Try again."
            )
        return vectors

    async def _respond(self, asked: list[Any]) -> EmbeddingResponse:
        if any(cls.__name__ in _BLOCKING for cls in type(self._model).__mro__):
            # A loop of its own in a thread: the SDK behind it waits synchronously.
            return await asyncio.to_thread(lambda: asyncio.run(self._model(asked)))
        return await self._model(asked)

    def _input(self, item: str | DataBlock) -> Any:
        if isinstance(item, str):
            return item
        if not self.embeds_images:
            raise ModelFailed(
                item.media_type,
                f"{self._model.model} embeds text only",
                "Use a multimodal embedding model for images.",
            )
        return to_scope_data(item)


def _formatted(model: ChatModelBase, formatter: Any) -> ChatModelBase:
    if formatter is None:
        return model
    changed: Any = copy.copy(model)  # `formatter` is set by subclasses, not declared
    changed.formatter = formatter
    return cast("ChatModelBase", changed)
