"""Recall: a search whose answer goes into a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.results import RecallResult
from agentscope_reme.schema import SearchHit
from agentscope_reme.steps.answers import pack_hits
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.search import SearchStep

_HITS: Final = 12
_LONGEST_QUERY: Final = 2000  # characters; a pasted document is not a question


class RecallArguments(BaseModel):
    """What a recall reads from its run; see `ReMe.recall`."""

    model_config = ConfigDict(frozen=True)

    query: str
    budget_tokens: int = Field(default=1500, ge=1)
    media: bool = False


class RecallStep(BaseStep[RecallResult]):
    """Packs the best passages for a prompt: wrapped, dated, de-duplicated, within budget."""

    language = Ref(lambda parts: parts.language)
    search = SearchStep()

    async def execute(self) -> RecallResult:
        """Run the recall described by the run's values; an empty query recalls nothing."""
        arguments = self.context.parse(RecallArguments)
        query = arguments.query.strip()[:_LONGEST_QUERY]
        if not query:
            return RecallResult(answer="")
        found = await self.search(
            self.context.application, query=query, limit=_HITS, expand_links=False
        )
        answer, kept, tokens = pack_hits(
            _without_overlap(found.hits),
            budget_tokens=arguments.budget_tokens,
            language=self.language,
        )
        return RecallResult(answer=answer, hits=kept, evidence=bool(kept), tokens=tokens)


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
