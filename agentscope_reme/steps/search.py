"""Search: retrieve from both branches, fuse, filter, cut, expand links, show."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import date
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from agentscope_reme.errors import BadInput
from agentscope_reme.results import BranchCounts, SearchResult
from agentscope_reme.schema import SearchHit
from agentscope_reme.steps.answers import show_hits
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.fusion import VECTOR_WEIGHTS, Fusion, fuse, keep_branch_leaders
from agentscope_reme.steps.seen import SeenChunks
from agentscope_reme.store.base import SearchFilter

CANDIDATES_PER_HIT: Final = 5
MOST_CANDIDATES: Final = 200
RAW_LAYERS: Final = ("session",)
"""Layers that answer after the distilled ones."""

_SEEN: Final = "seen_chunks"


class SearchArguments(BaseModel):
    """What a search reads from its run; see `ReMe.search`."""

    model_config = ConfigDict(frozen=True)

    query: str
    limit: int = Field(default=5, ge=1, le=MOST_CANDIDATES)
    min_score: float = 0.0
    start_date: date | None = None
    end_date: date | None = None
    path_prefix: str | None = None
    layers: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    filters: Mapping[str, Any] = Field(default_factory=dict)
    fusion: Fusion | None = None
    vector_weight: float | None = Field(default=None, ge=0, le=1)
    expand_links: bool = True
    max_links_per_direction: int = Field(default=10, ge=0)
    tool_context_id: str | None = None
    vector_deadline_ms: int | None = Field(default=None, ge=1)
    candidates_per_hit: float = Field(default=CANDIDATES_PER_HIT, gt=0)

    @field_validator("end_date")
    @classmethod
    def _not_before_the_start(cls, end: date | None, info: ValidationInfo) -> date | None:
        start = info.data.get("start_date")
        if end is not None and start is not None and end < start:
            raise PydanticCustomError("date_order", "this is before `start_date`")
        return end

    def with_fusion(self, default: Fusion) -> SearchArguments:
        """The same with a way of combining rankings: the default one, when none was asked for."""
        return self if self.fusion else self.model_copy(update={"fusion": default})

    @property
    def vector_share(self) -> float:
        """The share of the vector branch; by default it depends on the fusion."""
        if self.vector_weight is not None:
            return self.vector_weight
        return VECTOR_WEIGHTS[self.fusion or "rrf"]

    @property
    def where(self) -> SearchFilter:
        """The conditions every hit must meet."""
        return SearchFilter(
            path_prefix=self.path_prefix or None,
            layers=self.layers,
            start_date=self.start_date.isoformat() if self.start_date else None,
            end_date=self.end_date.isoformat() if self.end_date else None,
            tags=self.tags,
            fields=dict(self.filters),
        )

    @property
    def candidates(self) -> int:
        """How many hits each branch is asked for."""
        wanted = int(self.limit * self.candidates_per_hit)
        return min(MOST_CANDIDATES, max(1, wanted))


class SearchStep(BaseStep[SearchResult]):
    """Finds passages by keyword and, where vectors exist, by meaning.

    The distilled layers answer first. Raw session lines follow; up to a third of the answer is
    kept for those that match better than the distilled hits they displace, so that what was said
    but not yet distilled can be found. A failing embedding model costs the vector branch of this
    search, never the answer.
    """

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)
    clock = Ref(lambda parts: parts.clock)
    embedder = Ref(lambda parts: parts.embedder)

    async def execute(self) -> SearchResult:
        """Run the search described by the run's values.

        Raises:
            BadInput: the query is empty or an argument is out of range.
        """
        arguments = self.context.parse(SearchArguments)
        if not arguments.query.strip():
            raise BadInput(arguments.query, "`query` is empty", "Say what to look for.")
        arguments = arguments.with_fusion(self.settings.fusion)
        async with self._turn(arguments):
            return await self._answer(arguments)

    async def _answer(self, arguments: SearchArguments) -> SearchResult:
        shown_before = self._shown_before(arguments)
        vector = await self._query_vector(arguments)
        hits, counts = await asyncio.to_thread(self._find, arguments, vector, shown_before)
        if arguments.expand_links and hits:
            hits = await asyncio.to_thread(
                self._with_links, hits, arguments.max_links_per_direction
            )
        answer, shown = show_hits(
            hits, self.settings.tool_answer_bytes, repeated=bool(shown_before) and not hits
        )
        self._remember(arguments, hits[:shown])
        return SearchResult(answer=answer, hits=hits, counts=counts, truncated=shown < len(hits))

    def _turn(self, arguments: SearchArguments) -> AbstractAsyncContextManager[object]:
        """Searches of one tool context wait for each other: a passage is shown once."""
        if arguments.tool_context_id is None:
            return nullcontext()
        return self._seen().turn(arguments.tool_context_id)

    async def _query_vector(self, arguments: SearchArguments) -> list[float] | None:
        if self.embedder is None or arguments.vector_share == 0:
            return None
        limit = arguments.vector_deadline_ms or self.settings.embedding_deadline_ms
        return await self.embedder.of_query(arguments.query, deadline_seconds=limit / 1000)

    def _find(
        self, arguments: SearchArguments, vector: list[float] | None, shown: frozenset[str]
    ) -> tuple[list[SearchHit], BranchCounts]:
        distilled, counts = self._ranked(arguments, vector, shown, raw=False)
        if arguments.layers is not None and not set(RAW_LAYERS) & set(arguments.layers):
            return distilled, counts.model_copy(update={"returned": len(distilled)})
        raw, raw_counts = self._ranked(arguments, vector, shown, raw=True)
        hits = _append_raw(distilled, raw, arguments.limit)
        return hits, BranchCounts(
            keyword=counts.keyword + raw_counts.keyword,
            vector=counts.vector + raw_counts.vector,
            returned=len(hits),
            hybrid=counts.hybrid or raw_counts.hybrid,
        )

    def _ranked(
        self,
        arguments: SearchArguments,
        vector: list[float] | None,
        shown: frozenset[str],
        *,
        raw: bool,
    ) -> tuple[list[SearchHit], BranchCounts]:
        where = _restrict(arguments.where, raw=raw)
        wanted = arguments.candidates + len(shown)
        keyword = (
            self.store.keyword_search(arguments.query, limit=wanted, where=where)
            if arguments.vector_share < 1 or vector is None
            else []
        )
        near = (
            self.store.vector_search(
                vector, limit=wanted, where=where, space_id=self.embedder.space_of(vector)
            )
            if vector is not None and self.embedder is not None
            else []
        )
        keyword = [hit for hit in keyword if hit.chunk_id not in shown]
        near = [hit for hit in near if hit.chunk_id not in shown]
        fused = self._fused(arguments, keyword, near)
        passing = [hit for hit in fused if hit.score >= arguments.min_score]
        return (
            keep_branch_leaders(passing, (keyword, near), arguments.limit),
            BranchCounts(keyword=len(keyword), vector=len(near), hybrid=bool(keyword and near)),
        )

    def _fused(
        self, arguments: SearchArguments, keyword: Sequence[SearchHit], near: Sequence[SearchHit]
    ) -> list[SearchHit]:
        """Both branches as one ranking, best first."""
        return fuse(
            keyword,
            near,
            fusion=arguments.fusion or self.settings.fusion,
            vector_weight=arguments.vector_share,
        )

    def _with_links(self, hits: Sequence[SearchHit], most: int) -> list[SearchHit]:
        return [
            hit.model_copy(
                update={
                    "outlinks": tuple(self.store.outlinks(hit.path)[:most]),
                    "inlinks": tuple(self.store.inlinks(hit.path)[:most]),
                }
            )
            for hit in hits
        ]

    def _seen(self) -> SeenChunks:
        shared = self.context.application.metadata
        found: SeenChunks = shared.setdefault(
            _SEEN, SeenChunks(self.settings.seen_ttl_hours * 3600)
        )
        return found

    def _shown_before(self, arguments: SearchArguments) -> frozenset[str]:
        if arguments.tool_context_id is None:
            return frozenset()
        return self._seen().known(arguments.tool_context_id, self.clock.monotonic())

    def _remember(self, arguments: SearchArguments, hits: Sequence[SearchHit]) -> None:
        if arguments.tool_context_id is not None:
            shown = [hit.chunk_id for hit in hits]
            self._seen().add(arguments.tool_context_id, shown, self.clock.monotonic())


def _restrict(where: SearchFilter, *, raw: bool) -> SearchFilter:
    if raw:
        return dataclasses.replace(where, layers=RAW_LAYERS)
    return dataclasses.replace(where, exclude_layers=RAW_LAYERS)


def _append_raw(
    distilled: Sequence[SearchHit], raw: Sequence[SearchHit], limit: int
) -> list[SearchHit]:
    kept = list(distilled[:limit])
    places = limit - len(kept)
    while (
        places < min(limit // 3, len(raw))
        and kept
        and _keyword_score(raw[places]) > _keyword_score(kept[-1])
    ):
        kept.pop()
        places += 1
    return [*kept, *raw[:places]]


def _keyword_score(hit: SearchHit) -> float:
    return hit.scores.get("keyword", 0.0)  # the one scale both groups share
