"""`ReMeFormatter` for AgentScope 2.x: a conversation with images, for any provider."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import groupby
from typing import Any, cast

import agentscope.formatter
from agentscope.formatter import FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from pydantic import SerializeAsAny

from agentscope_reme.agentscope_v2.messages import OURS, from_neutral, to_neutral
from agentscope_reme.context.interleaved import Interleaved, head_of, is_visible
from agentscope_reme.messages import Message

PROMPT = {OURS: "prompt"}
"""Metadata of a message that is no turn of a conversation: it gets no speaker and no time."""

_TOOLS = frozenset({"tool_call", "tool_result", "hint"})


class ReMeFormatter(FormatterBase):
    """Wraps a provider's formatter so that a model sees a conversation as it was.

    Turns that follow each other become, when there is an image among them, one user message: each
    turn begins with its speaker and its time, text and images keep their order, and above each
    image stands its exact source. Everything else (system messages, tool calls and their results,
    turns without images) is left to the wrapped formatter. Formatters for several agents would
    move images behind the text: the chat formatter of the same provider takes their place.

    Args:
        formatter: the provider's formatter; the OpenAI one without it.
    """

    formatter: SerializeAsAny[FormatterBase]

    def __init__(self, formatter: FormatterBase | None = None, **fields: Any) -> None:
        wrapped = formatter or OpenAIChatFormatter()
        fields.setdefault("input_types", list(wrapped.input_types))
        super().__init__(formatter=wrapped, **fields)

    @property
    def supported_input_media_types(self) -> list[str]:
        """What the wrapped formatter takes."""
        kinds: list[str] = self.formatter.supported_input_media_types
        return kinds

    async def format(self, msgs: list[Msg], **kwargs: Any) -> list[dict[str, Any]]:
        """The messages as the provider takes them."""
        self.assert_list_of_msgs(msgs)
        if not any(_shows(msg) for msg in msgs):
            plain: list[dict[str, Any]] = await self.formatter.format(msgs, **kwargs)
            return plain
        rendered: list[Msg] = []
        for is_conversation, group in groupby(msgs, key=_is_turn):
            turns = list(group)
            if is_conversation and any(map(_shows, turns)):
                turns = self._one_message(turns)
            rendered.extend(turns)
        made: list[dict[str, Any]] = await _in_order(self.formatter).format(rendered, **kwargs)
        return made

    def _one_message(self, turns: Sequence[Msg]) -> list[Msg]:
        if all(map(_is_ours, turns)):
            return list(turns)
        sees = any(kind.startswith("image/") for kind in self.supported_input_media_types)
        conversation = Interleaved(most_images=None if sees else 0)
        for msg in turns:
            neutral = to_neutral(msg, as_given=True)
            if _is_ours(msg):
                conversation.add_prompt(neutral.blocks)
            else:
                conversation.add_turn(head_of(neutral), neutral.blocks)
        if not conversation.blocks:
            return []
        name = turns[0].name if len({msg.name for msg in turns}) == 1 else "user"
        return [from_neutral(Message(role="user", name=name, blocks=conversation.blocks))]


def for_images(model: ChatModelBase, messages: Sequence[Message]) -> ChatModelBase:
    """The model for these messages: with its formatter wrapped when they show images."""
    formatter = getattr(model, "formatter", None)
    if not isinstance(formatter, FormatterBase) or isinstance(formatter, ReMeFormatter):
        return model
    if not any(is_visible(block) for message in messages for block in message.blocks):
        return model
    changed: Any = copy.copy(model)  # `formatter` is set by subclasses, not declared
    changed.formatter = ReMeFormatter(formatter)
    return cast("ChatModelBase", changed)


def as_prompt(message: Message, msg: Msg) -> Msg:
    """The converted message, marked as none of a conversation when it never had a time."""
    if message.created_at is None and message.created_at_text is None:
        msg.metadata = {**msg.metadata, **PROMPT}
    return msg


def _is_turn(msg: Msg) -> bool:
    return msg.role != "system" and _TOOLS.isdisjoint(block.type for block in msg.content)


def _is_ours(msg: Msg) -> bool:
    return bool(msg.metadata.get(OURS))


def _shows(msg: Msg) -> bool:
    return any(map(is_visible, to_neutral(msg, as_given=True).blocks))


def _in_order(formatter: FormatterBase) -> FormatterBase:
    """A formatter that keeps text and images in their order, with the settings of the given one."""
    name = type(formatter).__name__
    if "MultiAgent" not in name:
        return formatter
    spellings = (name.replace("MultiAgent", "Chat"), name.replace("MultiAgent", ""))
    found = (getattr(agentscope.formatter, spelling, None) for spelling in spellings)
    cls = next((cls for cls in found if cls is not None), None)
    if cls is None:
        return formatter
    known = {field: getattr(formatter, field) for field in type(formatter).model_fields}
    made: FormatterBase = cls(**{k: v for k, v in known.items() if k in cls.model_fields})
    return made
