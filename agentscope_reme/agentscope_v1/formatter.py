"""`ReMeFormatter` for AgentScope 1.x: a conversation with images, for any provider."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import agentscope.formatter
from agentscope.formatter import FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme.agentscope_v1.marks import OURS, ours
from agentscope_reme.agentscope_v1.messages import from_neutral, to_neutral
from agentscope_reme.context.interleaved import Interleaved, head_of, is_visible
from agentscope_reme.messages import DataBlock, Message

PROMPT: Final = ours("prompt")
"""Metadata of a message that is no turn of a conversation: it gets no speaker and no time."""


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

    def __init__(self, formatter: FormatterBase | None = None) -> None:
        self.formatter: FormatterBase = formatter or OpenAIChatFormatter()
        for flag in ("support_tools_api", "support_multiagent", "supported_blocks"):
            setattr(self, flag, getattr(self.formatter, flag, None))
        self.support_vision = bool(getattr(self.formatter, "support_vision", False))

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
        conversation = Interleaved(most_images=None if self.support_vision else 0)
        for msg in turns:
            neutral = to_neutral(msg)
            if _is_ours(msg):
                conversation.add_prompt(neutral.blocks)
            else:
                conversation.add_turn(head_of(neutral), neutral.blocks)
        if not conversation.blocks:
            return []
        last = to_neutral(turns[-1])
        name = turns[0].name if len({msg.name for msg in turns}) == 1 else "user"
        message = Message(role="user", name=name, blocks=conversation.blocks)
        return [from_neutral(message.model_copy(update={"created_at": last.created_at}))]


def for_images(formatter: FormatterBase, messages: Sequence[Message]) -> FormatterBase:
    """The formatter for these messages: wrapped when they show images."""
    if isinstance(formatter, ReMeFormatter) or not getattr(formatter, "support_vision", False):
        return formatter
    shown = any(is_visible(block) for message in messages for block in message.blocks)
    return ReMeFormatter(formatter) if shown else formatter


def _is_turn(msg: Msg) -> bool:
    kinds = {block["type"] for block in msg.get_content_blocks()}
    return msg.role != "system" and kinds.isdisjoint(("tool_use", "tool_result"))


def _is_ours(msg: Msg) -> bool:
    return bool((msg.metadata or {}).get(OURS))


def _shows(msg: Msg) -> bool:
    blocks = to_neutral(msg).blocks
    return any(isinstance(block, DataBlock) and is_visible(block) for block in blocks)


def _in_order(formatter: FormatterBase) -> FormatterBase:
    """A formatter that keeps text and images in their order, with the settings of the given one."""
    name = type(formatter).__name__
    if "MultiAgent" not in name:
        return formatter
    cls = getattr(agentscope.formatter, name.replace("MultiAgent", "Chat"), None)
    if cls is None:
        return formatter
    wanted = inspect.signature(cls.__init__).parameters
    made: FormatterBase = cls(**{k: v for k, v in vars(formatter).items() if k in wanted})
    return made
