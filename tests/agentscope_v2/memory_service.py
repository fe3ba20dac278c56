"""A whole memory service in a few dictionaries: honest about ids, durable for one test."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel

from agentscope_reme.clock import Clock
from agentscope_reme.messages import RECALL_TAG, DataBlock, Message, TextBlock
from agentscope_reme.ports import MemoryService, Tool, ToolOutput
from agentscope_reme.results import (
    AutoMemoryResult,
    RecallResult,
    RecordResult,
    SearchResult,
    StatusResult,
)
from agentscope_reme.settings import Settings
from agentscope_reme.testing import FakeClock


class Query(BaseModel):
    query: str


class Fact(BaseModel):
    text: str


class InMemoryService(MemoryService):
    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.media: list[DataBlock] = []
        self.sessions: dict[str, dict[str, Message]] = {}
        self.archives: dict[str, dict[str, Message]] = {}
        self.calls: Counter[str] = Counter()
        self.distilled_after: list[bool] = []
        self.failures: list[tuple[str, BaseException]] = []
        self.failing: dict[str, Exception] = {}
        self.hold: asyncio.Event | None = None
        self.recorded = asyncio.Event()
        self.asked = asyncio.Event()
        self.limits = Settings()

    @property
    def settings(self) -> Settings:
        return self.limits

    @property
    def clock(self) -> Clock:
        return FakeClock()

    @property
    def language(self) -> str:
        return "en"

    async def start(self) -> None:
        self._called("start")

    async def close(self) -> None:
        self._called("close")

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        self._called("search")
        found = [fact for word, fact in self.known.items() if word in query]
        return SearchResult(answer="\n".join(found[:limit]) or "Nothing found.")

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        self._called("recall")
        self.asked.set()
        if self.hold is not None:
            await self.hold.wait()
        found = [fact for word, fact in self.known.items() if word in query]
        if not found:
            return RecallResult()
        text = f"<{RECALL_TAG}>\n" + "\n".join(found) + f"\n</{RECALL_TAG}>"
        return RecallResult(
            answer=text[: budget_tokens * 4], media=self.media if media else [], evidence=True
        )

    async def record(
        self, session_id: str, messages: Sequence[Message], *, distil: bool = True
    ) -> RecordResult:
        self._called("record")
        self.distilled_after.append(distil)
        log = self.sessions.setdefault(session_id, {})
        appended = 0
        for message in messages:
            assert message.id is not None
            if log.get(message.id) != message:
                log[message.id] = message
                appended += 1
        self.recorded.set()
        return RecordResult(appended=appended, duplicates=len(messages) - appended)

    def flush_soon(self, session_id: str) -> None:
        self._called("flush_soon")

    async def archive(self, session_id: str, messages: Sequence[Message]) -> str:
        self._called("archive")
        kept = self.archives.setdefault(session_id, {})
        for message in messages:
            assert message.id is not None
            kept.setdefault(message.id, message)
        return f"session/agentscope/{session_id}.jsonl"

    async def auto_memory(
        self, messages: Sequence[Message] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        return AutoMemoryResult(pending=True)

    async def summarise(self, messages: Sequence[Message], *, previous_summary: str = "") -> str:
        return previous_summary

    async def status(self) -> StatusResult:
        return StatusResult()

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        offered = [
            Tool("memory_search", "Search memory.", Query, self._search_tool, read_only=True),
            Tool("remember", "Keep a fact.", Fact, self._remember_tool),
        ]
        return [
            tool
            for tool in offered
            if (include is None or tool.name in include) and (tool.read_only or not read_only)
        ]

    def report_failure(self, where: str, error: BaseException) -> None:
        self.failures.append((where, error))

    def log(self, session_id: str) -> list[Message]:
        return list(self.sessions.get(session_id, {}).values())

    def said(self, session_id: str) -> list[tuple[str, str]]:
        return [(message.role, message.text) for message in self.log(session_id)]

    async def _search_tool(self, arguments: Query) -> ToolOutput:
        found = await self.search(arguments.query)
        return ToolOutput(found.answer, blocks=tuple(self.media))

    async def _remember_tool(self, arguments: Fact) -> ToolOutput:
        self.known[arguments.text.split()[0]] = arguments.text
        return ToolOutput("Kept.", blocks=(TextBlock(text=" Thank you."),))

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if name in self.failing:
            raise self.failing[name]
