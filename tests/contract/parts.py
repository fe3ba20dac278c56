"""What the contract tests hand to a port."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from agentscope_reme.messages import DataBlock, Message, TextBlock
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.testing import Request, Structured
from agentscope_reme.testing.script import Plain

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = DataBlock(media_type="image/png", data=PIXEL)


class Card(BaseModel):
    title: str


class Fact(BaseModel):
    text: str


def said(*blocks: str | DataBlock, role: str = "user") -> Message:
    made = [TextBlock(text=block) if isinstance(block, str) else block for block in blocks]
    return Message.model_validate({"role": role, "name": "Ann", "blocks": made})


class Notebook:
    """A tool that keeps what it is told."""

    def __init__(self) -> None:
        self.facts: list[str] = []

    @property
    def tools(self) -> list[Tool]:
        return [Tool("remember", "Keep a fact.", Fact, self._remember)]

    async def _remember(self, fact: Fact) -> ToolOutput:
        self.facts.append(fact.text)
        return ToolOutput(f"Kept: {fact.text}")


def card_when_asked(request: Request) -> Plain:
    """The card as soon as one is wanted: some releases ask inside the run, others after it."""
    wanted = any("generate" in name.casefold() for name in request.tool_names)
    return Structured({"title": "Tea"}) if wanted or request.output is not None else "Kept."


class Never:
    """A step that is asked and does not answer."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def __call__(self, _: Request) -> str:
        self.asked.set()
        await asyncio.Event().wait()
        return "late"
