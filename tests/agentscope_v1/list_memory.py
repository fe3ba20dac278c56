"""A whole memory service on a list: what the adapters are tested against."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from agentscope_reme.clock import Clock
from agentscope_reme.errors import ModelRequired
from agentscope_reme.messages import RECALL_TAG, DataBlock, Message, TextBlock
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.results import (
    AutoMemoryResult,
    RecallResult,
    RecordResult,
    SearchResult,
    StatusResult,
)
from agentscope_reme.schema import SearchHit
from agentscope_reme.settings import Settings
from agentscope_reme.testing import FakeClock

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class SearchArgs(BaseModel):
    """Arguments of the search tool."""

    query: str
    limit: int = 5


class ListMemory:
    """Facts and sessions in lists; finds a fact when it shares a word with the query."""

    def __init__(self, facts: Sequence[str] = (), *, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._clock = FakeClock()
        self.facts = list(facts)
        self.sessions: dict[str, list[Message]] = {}
        self.archives: dict[str, list[Message]] = {}
        self.summaries: list[str] = []
        self.previous_summaries: list[str] = []
        self.recalls: list[str] = []
        self.failures: list[tuple[str, BaseException]] = []
        self.broken: dict[str, BaseException] = {}
        self.slow: set[str] = set()
        self.records = 0
        self.flushed: list[str] = []
        self.started = False

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def language(self) -> str:
        return "en"

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.started = False

    async def search(self, query: str, *, limit: int = 5) -> SearchResult:
        await self._call("search")
        hits = self._find(query)[:limit]
        return SearchResult(hits=hits, answer="\n".join(hit.text for hit in hits) or "nothing")

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        self.recalls.append(query)
        await self._call("recall")
        hits = self._find(query)
        if not hits:
            return RecallResult()
        text = "\n".join(f"2026-06-01 facts.md: {hit.text}" for hit in hits)
        return RecallResult(
            answer=f"<{RECALL_TAG}>\n{text}\n</{RECALL_TAG}>", hits=hits, evidence=True
        )

    async def record(
        self, session_id: str, messages: Sequence[Any], *, distil: bool = True
    ) -> RecordResult:
        await self._call("record")
        self.records += 1
        log = self.sessions.setdefault(session_id, [])
        return self._append(log, messages)

    def flush_soon(self, session_id: str) -> None:
        self.flushed.append(session_id)

    async def archive(self, session_id: str, messages: Sequence[Any]) -> str:
        await self._call("archive")
        self._append(self.archives.setdefault(session_id, []), messages)
        return f"session/agentscope/{session_id}.jsonl"

    async def auto_memory(
        self, messages: Sequence[Any] | None = None, *, session_id: str | None = None
    ) -> AutoMemoryResult:
        return AutoMemoryResult(pending=True)

    async def summarise(self, messages: Sequence[Any], *, previous_summary: str = "") -> str:
        self.previous_summaries.append(previous_summary)
        await self._call("summarise")
        if not self.summaries:
            raise ModelRequired("summarise")
        return self.summaries.pop(0)

    async def status(self) -> StatusResult:
        return StatusResult()

    def tools(self, *, include: Sequence[str] | None = None, read_only: bool = False) -> list[Tool]:
        async def find(args: SearchArgs) -> ToolOutput:
            return ToolOutput((await self.search(args.query, limit=args.limit)).answer)

        async def show(args: SearchArgs) -> ToolOutput:
            image = DataBlock(media_type="image/png", data=PIXEL, path="resource/cat.png")
            return ToolOutput("resource/cat.png, 70 bytes", blocks=(image,))

        async def note(args: SearchArgs) -> ToolOutput:
            self.facts.append(args.query)
            return ToolOutput("written")

        made = [
            Tool("memory_search", "Search memory.", SearchArgs, find, read_only=True),
            Tool("read_image", "Look at an image.", SearchArgs, show, read_only=True),
            Tool("write", "Write a file.", SearchArgs, note),
        ]
        return [
            tool
            for tool in made
            if (include is None or tool.name in include) and (tool.read_only or not read_only)
        ]

    def report_failure(self, where: str, error: BaseException) -> None:
        self.failures.append((where, error))

    def said(self, session_id: str) -> list[str]:
        """The spoken words of a recorded session."""
        return [message.text for message in self.sessions.get(session_id, [])]

    def _append(self, log: list[Message], messages: Sequence[Any]) -> RecordResult:
        known = {message.id for message in log}
        fresh = [message for message in messages if message.id not in known]
        log.extend(fresh)
        return RecordResult(appended=len(fresh), duplicates=len(messages) - len(fresh))

    def _find(self, query: str) -> list[SearchHit]:
        words = set(query.casefold().replace("?", "").split())
        return [
            SearchHit(
                chunk_id=str(n), path="facts.md", start_line=n, end_line=n, text=fact, score=1
            )
            for n, fact in enumerate(self.facts, 1)
            if words & set(fact.casefold().replace(".", "").split())
        ]

    async def _call(self, name: str) -> None:
        if name in self.slow:
            await asyncio.Event().wait()
        if name in self.broken:
            raise self.broken[name]


def say(text: str) -> Message:
    """A user's turn in the library's own form."""
    return Message(role="user", name="user", blocks=(TextBlock(text=text),))
