"""The graph of files and the wikilinks between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import FileLink

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Traversal:
    """What can be reached from a file.

    ``depths`` says for each path how many links away it is, nearest first; ``edges`` are the links
    followed, each once.
    """

    depths: dict[str, int]
    edges: tuple[FileLink, ...]


class FileGraph:
    """Links by source and by target, kept current file by file. Targets need not exist.

    Not thread-safe; the store that owns it holds a lock.
    """

    def __init__(self) -> None:
        self._out: dict[str, tuple[FileLink, ...]] = {}
        self._sources: dict[str, set[str]] = {}

    def upsert(self, path: str, links: Sequence[FileLink]) -> None:
        """Replace the links written in `path`."""
        self.remove(path)
        if links:
            self._out[path] = tuple(links)
        for link in links:
            self._sources.setdefault(link.target_path, set()).add(path)

    def remove(self, path: str) -> None:
        """Forget the links written in `path`; links to it stay, as dangling ones."""
        for link in self._out.pop(path, ()):
            sources = self._sources.get(link.target_path)
            if sources is not None:
                sources.discard(path)
                if not sources:
                    del self._sources[link.target_path]

    def outlinks(self, path: str) -> list[FileLink]:
        """Links written in `path`, in order."""
        return list(self._out.get(path, ()))

    def inlinks(self, path: str) -> list[FileLink]:
        """Links to `path` from other files, sorted by source path."""
        sources = sorted(self._sources.get(path, set()) - {path})
        return [link for s in sources for link in self._out[s] if link.target_path == path]

    def links(self) -> Iterable[FileLink]:
        """Every link, file by file."""
        return (link for links in self._out.values() for link in links)

    def traverse(self, path: str, depth: int = 1, direction: Direction = "both") -> Traversal:
        """Breadth-first from `path`.

        Args:
            path: where to start; it need not be indexed.
            depth: how many links to follow, 0 or more.
            direction: along the links, against them, or both.

        Raises:
            BadInput: `depth` is negative or `direction` unknown.
        """
        if depth < 0:
            raise BadInput(depth, "depth is negative", "Pass 0 or more.")
        if direction not in ("out", "in", "both"):
            raise BadInput(direction, "unknown direction", "Pass 'out', 'in' or 'both'.")
        depths = {path: 0}
        edges: dict[FileLink, None] = {}
        waiting = deque([path])
        while waiting:
            here = waiting.popleft()
            if depths[here] == depth:
                continue
            for link, neighbour in self._neighbours(here, direction):
                edges[link] = None
                if neighbour not in depths:
                    depths[neighbour] = depths[here] + 1
                    waiting.append(neighbour)
        return Traversal(depths, tuple(edges))

    def _neighbours(self, path: str, direction: Direction) -> list[tuple[FileLink, str]]:
        found: list[tuple[FileLink, str]] = []
        if direction != "in":
            found += [(link, link.target_path) for link in self.outlinks(path)]
        if direction != "out":
            found += [(link, link.source_path) for link in self.inlinks(path)]
        return found
