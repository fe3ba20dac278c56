"""Recall: a search whose answer goes into a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import ReMeError
from agentscope_reme.messages import DataBlock
from agentscope_reme.results import RecallResult
from agentscope_reme.schema import SearchHit
from agentscope_reme.steps.answers import pack_hits
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.keywords_only import not_heard
from agentscope_reme.steps.search import SearchStep
from agentscope_reme.steps.search_arguments import PROMPT
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.scope import AGENT
from agentscope_reme.vault.live_view import LiveView

_HITS: Final = 12
_PICTURES: Final = 3

LONGEST_QUERY: Final = 2000
"""Characters of a query that are looked at: a pasted document is not a question."""


class RecallArguments(BaseModel):
    """What a recall reads from its run; see `ReMe.recall`."""

    model_config = ConfigDict(frozen=True)

    query: str
    budget_tokens: int = Field(default=1500, ge=1)
    media: bool = False


class RecallStep(BaseStep[RecallResult]):
    """Packs the best passages for a prompt: wrapped, dated, de-duplicated, within budget."""

    reads_index = False  # `search` waits, and not for longer than a prompt may
    language = Ref(lambda parts: parts.language)
    settings = Ref(lambda parts: parts.settings)
    search = SearchStep()

    async def execute(self) -> RecallResult:
        """Run the recall described by the run's values; an empty query recalls nothing."""
        arguments = self.context.parse(RecallArguments)
        query = arguments.query.strip()[:LONGEST_QUERY]
        if not query:
            return RecallResult(answer="")
        found = await self.search(
            self.context.application,
            query=query,
            limit=_HITS,
            expand_links=arguments.media,
            deadline_ms=max(1, self.settings.recall_deadline_ms // 2),
            told=PROMPT,
            pictures=arguments.media,
        )
        answer, kept, tokens = pack_hits(
            _without_overlap(found.hits),
            budget_tokens=arguments.budget_tokens,
            language=self.language,
            notice=found.notice,
        )
        if found.notice not in answer:
            not_heard(self.context.application.metadata, to=PROMPT)
        linked = arguments.media and any(hit.outlinks or hit.media_type for hit in kept)
        media = await asyncio.to_thread(self._pictures, kept) if linked else []
        return RecallResult(
            answer=answer,
            hits=kept,
            evidence=bool(kept),
            tokens=tokens,
            media=media,
            keywords_only=found.keywords_only,
            notice=found.notice,
        )

    def _pictures(self, hits: Sequence[SearchHit]) -> list[DataBlock]:
        files = self._files()
        found = [hit.path for hit in hits if hit.media_type]
        links = [link.target_path for hit in hits for link in hit.outlinks]
        pictures: dict[str, DataBlock] = {}
        for path in dict.fromkeys([*links, *found]):
            if len(pictures) >= min(_PICTURES, self.settings.max_image_num):
                break
            with suppress(ReMeError):  # not a picture, too large, or gone: the text names it
                image = files.read_image(path)
                pictures[path] = DataBlock(media_type=image.media_type, data=image.data, path=path)
        return list(pictures.values())

    def _files(self) -> FileOperations:
        parts = self.context.application.components
        return FileOperations(
            LiveView(parts.vault, actor=AGENT.actor),
            parts.store,
            scope=AGENT,
            settings=parts.settings,
            clock=parts.clock,
            workspace=parts.workspace,
        )


def _without_overlap(hits: Sequence[SearchHit]) -> list[SearchHit]:
    kept: list[SearchHit] = []
    for hit in hits:
        if not any(_says_the_same(hit, earlier) for earlier in kept):
            kept.append(hit)
    return kept


def _says_the_same(hit: SearchHit, earlier: SearchHit) -> bool:
    if hit.text.strip() == earlier.text.strip():
        return True
    return (
        hit.path == earlier.path
        and hit.start_line >= earlier.start_line
        and hit.end_line <= earlier.end_line
    )
