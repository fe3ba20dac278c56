"""One search tool and one writing tool, as a memory offers them, for the stand-in to use."""

from __future__ import annotations

from pydantic import BaseModel

from agentscope_reme.messages import Message
from agentscope_reme.ports import Tool, ToolOutput

HIT = """========== daily/2026-06-18/tea.md:3-4 [score=0.0164] 2026-06-18 tea ==========
- 2026-06-18 09:00 Mira: Green tea needs water of 75 degrees."""
QUESTION = "How many degrees for green tea?"
ANSWER = 'From memory: "Mira: Green tea needs water of 75 degrees." (daily/2026-06-18/tea.md:3-4)'
INSTRUCTIONS = "Keep the daily memory of one person."
CONVERSATION = Message.from_dict(
    {
        "role": "user",
        "content": "Day: 2026-06-18\n\n<conversation>\n"
        "[Mira @ 2026-06-18T09:00:00] Green tea needs water of 75 degrees.\n</conversation>",
    }
)


class SearchArguments(BaseModel):
    query: str
    limit: int = 5


class WriteArguments(BaseModel):
    name: str
    description: str
    content: str


class Verdict(BaseModel):
    summary: str
    tags: list[str]


class Recorder:
    """Remembers what the tools were called with."""

    def __init__(self) -> None:
        self.queries: list[SearchArguments] = []
        self.cards: list[WriteArguments] = []

    def tools(self) -> list[Tool]:
        return [
            Tool("memory_search", "Search.", SearchArguments, self._search, read_only=True),
            Tool("daily_write", "Write a card.", WriteArguments, self._write),
        ]

    async def _search(self, arguments: SearchArguments) -> ToolOutput:
        self.queries.append(arguments)
        return ToolOutput(HIT)

    async def _write(self, arguments: WriteArguments) -> ToolOutput:
        self.cards.append(arguments)
        return ToolOutput("Wrote the card.")
