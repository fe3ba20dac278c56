"""Finds digest nodes, staged ones too, and notices when a new one repeats another."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from agentscope_reme.errors import ReMeError
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.views import FileView
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.results import NodeHit
from agentscope_reme.steps.context import ApplicationContext
from agentscope_reme.steps.dream.statements import statements_of
from agentscope_reme.steps.search import SearchStep
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.tools.answer_limit import one_line
from agentscope_reme.tools.pinned import is_pinned
from agentscope_reme.tools.tool_arguments import ToolArguments
from agentscope_reme.workspace import is_markdown

_DIGEST: Final = "digest/"
_CANDIDATES: Final = 8
_MOST_NODES: Final = 20
_SAME_NAME_SHARE: Final = 0.3
_ALIKE_NAME: Final = 0.6
_ALIKE_SHARE: Final = 0.6
_CONTAINED_SHARE: Final = 0.85
_FEWEST_TERMS: Final = 6  # a node of fewer words is contained in anything


class NodeSearchArguments(ToolArguments):
    """Arguments of ``node_search``."""

    query: str = Field(min_length=1, description="Words of the topic.")
    limit: int = Field(default=10, ge=1, le=_MOST_NODES, description="How many nodes.")


@dataclass(frozen=True, slots=True)
class Node:
    """A digest node as it is compared: its name's terms and those of all it says."""

    path: str
    name: str
    description: str
    name_terms: frozenset[str]
    terms: frozenset[str]
    pinned: bool


class Nodes:
    """The digest as one dream sees it: the files, and what the dream has staged over them.

    Args:
        application: where searches run.
        view: the files as staged.
        staged: tells the digest paths that are staged and so not in the index.
    """

    def __init__(self, application: ApplicationContext, view: FileView, staged: set[str]) -> None:
        self._application = application
        self._view = view
        self._staged = staged
        self._tokenizer = MemoryTokenizer()
        self._search = SearchStep()

    async def search(self, query: str, limit: int) -> list[NodeHit]:
        """Nodes by name, description or content, best first; staged ones that match come first."""
        found = await self._search(
            self._application,
            query=query,
            limit=min(200, 5 * limit),
            path_prefix=_DIGEST,
            expand_links=False,
        )
        hits = {
            hit.path: NodeHit(
                path=hit.path, score=hit.score, name=hit.name, description=hit.description
            )
            for hit in reversed(found.hits)
            if hit.path not in self._staged
        }
        staged = await asyncio.to_thread(self._staged_hits, query)
        return [*staged, *reversed(hits.values())][:limit]

    async def twin_of(self, path: str, data: bytes) -> str | None:
        """The node that already says what a new one would; pinned ones are left out of it."""
        new = self._node(path, data)
        query = f"{new.name} {new.description}".strip() or path
        hits = await self.search(query, _CANDIDATES)
        named = await asyncio.to_thread(self._of_name, new.name)
        paths = dict.fromkeys([*named, *(hit.path for hit in hits)])
        return await asyncio.to_thread(self._first_twin, new, paths)

    def tool(self) -> Tool:
        """The search as a tool of the integrating agent."""

        async def call(arguments: NodeSearchArguments) -> ToolOutput:
            try:
                hits = await self.search(arguments.query, arguments.limit)
            except ReMeError as error:
                return ToolOutput(str(error), success=False)
            return ToolOutput(show_nodes(hits) or "No digest node matches these words.")

        return Tool(
            "node_search",
            "Find digest nodes by topic: path, name and description of each.",
            NodeSearchArguments,
            call,
            read_only=True,
        )

    def _staged_hits(self, query: str) -> list[NodeHit]:
        wanted = set(self._tokenizer.query_terms(query))
        found = []
        for path in sorted(self._staged):
            if not (path.startswith(_DIGEST) and self._view.exists(path)):
                continue
            node = self._node(path, self._view.read(path))
            score = len(wanted & node.terms) / max(1, len(wanted))
            if score:
                found.append(
                    NodeHit(path=path, score=score, name=node.name, description=node.description)
                )
        return sorted(found, key=lambda hit: -hit.score)

    def _of_name(self, name: str) -> list[str]:
        store = self._application.components.store
        store.refresh()
        wanted = _folded(name)
        return [
            node.path
            for node in store.nodes(_DIGEST)
            if wanted and _folded(node.front_matter.name) == wanted
        ]

    def _first_twin(self, new: Node, paths: Iterable[str]) -> str | None:
        for path in paths:
            if path == new.path or not is_markdown(path) or not self._view.exists(path):
                continue
            known = self._node(path, self._view.read(path))
            if not known.pinned and _are_alike(new, known):
                return path
        return None

    def _node(self, path: str, data: bytes) -> Node:
        document = MarkdownDocument.parse(data)
        name = str(document.front_matter.get("name") or "")
        description = str(document.front_matter.get("description") or "")
        said = " ".join(statement.core for statement in statements_of(document.text))
        return Node(
            path,
            name,
            description,
            frozenset(self._tokenizer.query_terms(name)),
            frozenset(self._tokenizer.query_terms(f"{name} {description} {said}")),
            is_pinned(data),
        )


def show_nodes(hits: Iterable[NodeHit]) -> str:
    """Nodes as lines of text."""
    rows = (f"{hit.path} | {one_line(hit.name, 80)} | {one_line(hit.description)}" for hit in hits)
    return "\n".join(row.rstrip(" |") for row in rows)


def _are_alike(new: Node, known: Node) -> bool:
    """Whether two nodes are about one thing; numbers and single letters tell things apart."""
    share = len(new.terms & known.terms) / max(1, min(len(new.terms), len(known.terms)))
    if _folded(new.name) == _folded(known.name):
        return share >= _SAME_NAME_SHARE or _bucket(new.path) == _bucket(known.path)
    both = new.name_terms | known.name_terms
    name = len(new.name_terms & known.name_terms) / max(1, len(both))
    if _marks(new.name_terms) != _marks(known.name_terms):
        return False
    if name >= _ALIKE_NAME and share >= _ALIKE_SHARE:
        return True
    repeated = _marks(new.terms) <= known.terms and len(new.terms) >= _FEWEST_TERMS
    return repeated and share >= _CONTAINED_SHARE


def _marks(terms: frozenset[str]) -> frozenset[str]:
    """What tells `server 1` from `server 2` and `plan A` from `plan B`."""
    return frozenset(t for t in terms if t[:1].isdigit() or (len(t) == 1 and t.isascii()))


def _bucket(path: str) -> str:
    return path.removeprefix(_DIGEST).split("/", 1)[0]


def _folded(name: str) -> str:
    normal = unicodedata.normalize("NFKC", name).casefold()
    return "".join(character for character in normal if character.isalnum())
