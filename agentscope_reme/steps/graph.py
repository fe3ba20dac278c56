"""The link graph: walks from a file, and the map of long-term memory."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.results import GraphNode, GraphResult
from agentscope_reme.schema import FileLink
from agentscope_reme.settings import Settings
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools.answer_limit import ALL_IN_FIELDS, capped_lines

MOST_NODES: Final = 500
"""A walk stops here and says so."""


class TraverseArguments(BaseModel):
    """What a walk reads from its run; see `ReMe.traverse`."""

    model_config = ConfigDict(frozen=True)

    path: str
    depth: int = Field(default=1, ge=0, le=10)
    direction: Literal["out", "in", "both"] = "both"


class TraverseStep(BaseStep[GraphResult]):
    """Walks the links from one file, breadth first."""

    workspace = Ref(lambda parts: parts.workspace)
    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)

    async def execute(self) -> GraphResult:
        """Run the walk described by the run's values.

        Raises:
            BadPath: the path is unsafe.
        """
        arguments = self.context.parse(TraverseArguments)
        seed = self.workspace.normalise(arguments.path)
        self.store.refresh()
        result = await asyncio.to_thread(_walk, self.store, seed, arguments)
        return _within(result, self.settings)


class SnapshotStep(BaseStep[GraphResult]):
    """All digest nodes, and their links to each other and to the daily cards behind them."""

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)

    async def execute(self) -> GraphResult:
        """Take the snapshot."""
        self.store.refresh()
        return _within(await asyncio.to_thread(self._snapshot), self.settings)

    def _snapshot(self) -> GraphResult:
        nodes = self.store.nodes("digest/")
        edges = [
            link
            for node in nodes
            for link in node.links
            if link.target_path.startswith(("digest/", "daily/"))
        ]
        paths = {node.path: 0 for node in nodes} | {
            edge.target_path: 1 for edge in edges if edge.target_path.startswith("daily/")
        }
        return _graph(self.store, paths, edges, cut=False)


def _within(result: GraphResult, settings: Settings) -> GraphResult:
    """The result with as many links in its answer as an answer may have."""
    lines = result.answer.split("\n")
    result.answer, _ = capped_lines(lines, settings.tool_answer_bytes, ALL_IN_FIELDS)
    return result


def _walk(store: BaseFileStore, seed: str, arguments: TraverseArguments) -> GraphResult:
    depths = {seed: 0}
    edges: dict[FileLink, None] = {}
    queue = deque([seed])
    cut = False
    while queue:
        path = queue.popleft()
        if depths[path] >= arguments.depth:
            continue
        for link, other in _steps_from(store, path, arguments.direction):
            if other not in depths:
                if len(depths) >= MOST_NODES:
                    cut = True
                    continue
                depths[other] = depths[path] + 1
                queue.append(other)
            edges[link] = None
    return _graph(store, depths, list(edges), cut=cut)


def _steps_from(store: BaseFileStore, path: str, direction: str) -> list[tuple[FileLink, str]]:
    found: list[tuple[FileLink, str]] = []
    if direction in ("out", "both"):
        found += [(link, link.target_path) for link in store.outlinks(path)]
    if direction in ("in", "both"):
        found += [(link, link.source_path) for link in store.inlinks(path)]
    return found


def _graph(
    store: BaseFileStore, depths: dict[str, int], edges: list[FileLink], *, cut: bool
) -> GraphResult:
    nodes = []
    for path, depth in sorted(depths.items(), key=lambda item: (item[1], item[0])):
        node = store.node(path)
        front = node.front_matter if node else None
        nodes.append(
            GraphNode(
                path=path,
                name=front.name if front else "",
                description=front.description if front else "",
                depth=depth,
                indexed=node is not None,
            )
        )
    edges = sorted(edges, key=lambda e: (e.source_path, e.target_path, e.target_anchor or ""))
    rows = [f"{e.source_path} → {e.target_path}" for e in edges]
    rows = rows or [f"No links; {len(nodes)} file(s)."]
    if cut:
        rows.append(f"[cut at {MOST_NODES} files: walk from another file, or less deep]")
    return GraphResult(answer="\n".join(rows), nodes=nodes, edges=edges)
