"""Search and index calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.base import Calls
from agentscope_reme.facade.status import status_of
from agentscope_reme.files.picture_types import encoded_image_type
from agentscope_reme.messages import DataBlock
from agentscope_reme.results import (
    DoctorResult,
    GraphResult,
    IndexResult,
    NodeHit,
    NodeSearchResult,
    RecallResult,
    SearchResult,
    StatusResult,
    TagsResult,
)
from agentscope_reme.steps import SearchStep
from agentscope_reme.tools.answer_limit import ALL_IN_FIELDS, capped_lines, counted
from agentscope_reme.tools.plain_arguments import whole_number

if TYPE_CHECKING:
    from agentscope_reme.steps import IndexStep, RecallStep

_SCOPES: Final = ("all", "daily", "digest", "session", "resource")


class IndexCalls(Calls):
    """Find passages, walk links, and look after the index."""

    _search_step = SearchStep()

    @cached_property
    def _recall_step(self) -> RecallStep:
        from agentscope_reme.steps import RecallStep

        return RecallStep()

    @cached_property
    def _index_step(self) -> IndexStep:
        from agentscope_reme.steps import IndexStep

        return IndexStep()

    async def search(
        self,
        query: str,
        *,
        limit: int = 5,
        min_score: float = 0.0,
        start_date: str | None = None,
        end_date: str | None = None,
        path_prefix: str | None = None,
        tags: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        fusion: Literal["rrf", "score"] | None = None,
        vector_weight: float | None = None,
        expand_links: bool = True,
        max_links_per_direction: int = 10,
        tool_context_id: str | None = None,
        image: str | DataBlock | None = None,
    ) -> SearchResult:
        """Passages that answer a query, best first, with file, lines, date and links.

        Args:
            query: words to look for, in any language.
            limit: how many hits, 1 to 200.
            min_score: hits below are left out. The scale is that of the ranking used: 0..1 for
                ``score``, at most 1/61 for ``rrf``, and where only one branch answers its own:
                BM25, without an upper end, or the cosine. It is no measure of certainty: of
                ``score`` the best hit of a branch always has that branch's whole weight.
            start_date: ``YYYY-MM-DD``; files dated earlier, and what was said earlier in a session,
                are left out; what has no date stays.
            end_date: ``YYYY-MM-DD``, inclusive.
            path_prefix: only files whose path starts with this.
            tags: only files with at least one of these tags.
            filters: front matter values a file must have.
            fusion: how keyword and vector rankings are combined: ``score`` adds the weighted scores
                of both, normalised to 0..1; ``rrf`` the weighted ``1 / (60 + rank)``.
                `Settings.fusion` without it.
            vector_weight: share of the vector branch, 0..1; without it 0.3 for ``score`` and 0.7
                for ``rrf``.
            expand_links: add the links of each file found.
            max_links_per_direction: how many of them, each way.
            tool_context_id: within one id a passage is returned once in
                `Settings.seen_ttl_hours`.
            image: a picture to search by, as its path in the workspace or as data; `query` may be
                empty then. It takes an embedding model for texts and pictures.

        Raises:
            BadInput: the query is empty or an argument is out of range, or `image` is no picture.
            ModelRequired: `image` is given and the embedding model takes texts only.
        """
        await self._life.ready()
        upkeep, repaired = self._engine.upkeep, self._engine.upkeep.repaired
        arguments = {
            "query": query,
            "limit": limit,
            "min_score": min_score,
            "start_date": start_date,
            "end_date": end_date,
            "path_prefix": path_prefix,
            "tags": tags or (),
            "filters": filters or {},
            "fusion": fusion,
            "vector_weight": vector_weight,
            "expand_links": expand_links,
            "max_links_per_direction": max_links_per_direction,
            "tool_context_id": tool_context_id,
            "image": await self._picture(image),
        }
        found = await self._search_step(self._engine.application, **arguments)
        if found.hits and tool_context_id is not None:
            return found  # they count as shown now and would be left out
        if await upkeep.whole_again(since=repaired):
            return await self._search_step(self._engine.application, **arguments)
        return found

    async def _picture(self, image: str | DataBlock | None) -> DataBlock | None:
        """A picture to search by, as a model takes it."""
        if image is None:
            return None
        if isinstance(image, DataBlock):
            return self._checked(image)
        read = await self._owner(lambda files: files.read_image(image))
        return DataBlock(media_type=read.media_type, data=read.data)

    def _checked(self, image: DataBlock) -> DataBlock:
        most = self._engine.components.settings.embedded_picture_bytes
        if not image.is_image or not (image.data or image.url):
            raise BadInput(
                image.media_type, "`image` holds no picture", "Give Base64 data, or a web address."
            )
        if len(image.data or "") > most * 4 // 3 + 4:
            raise BadInput(
                f"{len(image.data or '')} characters of Base64",
                f"the picture is larger than {most} bytes",
                "Scale it down, or raise `Settings.embedded_picture_bytes`.",
            )
        if image.data is None:
            return image
        media_type = encoded_image_type(image.data)
        if media_type is None:
            raise BadInput(
                image.media_type,
                "`image` holds no PNG, JPEG, GIF, WebP or BMP picture",
                "Convert it to one, and give its bytes as Base64.",
            )
        return image.model_copy(update={"media_type": media_type})

    async def recall(
        self, query: str, *, budget_tokens: int = 1500, media: bool = False
    ) -> RecallResult:
        """A pack for a prompt: quoted, dated, de-duplicated, within `budget_tokens`.

        ``evidence`` says whether there is anything in it; without evidence ``answer`` is empty.

        Args:
            query: what the conversation is about.
            budget_tokens: how large the pack may be, in estimated tokens.
            media: also return the pictures the passages link to, at most three.
        """
        await self._life.ready()
        return await self._recall_step(
            self._engine.application, query=query, budget_tokens=budget_tokens, media=media
        )

    async def node_search(self, query: str, *, limit: int = 20) -> NodeSearchResult:
        """Digest nodes by name, description or content, one entry each, best first.

        Raises:
            BadInput: the query is empty or `limit` is no number of at least 1.
        """
        if whole_number(limit, "limit") < 1:
            raise BadInput(limit, "`limit` must be at least 1", "Leave it out for 20.")
        found = await self.search(
            query, limit=min(200, 5 * limit), path_prefix="digest/", expand_links=False
        )
        nodes: dict[str, NodeHit] = {}
        for hit in found.hits:
            nodes.setdefault(
                hit.path,
                NodeHit(path=hit.path, score=hit.score, name=hit.name, description=hit.description),
            )
        best = list(nodes.values())[:limit]
        rows = [f"{node.path}  {node.name}  {node.description}".rstrip() for node in best]
        return NodeSearchResult(answer="\n".join(rows) or found.answer, nodes=best)

    async def traverse(
        self, path: str, *, depth: int = 1, direction: Literal["out", "in", "both"] = "both"
    ) -> GraphResult:
        """The files around a file, by links, at most 500 of them."""
        await self._ready()
        from agentscope_reme.steps.graph import TraverseStep

        return await TraverseStep()(
            self._engine.application, path=path, depth=depth, direction=direction
        )

    async def graph_snapshot(self) -> GraphResult:
        """Every digest node, with its links to other nodes and to daily cards."""
        await self._ready()
        from agentscope_reme.steps.graph import SnapshotStep

        return await SnapshotStep()(self._engine.application)

    async def list_tags(self) -> TagsResult:
        """Every tag and how many files carry it, most used first."""
        parts = await self._ready()
        tags = await asyncio.to_thread(parts.store.tags)
        ranked = dict(sorted(tags.items(), key=lambda item: (-item[1], item[0])))
        rows = [f"{tag} ({count})" for tag, count in ranked.items()]
        answer, _ = capped_lines(rows, parts.settings.tool_answer_bytes, ALL_IN_FIELDS)
        return TagsResult(answer=answer or "No tags.", tags=ranked)

    async def reindex(self, scope: str = "all") -> IndexResult:
        """Make the index say what the files say, whatever it said before.

        ``all`` builds a new index beside the one in use, which goes on answering until the new one
        takes its place; interrupted, it is gone on with at the next start. A single layer is
        compared in place, by content. Files that are missing are taken as deleted on purpose.

        Args:
            scope: ``all``, ``daily``, ``digest``, ``session`` or ``resource``.

        Raises:
            BadInput: there is no such scope.
        """
        if scope not in _SCOPES:
            raise BadInput(scope, "no such scope", f"Use one of {', '.join(_SCOPES)}.")
        await self._ready()
        result = await self._index_step(self._engine.application, full=True, scope=scope)
        self._engine.embed_soon()
        if result.answer:
            return result
        failed = f", {counted(len(result.failed), 'file')} failed" if result.failed else ""
        told = f"{counted(result.files, 'file')} indexed{failed}."
        return result.model_copy(update={"answer": told})

    async def optimize_index(self) -> IndexResult:
        """Reclaim what lazy deletion left in the index, and the locks of sessions that ended."""
        parts = await self._ready()
        await asyncio.to_thread(parts.store.optimize)
        await asyncio.to_thread(parts.locks.remove_unheld)
        stats = await asyncio.to_thread(parts.store.stats)
        return IndexResult(answer="The index is compact.", files=stats.files, chunks=stats.chunks)

    async def doctor(self, repair: bool = False) -> DoctorResult:
        """Compare disk, index and links, and list every difference; `repair` corrects the index."""
        from agentscope_reme.steps.doctor import DoctorStep

        await self._ready()
        return await DoctorStep()(self._engine.application, repair=repair)

    async def status(self) -> StatusResult:
        """Counts, queues and every failure since the start."""
        await self._ready()
        return await status_of(self._engine)
