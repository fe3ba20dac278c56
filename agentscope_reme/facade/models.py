"""Models and messages of the installed AgentScope line, as ports and neutral messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput, BadMessage
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentPort, ChatPort, EmbeddingPort, ReplyPort

_READ_AT_ONCE = 200
"""Messages that hold the event loop up for a few milliseconds at most."""
_REMEDY = (
    "Pass an AgentScope model, or an object with the methods `run` (for what needs tools), "
    "`complete` and `structured`."
)
_EMBEDDING_REMEDY = (
    "Pass an AgentScope model, or an object with the method `embed` and the property `space_id`."
)
_REMEDIES = {
    "chat_model": _REMEDY,
    "embedding_model": _EMBEDDING_REMEDY,
    "formatter": "Pass the formatter of the model's provider.",
}


def chat_port_of(model: Any, formatter: Any) -> ChatPort | None:
    """A chat model as a `ChatPort`; an object that is one already stays itself.

    Raises:
        BadInput: it is no chat model of the installed AgentScope, or none is installed.
    """
    _refuse_class(model, "chat_model")
    if model is None or _has(model, "complete", "structured"):
        return cast("ChatPort | None", model)
    if _has(model, "run"):
        return None  # an agent port alone: it writes cards, but completes nothing
    _refuse_strangers(model, formatter)
    match installed_line():
        case 1:
            from agentscope_reme.agentscope_v1 import ports as first

            return first.chat_port(model, formatter)
        case 2:
            from agentscope_reme.agentscope_v2 import ports as second

            return second.chat_port(model, formatter)
        case None:
            raise BadInput(model, "no AgentScope is installed to run this model", _REMEDY)


def agent_port_of(model: Any, formatter: Any) -> AgentPort | None:
    """A chat model as an `AgentPort`; an object that is one already stays itself.

    Raises:
        BadInput: it is no chat model of the installed AgentScope, or none is installed.
    """
    _refuse_class(model, "chat_model")
    if model is None or _has(model, "run"):
        return cast("AgentPort | None", model)
    if _has(model, "complete", "structured"):
        return None  # a chat port alone: it completes, but runs no tools
    _refuse_strangers(model, formatter)
    match installed_line():
        case 1:
            from agentscope_reme.agentscope_v1 import ports as first

            return first.agent_port(model, formatter)
        case 2:
            from agentscope_reme.agentscope_v2 import ports as second

            return second.agent_port(model, formatter)
        case None:
            raise BadInput(model, "no AgentScope is installed to run this model", _REMEDY)


def reply_port_of(model: Any, formatter: Any) -> ReplyPort:
    """A chat model as a `ReplyPort`; an object that is one already stays itself.

    Raises:
        BadInput: it is no chat model of the installed AgentScope, or none is installed.
    """
    if _has(model, "reply", "supports_images"):
        return cast("ReplyPort", model)
    _refuse_strangers(model, formatter)
    match installed_line():
        case 1:
            from agentscope_reme.agentscope_v1 import chat_agent as first

            return first.ConversingModel(model, formatter)
        case 2:
            from agentscope_reme.agentscope_v2 import chat_agent as second

            return second.ConversingModel(model)
        case None:
            raise BadInput(model, "no AgentScope is installed to run this model", _REMEDY)


def embedding_port_of(model: Any) -> EmbeddingPort | None:
    """An embedding model as an `EmbeddingPort`; an object that is one already stays itself.

    Raises:
        BadInput: it is no embedding model of the installed AgentScope, or none is installed.
    """
    _refuse_class(model, "embedding_model")
    if model is None or _has(model, "embed", "space_id"):
        return cast("EmbeddingPort | None", model)
    _refuse_other(model, "embedding_model", "embedding", "EmbeddingModelBase")
    match installed_line():
        case 1:
            from agentscope_reme.agentscope_v1 import ports as first

            return first.embedding_port(model)
        case 2:
            from agentscope_reme.agentscope_v2 import ports as second

            return second.embedding_port(model)
        case None:
            raise BadInput(model, "no AgentScope is installed to run this model", _EMBEDDING_REMEDY)


def neutral(messages: Sequence[Any], *, as_given: bool = False) -> tuple[Message, ...]:
    """Messages of any form: neutral ones, plain dictionaries, AgentScope's own.

    Args:
        messages: oldest first.
        as_given: keep every address of an attachment, also one only this machine understands.

    Raises:
        BadMessage: one of them is something else.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise BadMessage(messages, "`messages` must be a list", "Pass a list of messages.")
    return tuple(_neutral(message, as_given) for message in messages)


async def all_neutral(messages: Sequence[Any], *, as_given: bool = False) -> tuple[Message, ...]:
    """`neutral` for a call that may bring a whole history: a long one is read in a thread.

    Raises:
        BadMessage: one of them is something else.
    """
    if not isinstance(messages, list | tuple) or len(messages) <= _READ_AT_ONCE:
        return neutral(messages, as_given=as_given)
    return await asyncio.to_thread(neutral, tuple(messages), as_given=as_given)


def _neutral(message: Any, as_given: bool) -> Message:
    if isinstance(message, Message):
        return message
    if isinstance(message, Mapping):
        return Message.from_dict(message)
    if type(message).__module__.split(".")[0] == "agentscope" or _has(message, "role", "content"):
        match installed_line():
            case 1:
                from agentscope_reme.agentscope_v1 import messages as first

                return first.to_neutral(message)
            case 2:
                from agentscope_reme.agentscope_v2 import messages as second

                return second.to_neutral(message, as_given=as_given)
            case None:
                pass
    raise BadMessage(
        message,
        "not a message",
        'Pass dictionaries such as {"role": "user", "content": "Hello"}, or AgentScope messages.',
    )


def refuse_formatter(formatter: Any) -> None:
    """Refuse what cannot be a formatter, whether or not there is a model.

    Raises:
        BadInput: it is something else.
    """
    if formatter is not None:
        _refuse_class(formatter, "formatter")
        _refuse_other(formatter, "formatter", "formatter", "FormatterBase")


def _refuse_strangers(model: Any, formatter: Any) -> None:
    _refuse_other(model, "chat_model", "model", "ChatModelBase")
    refuse_formatter(formatter)


def _refuse_class(value: Any, argument: str) -> None:
    if isinstance(value, type):
        raise BadInput(
            value.__name__, f"`{argument}` is a class", "Make an instance of it and pass that."
        )


def _refuse_other(value: Any, argument: str, module: str, base: str) -> None:
    """Refuse what is not of the installed line; without AgentScope the caller refuses."""
    line = installed_line()
    if line is None or isinstance(value, getattr(import_module(f"agentscope.{module}"), base)):
        return
    raise BadInput(
        _kind(value),
        f"`{argument}` is no `{base}` of the installed AgentScope {line}.x",
        _REMEDIES[argument],
    )


def _kind(value: Any) -> str:
    """What was given, without what it may hold: a model knows its key."""
    if isinstance(value, str):
        return value
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _has(value: Any, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)
