"""What AgentScope 2.x models answer, and how they fail, in the terms of the core."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from agentscope.model import ChatResponse
from pydantic import BaseModel, ValidationError

from agentscope_reme.errors import ModelFailed
from agentscope_reme.model_faults import OWN_MODEL, in_plain_words, in_words, is_programming_error
from agentscope_reme.ports import Usage

T = TypeVar("T", bound=BaseModel)


def model_failed(model: Any, error: Exception) -> ModelFailed:
    """What the core is told when a provider's client raised."""
    told = f"{type(error).__name__}: {in_words(error)}"
    if is_programming_error(error):
        return ModelFailed(model.model, f"{told}; the model object raised it", OWN_MODEL)
    return ModelFailed(
        model.model,
        f"the model call failed: {told}",
        "Check the model's key, address and limits; nothing saved is lost.",
    )


def parsed(output: type[T], value: object) -> T:
    """The value as the closed type, or `ModelFailed`."""
    try:
        return output.model_validate(value)
    except ValidationError as error:
        raise ModelFailed(
            value,
            f"the answer is not a {output.__name__}: {in_plain_words(error)}",
            "Try again later.",
        ) from error


async def last_response(response: Any) -> Any:
    """The whole answer: the response itself, or the last chunk of a stream."""
    if isinstance(response, ChatResponse):
        return response
    last = None
    async for chunk in response:
        last = chunk
    if last is None:
        raise ConnectionError("the stream ended before it said anything")
    return last


def refuse_interrupted(response: Any) -> None:
    """Raise the cancellation AgentScope swallowed: it answers a cancelled call with what it has."""
    try:
        reason = str(response.finished_reason)
    except (AttributeError, KeyError):  # early 2.0 releases: no such field, and a dict-like class
        return
    if reason == "interrupted":
        raise asyncio.CancelledError


def usage_of(usage: Any) -> Usage:
    """The reported tokens; zero without a report."""
    return Usage(usage.input_tokens, usage.output_tokens) if usage is not None else Usage()
