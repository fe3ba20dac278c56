"""Recalled memory in a prompt: seen by the model, never part of the conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from agentscope.message import Msg, TextBlock, UserMsg

from agentscope_reme.agentscope_v2.messages import OURS, to_scope_data
from agentscope_reme.results import RecallResult


def recalled_message(found: RecallResult) -> Msg | None:
    """The message that shows what was recalled; ``None`` when there is nothing to show."""
    if not found.answer.strip() and not found.media:
        return None
    text = [TextBlock(text=found.answer)] if found.answer.strip() else []
    images = [to_scope_data(block) for block in found.media]
    return UserMsg("memory", [*text, *images], metadata={OURS: "recall"})


def injected(
    messages: Sequence[Msg],
    recalled: Msg,
    *,
    before: str | None,
    context_ids: Collection[str],
    images: bool,
) -> list[Msg]:
    """A copy of a prompt with the recalled message in it.

    It stands directly before the question it was recalled for, so it never comes between a tool
    call and its result and the prompt keeps one prefix through all steps of a reply. When
    compression took the question away, it stands before the rest of the conversation.

    Args:
        messages: the prompt.
        recalled: what `recalled_message` made.
        before: the id of the question.
        context_ids: the ids of the conversation's messages.
        images: whether the model takes images; they are left out otherwise.
    """
    if any(_shows_the_same(msg, recalled) for msg in messages):  # one memory, twice on one agent
        return list(messages)
    shown = _without_images(recalled) if not images else recalled
    place = _first(messages, {before} if before else ())
    if place is None:
        place = _first(messages, context_ids)
    at = len(messages) if place is None else place
    return [*messages[:at], shown, *messages[at:]] if shown.content else list(messages)


def _shows_the_same(msg: Msg, recalled: Msg) -> bool:
    ours = msg.metadata.get(OURS) == "recall"
    return ours and msg.get_text_content() == recalled.get_text_content()


def _first(messages: Sequence[Msg], ids: Collection[str]) -> int | None:
    return next((index for index, msg in enumerate(messages) if msg.id in ids), None)


def _without_images(msg: Msg) -> Msg:
    kept: list[Any] = [block for block in msg.content if block.type == "text"]
    return msg.model_copy(update={"content": kept})
