"""What is found."""

from pydantic import Field

from agentscope_reme.messages import DataBlock
from agentscope_reme.results.base import Part, Result
from agentscope_reme.schema import FileLink, SearchHit


class BranchCounts(Part):
    """How many candidates each branch of a search found, and how many hits were returned."""

    keyword: int = 0
    vector: int = 0
    returned: int = 0
    hybrid: bool = False


class SearchResult(Result):
    """Hits, best first.

    ``keywords_only`` is true whenever there is an embedding model and vectors were of no use: it
    does not answer, or they are still being made. ``notice`` says why in words, the first time; it
    also says, as long as it lasts, that the files are still being compared with the index.
    """

    hits: list[SearchHit] = Field(default_factory=list)
    counts: BranchCounts = Field(default_factory=BranchCounts)
    truncated: bool = False
    keywords_only: bool = False
    notice: str = ""


class RecallResult(Result):
    """A pack for a prompt: ``answer`` is the wrapped text, empty without evidence.

    ``media`` holds images to show beside the text, when they were asked for. ``keywords_only`` and
    ``notice`` are as in `SearchResult`; the notice stands in the pack as well.
    """

    hits: list[SearchHit] = Field(default_factory=list)
    media: list[DataBlock] = Field(default_factory=list)
    evidence: bool = False
    tokens: int = 0
    keywords_only: bool = False
    notice: str = ""


class NodeHit(Part):
    """One digest node found by name, description or content."""

    path: str
    score: float
    name: str = ""
    description: str = ""


class NodeSearchResult(Result):
    """Digest nodes, best first."""

    nodes: list[NodeHit] = Field(default_factory=list)


class GraphNode(Part):
    """A file in a piece of the link graph; ``depth`` counts from the seed."""

    path: str
    name: str = ""
    description: str = ""
    depth: int = 0
    indexed: bool = True


class GraphResult(Result):
    """A piece of the link graph."""

    nodes: list[GraphNode] = Field(default_factory=list)
    edges: list[FileLink] = Field(default_factory=list)


class TagsResult(Result):
    """Tags and how many files carry each."""

    tags: dict[str, int] = Field(default_factory=dict)
