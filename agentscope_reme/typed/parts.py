"""What every piece of typed memory works with, and how a model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from agentscope_reme.clock import Clock
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.ports import ChatPort
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.settings import Settings
from agentscope_reme.tools.redaction import Redactor
from agentscope_reme.typed.index import NodeIndex
from agentscope_reme.typed.prompts import load_prompt

T = TypeVar("T", bound=BaseModel)

AGAIN = "It waits and is tried again by the next call."


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one typed memory.

    Attributes:
        index: where the nodes are.
        chat: the model that reads conversations; ``None`` leaves them waiting.
        clock: the source of "now".
        settings: limits and budgets.
        language: ``en`` or ``zh``, for prompts.
        failures: where failures are told that cost no call.
        redactor: takes secrets out of what a model writes.
        author: what nodes written by the model carry as their author.
    """

    index: NodeIndex
    chat: ChatPort | None
    clock: Clock
    settings: Settings
    language: str
    failures: FailureLog
    redactor: Redactor
    author: str = ""

    @property
    def prompt_tokens(self) -> int:
        """The room for the material of one prompt, in estimated tokens."""
        return self.settings.auto_memory_prompt_tokens // 2

    def clean(self, text: str) -> str:
        """What a model wrote, without secrets unless the settings allow them."""
        return text if self.settings.redact == "allow" else self.redactor.redact(text).text


async def ask(
    parts: Parts, budget: CallBudget, output: type[T], prompt: str, rules: str, **words: str
) -> T:
    """One structured answer of the model.

    Args:
        parts: whose model is asked.
        budget: one call is taken from it.
        output: the closed type that is wanted.
        prompt: the prompt with placeholders.
        rules: the system prompt.
        words: what the placeholders become.

    Raises:
        ModelFailed: there is no call left, no answer in time, or none that fits.
    """
    if parts.chat is None or not budget.spend():
        raise ModelFailed(prompt, "this call may ask no model any more", AGAIN)
    messages = [
        _message("system", load_prompt(rules, parts.language).template),
        _message("user", load_prompt(prompt, parts.language).substitute(words)),
    ]
    seconds = parts.settings.agent_deadline_seconds
    try:
        async with asyncio.timeout(seconds):
            return (await parts.chat.structured(messages, output)).value
    except TimeoutError as error:
        raise ModelFailed(prompt, f"no answer after {seconds:g} seconds", AGAIN) from error


def fitting(lines: Sequence[str], tokens: int) -> list[int]:
    """The positions of the lines that fit into so many estimated tokens, the first ones first."""
    kept = []
    for position, line in enumerate(lines):
        cost = estimate_tokens(line) + 1
        if cost <= tokens:
            kept.append(position)
            tokens -= cost
    return kept


def _message(role: str, text: str) -> Message:
    return Message.model_validate({"role": role, "name": role, "blocks": (TextBlock(text=text),)})
