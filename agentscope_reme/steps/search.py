"""Search: retrieve from both branches, fuse, filter, cut, expand links, show."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import islice
from typing import Final

from agentscope_reme.errors import BadInput, ModelRequired
from agentscope_reme.results import BranchCounts, SearchResult
from agentscope_reme.runtime.embedding_calls import Absence
from agentscope_reme.schema import SearchHit
from agentscope_reme.steps.answers import EMPTY, NOTHING_FOUND, NOTHING_NEW, show_hits
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.fusion import fuse, keep_branch_leaders
from agentscope_reme.steps.keywords_only import catching_up, notice_once, words_of
from agentscope_reme.steps.picture_hits import with_days, with_pictures
from agentscope_reme.steps.search_arguments import SearchArguments
from agentscope_reme.steps.seen import SeenChunks
from agentscope_reme.store.filters import asks_for_days
from agentscope_reme.store.records import SearchFilter

RAW_LAYERS: Final = ("session",)
"""Layers that answer after the distilled ones."""

_SEEN: Final = "seen_chunks"
_WIDER: Final = 4
"""Of pictures of certain days, so many times as many are looked at until enough pass."""


class SearchStep(BaseStep[SearchResult]):
    """Finds passages by keyword and, where vectors exist, by meaning.

    The distilled layers answer first. Raw session lines follow; up to a third of the answer is
    kept for those that match better than the distilled hits they displace, so that what was said
    but not yet distilled can be found. A failing embedding model costs the vector branch of this
    search, never the answer.
    """

    reads_index = False  # waits for it itself, within its deadline
    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)
    clock = Ref(lambda parts: parts.clock)
    embedder = Ref(lambda parts: parts.embedder)
    language = Ref(lambda parts: parts.language)
    index = Ref(lambda parts: parts.vault.index)
    log_indexing = Ref(lambda parts: parts.log_indexing)

    async def execute(self) -> SearchResult:
        """Run the search described by the run's values.

        Raises:
            BadInput: the query is empty or an argument is out of range.
            ModelRequired: there is a picture in the query and no model that takes any.
        """
        arguments = self.context.parse(SearchArguments)
        if not arguments.query.strip() and arguments.image is None:
            raise BadInput(arguments.query, "`query` is empty", "Say what to look for.")
        if arguments.image is not None:
            self._require_sight()
        arguments = arguments.with_fusion(self.settings.fusion)
        async with self._turn(arguments):
            return await self._answer(arguments)

    async def _answer(self, arguments: SearchArguments) -> SearchResult:
        is_current = await self._is_current(arguments)
        shown_before = self._shown_before(arguments)
        vector = await self._query_vector(arguments)
        hits, counts = await asyncio.to_thread(self._find, arguments, vector, shown_before)
        if arguments.expand_links and hits:
            hits = await asyncio.to_thread(
                self._with_links, hits, arguments.max_links_per_direction
            )
        absence = await self._absence(arguments, vector, counts)
        if absence is not None and not arguments.query.strip():
            return SearchResult(
                success=False, answer=words_of(absence, self.language), keywords_only=True
            )
        notice = self._notice(arguments, absence, is_current=is_current)
        answer, shown = show_hits(
            hits,
            self.settings.tool_answer_bytes,
            nothing="" if hits else await self._nothing(arguments, repeated=bool(shown_before)),
            notice=notice,
        )
        self._remember(arguments, hits[:shown])
        return SearchResult(
            answer=answer,
            hits=hits,
            counts=counts,
            truncated=shown < len(hits),
            keywords_only=absence is not None,
            notice=notice,
        )

    async def _nothing(self, arguments: SearchArguments, *, repeated: bool) -> str:
        """Why nothing is shown; prompts show no such words, so nothing is counted for them."""
        if repeated:
            return NOTHING_NEW
        if arguments.for_prompt or self.index.is_catching_up:
            return NOTHING_FOUND
        is_empty = await asyncio.to_thread(self.store.is_empty)
        return EMPTY[self.language] if is_empty else NOTHING_FOUND

    async def _absence(
        self, arguments: SearchArguments, vector: list[float] | None, counts: BranchCounts
    ) -> Absence | None:
        """Why vectors were of no use; ``None`` when they were, or are not wanted."""
        unwanted = arguments.vector_share == 0 and arguments.image is None
        if self.embedder is None or unwanted or counts.vector:
            return None
        if vector is None:
            return self.embedder.absence()
        return await asyncio.to_thread(self.embedder.unfilled)

    async def _is_current(self, arguments: SearchArguments) -> bool:
        """Whether what this memory recorded is in the index, now or within half the deadline."""
        most = None if arguments.deadline_ms is None else arguments.deadline_ms / 2000
        return await self.log_indexing.drain(most) and not self.log_indexing.is_behind

    def _notice(
        self, arguments: SearchArguments, absence: Absence | None, *, is_current: bool
    ) -> str:
        shared = self.context.application.metadata
        told = notice_once(shared, absence, to=arguments.told, language=self.language)
        is_behind = self.index.is_catching_up or not is_current
        behind = catching_up(self.language) if is_behind else ""
        return f"{behind} {told}".strip()

    def _turn(self, arguments: SearchArguments) -> AbstractAsyncContextManager[object]:
        """Searches of one tool context wait for each other: a passage is shown once."""
        if arguments.tool_context_id is None:
            return nullcontext()
        return self._seen().turn(arguments.tool_context_id)

    async def _query_vector(self, arguments: SearchArguments) -> list[float] | None:
        if self.embedder is None:
            return None
        limit = arguments.deadline_ms or self.settings.embedding_deadline_ms
        if arguments.image is not None:
            return await self.embedder.of_image(arguments.image, deadline_seconds=limit / 1000)
        if arguments.vector_share == 0:
            return None
        return await self.embedder.of_query(arguments.query, deadline_seconds=limit / 1000)

    def _require_sight(self) -> None:
        if self.embedder is None:
            raise ModelRequired("search by a picture", "embedding_model")
        if not self.embedder.sees:
            lacks = "it, or the store, takes no pictures"
            raise ModelRequired("search by a picture", "embedding_model", lacks=lacks)

    def _find(
        self, arguments: SearchArguments, vector: list[float] | None, shown: frozenset[str]
    ) -> tuple[list[SearchHit], BranchCounts]:
        """Passages, and the pictures beside them where a model takes any."""
        passages, counts = self._passages(arguments, vector, shown)
        if vector is None or self.embedder is None or not self._looks_at_pictures(arguments):
            return passages, counts
        pictures = self._pictures(arguments, vector, shown)
        hits = with_pictures(passages, pictures, arguments.limit, first=arguments.image is not None)
        update = {"vector": counts.vector + len(pictures), "returned": len(hits)}
        return hits, counts.model_copy(update=update)

    def _pictures(
        self, arguments: SearchArguments, vector: list[float], shown: frozenset[str]
    ) -> list[SearchHit]:
        """The nearest pictures; of certain days, more are looked at until enough pass."""
        where = dataclasses.replace(arguments.where, pictures=True)
        wanted = arguments.candidates
        while True:
            near = self._near(vector, where, shown, wanted)
            found = (
                hit.model_copy(update={"parts": hit.scores})
                for hit in near
                if hit.score >= arguments.min_score
            )
            pictures = list(islice(with_days(found, self.store, where), arguments.limit))
            enough = len(pictures) == arguments.limit or len(near) < wanted
            if enough or not asks_for_days(where):
                return pictures
            wanted *= _WIDER

    def _looks_at_pictures(self, arguments: SearchArguments) -> bool:
        return arguments.pictures and self.embedder is not None and self.embedder.sees

    def _passages(
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
        sees = self.embedder is not None and self.embedder.sees
        passages = dataclasses.replace(where, pictures=False) if sees else where
        if not arguments.pictures:
            where = passages
        wanted = arguments.candidates + len(shown)
        keyword = (
            self.store.keyword_search(arguments.query, limit=wanted, where=where)
            if arguments.vector_share < 1 or vector is None
            else []
        )
        keyword = [hit for hit in keyword if hit.chunk_id not in shown]
        near = [] if vector is None else self._near(vector, passages, shown, arguments.candidates)
        fused = self._fused(arguments, keyword, near)
        passing = [hit for hit in fused if hit.score >= arguments.min_score]
        return (
            keep_branch_leaders(passing, (keyword, near), arguments.limit),
            BranchCounts(keyword=len(keyword), vector=len(near), hybrid=bool(keyword and near)),
        )

    def _near(
        self,
        vector: list[float],
        where: SearchFilter,
        shown: frozenset[str],
        wanted: int,
    ) -> list[SearchHit]:
        """At least `wanted` of what is nearest and was not shown, in the space of the query."""
        if self.embedder is None:
            return []
        space = self.embedder.space_of(vector)
        most = wanted + len(shown)
        found = self.store.vector_search(vector, limit=most, where=where, space_id=space)
        return [hit for hit in found if hit.chunk_id not in shown]

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
                    "inlinks": (*hit.inlinks, *self.store.inlinks(hit.path))[:most],
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
